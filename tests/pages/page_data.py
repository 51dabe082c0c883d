"""The files that pages refer to: small ones created here, or published ones if UNFOLD_DATA has them."""

import datetime
import gzip
import json
import math
import pathlib
import random
import shutil
import struct
import zipfile

NOUNS = "sea sail wind harbour keeper lamp stone river garden winter letter road".split()
VERBS = "keeps finds leaves follows remembers crosses carries answers".split()
WORDS = "a the old small grey last".split()


def prose(lines, seed):
    draw = random.Random(seed)

    def phrase():
        return f"{draw.choice(WORDS)} {draw.choice(NOUNS)}"

    every_letter = "How surprising is this? To be, or not: Jack quietly seized five big boxes of wax.\n"
    return every_letter + "".join(
        f"The {draw.choice(NOUNS)} {draw.choice(VERBS)} {phrase()}, and {phrase()} {draw.choice(VERBS)}.\n" for _ in range(lines))


def log(lines, seed):
    draw = random.Random(seed)
    rows = []
    for n in range(lines):
        head = f"Dec 10 {6 + n // 3600:02}:{n // 60 % 60:02}:{n % 60:02} host{draw.randrange(3)} app[{draw.randrange(100, 999)}]:"
        ip = f"10.0.0.{draw.randrange(1, 250)}"
        rows.append(f"{head} " + draw.choice([f"connection from {ip} port {draw.randrange(1024, 9999)}",
                                              f"request ORD-{draw.randrange(10**6):06} served in {draw.randrange(99)} ms",
                                              f"connection from {ip} closed"]))
    return "\n".join(rows) + "\n"


def tagged(sentences, seed):
    draw = random.Random(seed)
    nouns, verbs = ["boat", "film", "keeper", "letter"], ["likes", "finds", "leaves"]
    rows = []
    for _ in range(sentences):
        rows += ["a DT B-NP", f"{draw.choice(nouns)} NN I-NP", f"{draw.choice(verbs)} VBZ B-VP", "the DT B-NP",
                 f"{draw.choice(nouns)} NN I-NP", ""]
    return "\n".join(rows) + "\n"


def films(lines, seed):
    draw = random.Random(seed)
    good, bad = ["fine", "clever", "funny"], ["dull", "endless", "loud"]
    rows = []
    for _ in range(lines):
        label, words = draw.choice([("pos", good), ("neg", bad)])
        rows.append(f"{label}\ta {draw.choice(words)} story and a {draw.choice(words)} {draw.choice(['film', 'music'])}")
    return "\n".join(rows) + "\n"


def names(lines, seed):
    draw = random.Random(seed)
    starts = ["An", "El", "Mar", "Jo", "Ber"]
    ends = {"female": ["na", "sa", "ia"], "male": ["k", "rt", "n"]}
    genders = [draw.choice(sorted(ends)) for _ in range(lines)]
    return "".join(f"{g}\t{draw.choice(starts)}{draw.choice(ends[g])}\n" for g in genders)


def pairs(lines, seed):
    draw = random.Random(seed)
    sounds = dict(zip("CATMNYS", ["K", "AE", "T", "M", "N", "IY", "S"]))
    words = ["".join(draw.choice(sorted(sounds)) for _ in range(draw.randrange(2, 6))) for _ in range(lines)]
    return "".join(f"{word}\t{' '.join(sounds[letter] for letter in word)}\n" for word in words)


def sources(lines, seed):
    return "".join(line.split("\t")[0] + "\n" for line in pairs(lines, seed).splitlines())


def wave(rows, seed, header="load"):
    draw = random.Random(seed)
    values = (10 + 4 * math.sin(2 * math.pi * t / 24) + draw.gauss(0, 0.5) for t in range(rows))
    return (header + "\n" if header else "") + "".join(f"{v:.3f}\n" for v in values)


def orders(rows, seed):
    draw = random.Random(seed)
    days = ((month, day) for month in range(1, 13) for day in range(1, 29))
    text = "date,zip,price,kind\n"
    for month, day in list(days)[:rows]:
        price = "none" if draw.random() < 0.05 else f"{draw.uniform(1, 20):.2f}"
        text += f"2024-{month:02}-{day:02},0{draw.randrange(1000, 1010)},{price},{draw.choice(['retail', 'bulk'])}\n"
    return text


def votes(rows, seed):
    draw = random.Random(seed)
    text = ",".join(f"x{k}" for k in range(1, 7)) + "\n"
    for _ in range(rows):
        side = draw.random() < 0.5
        text += ",".join(str(int(draw.random() < (0.9 if side else 0.2))) for _ in range(6)) + "\n"
    return text


def rolls(pieces, seed):
    draw = random.Random(seed)
    chords = ["48,55,60,64", "53,57,60,65", "55,59,62,67", "-"]
    return "".join(" ".join(draw.choice(chords) for _ in range(40)) + "\n" for _ in range(pieces))


def trees(lines, seed):
    draw = random.Random(seed)
    good = {"good": 4, "fine": 3, "dull": 1, "bad": 0}
    words = [draw.choice(sorted(good)) for _ in range(lines)]
    return "".join(f"({good[w]} (2 a) ({good[w]} ({good[w]} {w}) (2 film)))\n" for w in words)


def bases(count, seed):
    draw = random.Random(seed)
    text = "".join(draw.choice(["ATG", "GCA", "TTA", "CGC"]) for _ in range(count // 3))
    return "\n".join(text[i:i + 70] for i in range(0, len(text), 70)) + "\n"


def fasta(count, seed):
    return ">one chromosome\n" + bases(count, seed)


def proteins(count, seed):
    draw = random.Random(seed)
    return "".join(f">p{n}\nM" + "".join(draw.choice("ACDEFGHIKL") for _ in range(60)) + "\n" for n in range(count))


def xor_lines(lines, seed):
    draw = random.Random(seed)
    rows = []
    for _ in range(lines):
        a, b = draw.randrange(2), draw.randrange(2)
        rows.append(f"X{a}01X{b}={a ^ b}\n")
    return "".join(rows)


def spaced(lines, seed):
    """Returns characters separated by blanks, as in the character-level Penn Treebank."""
    return "".join(" ".join(line.replace(" ", "_")) + "\n" for line in prose(lines, seed).splitlines())


def digits(folder, seed):
    """Writes the four IDX files of MNIST, with few and random images."""
    draw = random.Random(seed)
    folder.mkdir(parents=True)
    for name, count in (("train", 5100), ("t10k", 20)):
        pixels = bytes(draw.randrange(256) for _ in range(784)) * count
        labels = bytes(draw.randrange(10) for _ in range(count))
        (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 2051, count, 28, 28) + pixels)
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 2049, count) + labels)


def utterances(count, seed):
    """Returns sequences of vectors, each with a label."""
    draw = random.Random(seed)
    rows = []
    for i in range(count):
        frames = [[round(draw.gauss(i % 3, 1), 3) for _ in range(3)] for _ in range(draw.randrange(6, 12))]
        rows.append(json.dumps({"frames": frames, "label": "abc"[i % 3]}) + "\n")
    return "".join(rows)


def sales(days, seed, prefix="", header="date,sales\n"):
    """Returns a daily series with a weekly season."""
    draw, rows = random.Random(seed), [header]
    for day in range(days):
        date = datetime.date(2024, 1, 1) + datetime.timedelta(days=day)
        rows.append(f"{prefix}{date},{round(50 + 0.1 * day + 20 * (date.weekday() > 4) + draw.gauss(0, 3), 1)}\n")
    return "".join(rows)


def shops(count, days, seed):
    return "shop,date,sales\n" + "".join(sales(days, seed + k, f"s{k},", "") for k in range(count))


def promoted(first, days, with_sales):
    """Returns daily sales with promotions, or the promotions alone."""
    rows = ["date,sales,promotion\n" if with_sales else "date,promotion\n"]
    for day in range(first, first + days):
        date = datetime.date(2024, 1, 1) + datetime.timedelta(days=day)
        promotion = int(day % 11 == 0)
        sold = f"{50 + 20 * (date.weekday() > 4) + 15 * promotion + day % 5}," if with_sales else ""
        rows.append(f"{date},{sold}{promotion}\n")
    return "".join(rows)


TEXTS = {
    "book.txt": lambda: prose(400, 1),
    "other.txt": lambda: prose(50, 2), "OTHER.txt": lambda: prose(50, 2), "YOUR.txt": lambda: prose(400, 1),
    "LOG.txt": lambda: prose(50, 3), "ANY.file": lambda: prose(50, 3), "text.txt": lambda: prose(200, 4),
    "paper.txt": lambda: prose(40, 5), "input.txt": lambda: prose(400, 6), "tinyshakespeare/input.txt": lambda: prose(400, 6),
    "lines.txt": lambda: xor_lines(300, 1), "dna.txt": lambda: bases(3000, 1),
    "app.log": lambda: log(300, 1), "today.log": lambda: log(200, 2), "shop.log": lambda: log(300, 1), "first.log": lambda: "".join(
        f"- {line}\n" for line in log(200, 1).splitlines()), "rest.log": lambda: "".join(
            f"{'-' if n % 9 else 'ALERT'} {line}\n" for n, line in enumerate(log(100, 3).splitlines())),
    "orders.rules": lambda: "order    ORD-\\d{6}\ntenant   (?<=tenant=)\\w+\n",
    "train.conll": lambda: tagged(60, 1), "test.conll": lambda: tagged(20, 2),
    "films.txt": lambda: films(80, 1), "names.txt": lambda: names(200, 1), "test.txt": lambda: names(40, 2),
    "utterances.jsonl": lambda: utterances(60, 1), "load.csv": lambda: wave(400, 1), "laser.csv": lambda: wave(400, 2, "value"),
    "sales.csv": lambda: sales(120, 1), "shops.csv": lambda: shops(3, 60, 1),
    "promoted.csv": lambda: promoted(0, 90, True), "promotions.csv": lambda: promoted(90, 7, False),
    "words.pairs": lambda: pairs(200, 1), "new.txt": lambda: sources(10, 2),
    "orders.csv": lambda: orders(200, 1), "votes.csv": lambda: votes(300, 1), "new.csv": lambda: votes(40, 2),
    "pieces.txt": lambda: rolls(12, 1),
    "train.trees": lambda: trees(60, 1), "dev.trees": lambda: trees(10, 2), "test.trees": lambda: trees(10, 3),
    "ptb.train.txt": lambda: prose(200, 7), "ptb.valid.txt": lambda: prose(40, 8), "ptb.test.txt": lambda: prose(40, 9),
    "ptb.char.train.txt": lambda: spaced(100, 7), "ptb.char.valid.txt": lambda: spaced(20, 8),
    "new.faa": lambda: proteins(5, 2), "secret": lambda: "correct horse battery staple, and some more\n",
}
# Names that have a different meaning on one page.
OF_PAGE = {
    "docs/howto/files.md": {},  # FILES below
    "docs/data.md": {"new.txt": lambda: films(10, 2), "unseen.txt": lambda: sources(10, 2)},
    "docs/structured.md": {"FILE": lambda: "U0:%x[0,0]\nU1:%x[0,1]\nB\n"},
}
PACKED = {
    "ptb.char.train.txt.gz": lambda: spaced(100, 7), "ptb.char.valid.txt.gz": lambda: spaced(20, 8),
    "GCF_000005845.2_ASM584v2_genomic.fna.gz": lambda: fasta(6000, 1),
    "GCF_000005845.2_ASM584v2_protein.faa.gz": lambda: proteins(30, 1),
    "b.txt.gz": lambda: prose(50, 2),
}
FOLDERS = {"data/mnist": lambda path: digits(path, 1), "folder": lambda path: make_folder(path),
           "gestures.npz": lambda path: gestures(path)}

# Published data, by the name used in tutorials, and their location below UNFOLD_DATA.
PUBLISHED = {
    "OpenSSH_2k.log": "logs/OpenSSH_2k.log",
    "shakespeare.txt": "tinyshakespeare/input.txt",
    "ecoli.fna.gz": "genome/GCF_000005845.2_ASM584v2_genomic.fna.gz",
    "laser.txt": "timeseries/santafe_laser.txt",
    "atis-train.conllu.gz": "ud/en_atis-ud-train.conllu.gz",
    "atis-dev.conllu.gz": "ud/en_atis-ud-dev.conllu.gz",
    "atis-test.conllu.gz": "ud/en_atis-ud-test.conllu.gz",
}


# Kinds of files for docs/howto/files.md ------------------------------------------------------------------------------

def rows_of(header, count, row):
    return header + "\n" + "".join(row(i) + "\n" for i in range(count))


def customers(i):
    return f"{1000 + i},{20 + i * 7 % 50},{['basic', 'plus', 'pro'][i % 3]},{i * 13 % 60}.5,{int(i % 5 == 0)}"


def ticket(i):
    about, label = [("the invoice is wrong", "billing"), ("cannot log in", "login"), ("the app crashes", "bug")][i % 3]
    return f"\"{about}, {['please help', 'thank you', 'it is urgent'][i // 3 % 3]}, order {i}\",{label}"


def hourly(i):
    return f"2024-03-{1 + i // 24:02d} {i % 24:02d}:00,{20 + 5 * math.sin(i / 3.8):.2f}"


def exported(i):
    return f"{1 + i % 28:02d}.{1 + i // 28:02d}.2024;{i * 37 % 900 + 100},{i % 10}0;{i % 7},5"


def price(i):
    return f"{['red', 'green', 'blue'][i % 3]},{i % 9 + 1}.5 %,${i % 7 + 10}.{i % 9}5"


def click(i):
    day, minute = divmod(i * 11, 600)
    return f"u{i * 7 % 12},2024-03-{day + 1:02d} {8 + minute // 60:02d}:{minute % 60:02d},{['home', 'search', 'cart'][i // 12 % 3]}"


def record(i):
    return json.dumps({"id": f"A{i:04d}", "size": i % 7 + 0.5, "color": ["red", "blue"][i % 2], "sold": i % 3 == 0})


def review(i):
    return json.dumps({"text": ["good and cheap", "broke after a day", "works well"][i % 3], "label": [1, 0, 1][i % 3]})


def treebank(i):
    rows = [("1", "the", "DET", "2", "det"), ("2", ["boat", "sail"][i % 2], "NOUN", "3", "nsubj"),
            ("3", "leaves", "VERB", "0", "root")]
    return "".join(f"{n}\t{word}\t_\t{tag}\t_\t_\t{head}\t{kind}\t_\t_\n" for n, word, tag, head, kind in rows)


def access(i):
    page = ["/", "/shop", "/shop/cart", "/img/logo.png"][i * 7 % 4]
    return f"10.0.{i % 3}.{i * 31 % 250} - - [10/Oct/2024:13:{i // 60:02d}:{i % 60:02d} +0200] \"GET {page} HTTP/1.1\" 200 {i * 97 % 5000}"


def gestures(path):
    """Writes the arrays x [60, 8, 2] and label [60] as numpy.savez does."""
    def array(kind, shape, data):
        head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
        head += " " * (64 - (len(head) + 11) % 64) + "\n"
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data

    draw = random.Random(1)
    x = [draw.gauss(i % 3, 1) for i in range(60) for _ in range(16)]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", array("<f8", (60, 8, 2), struct.pack(f"<{len(x)}d", *x)))
        archive.writestr("label.npy", array("<i8", "(60,)", struct.pack("<60q", *(i % 3 for i in range(60)))))


FILES = {
    "customers.csv": lambda: rows_of("customer_id,age,plan,spent,churn", 60, customers),
    "tickets.csv": lambda: rows_of("text,label", 90, ticket),
    "sensor.csv": lambda: rows_of("time,temperature", 200, hourly),
    "export.csv": lambda: rows_of("Datum;Umsatz;Kosten", 84, exported),
    "prices.csv": lambda: rows_of("color,discount,price", 60, price),
    "clicks.csv": lambda: rows_of("user_id,time,page", 240, click),
    "stores.csv": lambda: shops(3, 60, 1),
    "records.jsonl": lambda: "".join(record(i) + "\n" for i in range(60)),
    "reviews.jsonl": lambda: "".join(review(i) + "\n" for i in range(60)),
    "bank.conllu": lambda: "".join(treebank(i) + "\n" for i in range(40)),
    "parsed.mrg": lambda: "".join(f"( (S (NP (DT the) (NN {NOUNS[i % 12]})) (VP (VBZ {VERBS[i % 7]}))))\n" for i in range(40)),
    "access.log": lambda: "".join(access(i) + "\n" for i in range(300)),
    "genes.fa": lambda: fasta(6000, 1),
    "numbers.pairs": lambda: pairs(200, 1),
    "novel.txt": lambda: prose(300, 1),
}


def chorales(data):
    """Converts the chorales to the format of the published JSON file, from the pieces stored as rolls."""
    def pieces(part):
        lines = pathlib.Path(data, f"music/JSB_Chorales.{part}.txt").read_text(encoding="utf-8").splitlines()
        return [[[] if step == "-" else [int(note) for note in step.split(",")] for step in line.split()] for line in lines]

    return json.dumps({part: pieces(part) for part in ("train", "valid", "test")})


# Published data stored in another format.
REWRITTEN = {"jsb-chorales-quarter.json": ("music/JSB_Chorales.train.txt", chorales)}

OF_PAGE["docs/howto/files.md"].update(FILES)
OF_PAGE["docs/examples.md"] = {"tickets.csv": FILES["tickets.csv"]}
OF_PAGE["README.md"] = {"tickets.csv": FILES["tickets.csv"], "new-tickets.csv": FILES["tickets.csv"]}

# Files of the repository that a page offers.
OFFERED = {"draw.py": "docs/tutorials/draw.py"}


class Missing(Exception):
    """Raised if published data is not available."""


def make_folder(path):
    path.mkdir()
    (path / "note.txt").write_text(prose(20, 1), encoding="utf-8")


def provide(name, folder, page, data):
    """Creates the file `name` in `folder`, if it is one of those above. Raises Missing."""
    path = folder / name
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = {**TEXTS, **OF_PAGE.get(page, {})}
    if name in PUBLISHED:
        source = pathlib.Path(data, PUBLISHED[name]) if data else None
        if source is None or not source.exists():
            raise Missing(f"{name} is {PUBLISHED[name]} of the folder UNFOLD_DATA, which is not here")
        shutil.copyfile(source, path)
    elif name in REWRITTEN:
        source, rewrite = REWRITTEN[name]
        if not data or not pathlib.Path(data, source).exists():
            raise Missing(f"{name} is made of {source} of the folder UNFOLD_DATA, which is not here")
        path.write_text(rewrite(data), encoding="utf-8")
    elif name in OFFERED:
        shutil.copyfile(pathlib.Path(__file__).resolve().parents[2] / OFFERED[name], path)
    elif name in texts:
        path.write_text(texts[name](), encoding="utf-8")
    elif name in PACKED:
        path.write_bytes(gzip.compress(PACKED[name]().encode(), mtime=0))
    elif name in FOLDERS:
        FOLDERS[name](path)


def known_names(page):
    return [*PUBLISHED, *REWRITTEN, *OFFERED, *OF_PAGE.get(page, {}), *TEXTS, *PACKED, *FOLDERS]
