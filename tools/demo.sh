#!/usr/bin/env bash
# Two small trainings with the built command: text with a known entropy, then text that people wrote. `make demo` builds
# first. MINUTES=1 is the time of each training.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=build/release/bin
out=build/demo
minutes=${MINUTES:-1}

# The plays of Shakespeare where they lie beside the project, else the licences that every Debian system carries.
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

echo "== 1. Text from a source of known entropy: how far above it does a model stay?"
show $bin/unfold generate alphabet --count 20000 --seed 1 -o $out/alphabet.txt
$bin/unfold generate alphabet --count 1000 --seed 2 -o $out/alphabet-unseen.txt | tee $out/entropy.txt
head -n 1 $out/alphabet.txt
show $bin/unfold train $out/alphabet.txt --symbols chars --split 95/5/0 --minutes "$minutes" --out $out/alphabet
show $bin/unfold eval $out/alphabet $out/alphabet-unseen.txt
echo "Of the same text: $(grep perfect $out/entropy.txt). No model can do better in the long run."
show $bin/unfold sample $out/alphabet --length 300 --seed 1

printf '\n== 2. Text that people wrote\n'
written_text >$out/text.txt
show $bin/unfold train $out/text.txt --symbols chars --split 90/10/0 --minutes "$minutes" --out $out/text
show $bin/unfold sample $out/text --length 400 --temperature 0.7 --seed 1

printf '\nThe runs are in %s. Next: %s/unfold train YOUR.txt --out run\n' $out $bin
