#!/usr/bin/env bash
# Runs the main subcommands on small inputs under valgrind, which must find no invalid access, uninitialized value or
# leak. Requires valgrind (apt install valgrind) and a release build. valgrind hides AVX-512, so the AVX2 kernels run.
#
#   tools/valgrind.sh [build/release/bin/unfold]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unfold=$(realpath "${1:-build/release/bin/unfold}")
command -v valgrind >/dev/null || { echo "valgrind is missing; run apt install valgrind" >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

for i in $(seq 400); do echo "the cat sat on mat $((i * i % 97)) and ran"; done >text
for i in $(seq 60); do printf 'the\tD\ncat\tN\nran\tV\n\n'; done >tags.conll
for i in $(seq 80); do echo "Dec 10 06:55:$((i % 60)) web sshd[$i]: Accepted password from 10.0.0.$((i % 7))"; done >log

failed=0
while read -r line; do
  [ -n "$line" ] || continue
  # shellcheck disable=SC2086  # each line is a list of arguments
  if valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
      "$unfold" $line >out 2>err </dev/null; then
    echo "clean: unfold $line"
  else
    echo "FAILED: unfold $line"
    grep -E '^==' err || cat err
    failed=1
  fi
done <<'END'
train text --model lstm:8 --steps 10 --out lstm --quiet
train text --model ngram:3 --out ngram --quiet
train text --model gru:6 --optimizer rbpm --steps 3 --out rbpm --quiet
eval lstm text
score lstm text --by line --top 3
sample lstm --length 30
info lstm
check lstm:2
train log --format log --out logs --quiet
score logs log --top 2
score logs log --by value --top 2
train tags.conll --predict 2 --model bilstm:4 --epochs 1 --out tags --quiet
eval tags tags.conll
predict tags tags.conll
compress text -o text.unf
compress text --model ppm:3 -o ppm.unf
decompress text.unf -o back
END
exit $failed
