#!/usr/bin/env bash
# Trains three small models with the built command: two on text of known entropy, and one on natural text. `make demo`
# builds the command first. MINUTES=1 is the time for each training.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=build/release/bin
out=build/demo
minutes=${MINUTES:-1}

# The plays of Shakespeare if they are next to the project, otherwise the license texts that every Debian system has.
written_text() {
  local plays=${UNFOLD_DATA:-../shared/data}/tinyshakespeare/input.txt
  if [ -f "$plays" ]; then
    cat "$plays"
  else
    find /usr/share/common-licenses -type f -print0 | LC_ALL=C sort -z | xargs -0 cat | LC_ALL=C tr -cd '\n\40-\176'
  fi
}

show() { printf '\n$ %s\n' "${*//$bin\//}"; "$@"; }

rm -rf "$out"
mkdir -p "$out"

# Prints the bits per symbol of a model, or of the source itself, on the test text.
bits() { "$@" --json --quiet | sed -E 's/.*"(bits_per_symbol|source_bits_per_symbol)":([0-9.]+).*/\2/'; }
compare() {
  printf '  %-24s %.3f bits per symbol, %.3f above the source\n' "$1" "$2" "$(awk "BEGIN { print $2 - $source_bits }")"
}

echo "== 1. Text from a source of known entropy: excess of a model over it after $minutes min"
show $bin/unfold generate alphabet --size 260000 --seed 1 -o $out/alphabet.txt
head -n 2 $out/alphabet.txt
$bin/unfold generate alphabet --size 26000 --seed 2 -o $out/valid.txt >/dev/null
source_bits=$(bits $bin/unfold generate alphabet --size 26000 --seed 3 -o $out/unseen.txt)
echo
echo "A network on a sparse random graph with 20 units, trained with a Riemannian metric:"
show $bin/unfold train $out/alphabet.txt --valid $out/valid.txt --model glnn:20,edges=3 --optimizer ruop \
  --whole-sequences --minutes "$minutes" --out $out/gated
echo
echo "The default, a GRU with 448 units trained with Adam for the same time:"
show $bin/unfold train $out/alphabet.txt --valid $out/valid.txt --minutes "$minutes" --out $out/gru
show $bin/unfold sample $out/gated --length 300 --seed 1
printf '\n\nOn text that neither has seen:\n'
printf '  %-24s %.3f bits per symbol\n' 'the source itself' "$source_bits"
compare 'glnn:20 by ruop' "$(bits $bin/unfold eval $out/gated $out/unseen.txt)"
compare 'the default GRU' "$(bits $bin/unfold eval $out/gru $out/unseen.txt)"
echo "No model can be better than its source on average."

printf '\n== 2. Text that people wrote\n'
written_text >$out/text.txt
show $bin/unfold train $out/text.txt --symbols chars --split 90/10/0 --minutes "$minutes" --out $out/text
show $bin/unfold sample $out/text --length 400 --temperature 0.7 --seed 1

printf '\nThe runs are in %s. Next: %s/unfold train YOUR.txt --out run\n' $out $bin
