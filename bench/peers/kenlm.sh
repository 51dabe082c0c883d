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
# Of 200,000 words, none occurs only once in a long text; lmplz then needs --discount_fallback.
#
# lmplz: git clone https://github.com/kpu/kenlm; cmake -B build -DCMAKE_BUILD_TYPE=Release; make -C build lmplz
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
lmplz=$(realpath "$1") unfold=$(realpath "${2:-build/release/bin/unfold}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
text=$(realpath "${3:-$folder/text}")
[ $# -ge 3 ] || build/release/bin/bench_zipf_text "${WORDS:-20000000}" >"$text"
cd "$folder"

measured() {  # NAME COMMAND...
  local name=$1
  shift
  /usr/bin/time -f "%U %S %M" -o time "$@" >/dev/null 2>errors || { cat errors >&2; exit 1; }
  tail -1 time | awk -v name="$name" '{printf "%-28s %6.1f s CPU  %6.0f MB\n", name, $1 + $2, $3 / 1024}'
}
for _ in $(seq "${ROUNDS:-2}"); do
  for order in ${ORDERS:-3 5}; do
    measured "lmplz -o $order" "$lmplz" -o "$order" -S 2G -T "$folder" --discount_fallback --text "$text" --arpa /dev/null
    measured "ngram:$order" "$unfold" train "$text" --symbols words --vocabulary 300000 --split 100/0/0 \
      --model "ngram:$order" --threads 1 --out u --overwrite --quiet ${LIMIT:+--memory-limit "$LIMIT"}
  done
done
