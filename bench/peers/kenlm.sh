#!/usr/bin/env bash
# Fits n-gram models with modified Kneser-Ney smoothing by lmplz (KenLM) and by unfold on the same text, in turn, and
# prints CPU time and peak memory (docs/performance.md). Without a TEXT, a text of 20 million words is generated: Zipf
# frequencies over 200,000 words, half of which depend on the preceding word.
#
#   bench/peers/kenlm.sh LMPLZ [UNFOLD [TEXT]]      default: build/release/bin/unfold
#
# lmplz: git clone https://github.com/kpu/kenlm; cmake -B build -DCMAKE_BUILD_TYPE=Release; make -C build lmplz
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
lmplz=$(realpath "$1") unfold=$(realpath "${2:-build/release/bin/unfold}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
text=$(realpath "${3:-$folder/text}")
if [ $# -lt 3 ]; then
  python3 - "$text" <<'END'
import sys

import numpy as np

random = np.random.default_rng(1)
vocabulary, block = 200_000, 1_000_000
weights = 1.0 / np.arange(1, vocabulary + 1)
weights /= weights.sum()
names = [f"w{i}" for i in range(vocabulary)]
successors = random.choice(vocabulary, (vocabulary, 4), p=weights)
with open(sys.argv[1], "w") as out:
    for _ in range(20):
        words = random.choice(vocabulary, block, p=weights)
        follows = random.random(block) < 0.5
        which = random.integers(0, 4, block)
        for i in range(1, block):
            if follows[i]:
                words[i] = successors[words[i - 1], which[i]]
        for begin in range(0, block, 20):
            out.write(" ".join(names[w] for w in words[begin : begin + 20]) + "\n")
END
fi
cd "$folder"

measured() {  # NAME COMMAND...
  local name=$1
  shift
  /usr/bin/time -f "%U %S %M" -o time "$@" >/dev/null 2>errors || { cat errors >&2; exit 1; }
  tail -1 time | awk -v name="$name" '{printf "%-28s %6.1f s CPU  %6.0f MB\n", name, $1 + $2, $3 / 1024}'
}
for _ in 1 2; do
  for order in 3 5; do
    measured "lmplz -o $order" "$lmplz" -o "$order" -S 2G -T "$folder" --text "$text" --arpa k.arpa
    measured "ngram:$order" "$unfold" train "$text" --symbols words --vocabulary 300000 --split 100/0/0 \
      --model "ngram:$order" --threads 1 --out u --overwrite --quiet
  done
done
