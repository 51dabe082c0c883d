#!/usr/bin/env bash
# Sizes and CPU seconds of unfold and other compressors on the same files, as a table.
#   apt-get install 7zip zpaq brotli xz-utils bzip2 zstd
#   bench/peers/compression.sh UNFOLD FILE...
# Programs that are not installed are left out. unfold runs with --no-verify: the others do not verify either.
set -euo pipefail
unfold=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TIMEFORMAT='%U'

measure() {  # measure NAME FILE COMMAND...: COMMAND writes $work/out
  local name=$1 file=$2 seconds
  shift 2
  rm -f "$work"/out*
  seconds=$({ time "$@" >"$work/log" 2>&1; } 2>&1)
  printf '| %s | %s | %s | %s |\n' "$(basename "$file")" "$name" "$(stat -c %s "$work"/out*)" "$seconds"
}

echo "| file | program | bytes | s |"
echo "| --- | --- | --- | --- |"
for file in "$@"; do
  printf '| %s | (plain) | %s | |\n' "$(basename "$file")" "$(stat -c %s "$file")"
  if command -v xz >/dev/null; then measure "xz -9e" "$file" bash -c "xz -9e -c '$file' >'$work/out'"; fi
  if command -v brotli >/dev/null; then measure "brotli -q 11 -w 24" "$file" brotli -q 11 -w 24 -o "$work/out" "$file"; fi
  if command -v 7zz >/dev/null; then measure "7zz PPMd" "$file" 7zz a -m0=PPMd "$work/out.7z" "$file"; fi
  if command -v zpaq >/dev/null; then measure "zpaq -m5" "$file" zpaq a "$work/out.zpaq" "$file" -m5; fi
  for options in "--fast" "" "--model ppm" "--model ctw:48,add=0.0625" ${UNFOLD_SLOW:+"--model lstm:64" "--best"}; do
    # shellcheck disable=SC2086  # the options are words
    measure "unfold compress $options" "$file" "$unfold" compress "$file" $options --no-verify --quiet -o "$work/out"
  done
done
