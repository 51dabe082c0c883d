"""Simple detectors of anomalous log lines, the baselines of bench/logs/compare.py.

Each function takes training lines and test lines and returns one score per test line; higher is more anomalous.
"""
import math
import re
from collections import Counter, defaultdict

NUMBER = re.compile(r"\d")
IDENTIFIER = re.compile(r"(?i)\b(?:[0-9a-f]{8}-[0-9a-f-]{27}|0x[0-9a-f]+|[0-9a-f]{16,})\b")
KEYED = re.compile(r'(?:"([\w.-]+)"\s*:\s*|([A-Za-z_][\w.-]*)=)("(?:[^"\\]|\\.)*"|[^\s,}\])]+)')
STEP = re.compile(r"[\s,{}]+")


def tokens_of(line):
    return [token for token in STEP.split(line) if token]


def mask(token):
    return "<*>" if NUMBER.search(token) else token


class Drain:
    """The fixed-depth parse tree of Drain3: number of tokens, first tokens, then the most similar cluster."""

    def __init__(self, depth=4, similarity=0.4, children=100):
        self.depth, self.similarity, self.children = depth, similarity, children
        self.leaves, self.fan = {}, defaultdict(set)

    def template(self, line, learn=True):
        tokens = [mask(t) for t in tokens_of(line)]
        path = [len(tokens)]
        for token in tokens[:self.depth - 2]:
            known = self.fan[tuple(path)]
            if token not in known:
                if learn and len(known) < self.children:
                    known.add(token)
                else:
                    token = "<*>" if "<*>" in known or learn else token
                    known.add(token) if learn else None
            path.append(token)
        clusters = self.leaves.setdefault(tuple(path), []) if learn else self.leaves.get(tuple(path), [])
        best, most = None, -1.0
        for cluster in clusters:
            same = 1.0 if cluster == tokens else sum(
                a == b for a, b in zip(cluster, tokens) if a != "<*>") / max(1, len(tokens))
            if same > most:
                best, most = cluster, same
        if best is None or most < self.similarity:
            if not learn:
                return None
            clusters.append(list(tokens))
            return id(clusters[-1])
        if learn:
            for i, token in enumerate(tokens):
                if best[i] != token:
                    best[i] = "<*>"
        return id(best)


def drain_templates(train, test):
    tree = Drain()
    for line in train:
        tree.template(line)
    counts = Counter(tree.template(line, False) for line in train)
    total = len(train)
    return [-math.log((counts.get(t, 0) + 0.5) / (total + 1)) if t is not None else math.log(2 * total) + 1
            for t in (tree.template(line, False) for line in test)]


def rare_tokens(train, test):
    """The rarest token of the line, with digits masked."""
    def parts(line):
        return set(re.findall(r"[A-Za-z_$.]+|[^\sA-Za-z_$.\d]+", NUMBER.sub("0", IDENTIFIER.sub("", line)))) | set()
    counts = Counter(t for line in train for t in parts(line))
    total = len(train)
    return [max((-math.log((counts[t] + 0.5) / (total + 1)) for t in parts(line)), default=0.0) for line in test]


def template_bigrams(train, test):
    """The probability of the Drain template given the template of the previous line in the same group or in the log."""
    tree = Drain()
    for line in train:
        tree.template(line)
    groups = [None] + [re.compile(p) for p in GROUPS]
    best, chosen = None, None
    for group in groups:
        scores = bigram_scores(tree, group, train, train[len(train) // 2:])
        mean = sum(scores) / len(scores)
        if best is None or mean < best:
            best, chosen = mean, group
    return bigram_scores(tree, chosen, train, test)


GROUPS = (r'(?:request_id|request|job|pod|thread|pid)"?[=:]"?([^\s",}]+)', r"\[(\d+)\]", r"\[([\w-]*\d[\w-]*)\]",
          r"(blk_-?\d+)")


def bigram_scores(tree, group, train, test):
    def sequence(lines, last):
        for line in lines:
            found = group.search(line) if group else None
            key = found.group(1) if found else ""
            now = tree.template(line, False)
            yield last.get(key), now
            last[key] = now
    follow, contexts = Counter(), Counter()
    for before, now in sequence(train, {}):
        follow[before, now] += 1
        contexts[before] += 1
    return [-math.log((follow[b, n] + 0.1) / (contexts[b] + 1.0)) for b, n in sequence(test, {})]


def per_key_values(train, test):
    """The rarest value of a named field, or of a token at its position in the Drain template."""
    tree = Drain()
    for line in train:
        tree.template(line)

    def places(line):
        template = tree.template(line, False)
        for i, token in enumerate(tokens_of(line)):
            yield (template, i), token
        for match in KEYED.finditer(line):
            yield match.group(1) or match.group(2), match.group(3)
    values, seen, numbers = defaultdict(Counter), Counter(), defaultdict(list)
    for line in train:
        for place, value in places(line):
            values[place][value] += 1
            seen[place] += 1
            if re.fullmatch(r"-?\d+(?:\.\d+)?(?:ms|s)?", value):
                numbers[place].append(float(value.rstrip("ms")))
    limits = {place: (min(all_), max(all_)) for place, all_ in numbers.items() if len(all_) > 20}

    def surprise(place, value):
        counts, total = values.get(place), seen[place]
        if not counts:
            return 0.0
        score = 0.0
        if len(counts) < 0.2 * total and value not in counts:
            score = -math.log(len(counts) / (total + len(counts)))
        elif len(counts) < 0.2 * total:
            score = -math.log(counts[value] / total)
        if place in limits and re.fullmatch(r"-?\d+(?:\.\d+)?(?:ms|s)?", value):
            low, high = limits[place]
            number = float(value.rstrip("ms"))
            if number > high or number < low:
                score = max(score, math.log(total) + min(5.0, abs(math.log((abs(number) + 1) / (abs(high) + 1)))))
        return score
    return [max((surprise(place, value) for place, value in places(line)), default=0.0) for line in test]


BASELINES = {"templates": drain_templates, "rare tokens": rare_tokens, "template bigrams": template_bigrams,
             "per-key values": per_key_values}


def auc(scores, flags):
    order = sorted(range(len(scores)), key=lambda i: scores[i])
    rank_sum, i, positives = 0.0, 0, sum(flags)
    while i < len(order):
        j = i
        while j < len(order) and scores[order[j]] == scores[order[i]]:
            j += 1
        mean = (i + j + 1) / 2
        rank_sum += mean * sum(flags[order[k]] for k in range(i, j))
        i = j
    negatives = len(flags) - positives
    return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives)
