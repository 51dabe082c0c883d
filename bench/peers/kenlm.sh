#!/usr/bin/env bash
# Fits n-gram models with modified Kneser-Ney smoothing by lmplz (KenLM) and by unfold on the same text, in turn, and
# prints CPU time and peak memory (docs/performance.md). Without a TEXT, a text is generated: Zipf frequencies over
# 200,000 words, half of which depend on the preceding word of their line.
#
#   bench/peers/kenlm.sh LMPLZ [UNFOLD [TEXT]]      default: build/release/bin/unfold
#
# Environment: WORDS=20000000 (of the generated text), ORDERS="3 5", ROUNDS=2, LIMIT= (--memory-limit of unfold, such as
# 2000M), TMPDIR (for the text, the sorted files and the model).
#
# lmplz: git clone https://github.com/kpu/kenlm; cmake -B build -DCMAKE_BUILD_TYPE=Release; make -C build lmplz
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
lmplz=$(realpath "$1") unfold=$(realpath "${2:-build/release/bin/unfold}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
text=$(realpath "${3:-$folder/text}")
if [ $# -lt 3 ]; then
  python3 - "$text" "${WORDS:-20000000}" <<'END'
import sys

import numpy as np

random = np.random.default_rng(1)
vocabulary, lines, length = 200_000, 50_000, 20
cumulated = np.cumsum(1.0 / np.arange(1, vocabulary + 1))
cumulated /= cumulated[-1]
names = np.array([f"w{i}" for i in range(vocabulary)], dtype=object)


def draw(*shape):
    return np.searchsorted(cumulated, random.random(shape), side="right")


successors = draw(vocabulary, 4)
with open(sys.argv[1], "w") as out:
    for _ in range(max(1, int(sys.argv[2]) // (lines * length))):
        words = draw(lines, length)
        follows = random.random((lines, length)) < 0.5
        which = random.integers(0, 4, (lines, length))
        for i in range(1, length):
            words[:, i] = np.where(follows[:, i], successors[words[:, i - 1], which[:, i]], words[:, i])
        out.write("\n".join(" ".join(line) for line in names[words].tolist()) + "\n")
END
fi
cd "$folder"

measured() {  # NAME COMMAND...
  local name=$1
  shift
  /usr/bin/time -f "%U %S %M" -o time "$@" >/dev/null 2>errors || { cat errors >&2; exit 1; }
  tail -1 time | awk -v name="$name" '{printf "%-28s %6.1f s CPU  %6.0f MB\n", name, $1 + $2, $3 / 1024}'
}
for _ in $(seq "${ROUNDS:-2}"); do
  for order in ${ORDERS:-3 5}; do
    measured "lmplz -o $order" "$lmplz" -o "$order" -S 2G -T "$folder" --text "$text" --arpa /dev/null
    measured "ngram:$order" "$unfold" train "$text" --symbols words --vocabulary 300000 --split 100/0/0 \
      --model "ngram:$order" --threads 1 --out u --overwrite --quiet ${LIMIT:+--memory-limit "$LIMIT"}
  done
done
