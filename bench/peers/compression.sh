#!/usr/bin/env bash
# Compares unfold with other compressors on the same files: sizes, CPU seconds (user and system) and memory. Prints the
# table of docs/compression.md.
#   apt-get install 7zip zpaq brotli xz-utils bzip2 zstd time   # p7zip-full if there is no 7zip
#   bench/peers/compression.sh UNFOLD FILE... | tee table.md
#   python3 bench/peers/frontier.py table.md frontier.svg        # plot of size over time for all files together
# Programs that are not installed are omitted. unfold runs with --no-verify, because the other programs do not verify
# either.
#   SLOW=1                     include slow models: context trees, an LSTM that learns online, and their mixture
#   LSTM_COMPRESS=FOLDER       include lstm-compress: the folder with its sources (github.com/byronknoll/lstm-compress),
#                              built there with clang if needed; very slow
#   MEASURE="chrt -f 20"       a prefix of every command
set -euo pipefail
unfold=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seven=$(command -v 7zz || command -v 7z || true)
read -ra prefix <<<"${MEASURE:-}"

measure() {  # measure NAME FILE COMMAND...: COMMAND writes $work/out
  local name=$1 file=$2
  shift 2
  rm -f "$work"/out*
  /usr/bin/time -o "$work/time" -f '%U %S %M' ${prefix[@]+"${prefix[@]}"} "$@" >"$work/log" 2>&1
  awk -v file="$(basename "$file")" -v name="$name" -v plain="$(stat -c %s "$file")" -v size="$(stat -c %s "$work"/out*)" \
    '{ printf "| %s | %s | %d | %.3f | %.2f | %.0f |\n", file, name, size, 8 * size / plain, $1 + $2, $3 / 1024 }' "$work/time"
}

if [[ -n ${LSTM_COMPRESS:-} ]]; then make -C "$LSTM_COMPRESS" >/dev/null; fi

echo "| file | program | bytes | bits per byte | s | MiB |"
echo "| --- | --- | --- | --- | --- | --- |"
for file in "$@"; do
  if command -v xz >/dev/null; then measure "xz -9e" "$file" bash -c "xz -9e -c '$file' >'$work/out'"; fi
  if command -v bzip2 >/dev/null; then measure "bzip2 -9" "$file" bash -c "bzip2 -9 -c '$file' >'$work/out'"; fi
  if command -v zstd >/dev/null; then measure "zstd -19" "$file" bash -c "zstd -19 -q -c '$file' >'$work/out'"; fi
  if command -v brotli >/dev/null; then measure "brotli -q 11 -w 24" "$file" brotli -q 11 -w 24 -o "$work/out" "$file"; fi
  if [[ -n $seven ]]; then measure "7z PPMd" "$file" "$seven" a -m0=PPMd "$work/out.7z" "$file"; fi
  if command -v zpaq >/dev/null; then measure "zpaq -m5" "$file" zpaq a "$work/out.zpaq" "$file" -m5; fi
  models=(-1 -2 -3 -4 -5 -6 -7 -8 -9)
  if [[ -n ${SLOW:-} ]]; then
    models+=("--model ctw:48,add=0.0625" "--model mix:lstm:128+ppm:5" "--model lstm:128" "--model lstm:96")
  fi
  for options in "${models[@]}"; do
    # shellcheck disable=SC2086  # split the options into words
    measure "unfold compress $options" "$file" "$unfold" compress "$file" $options --no-verify --quiet --threads 1 -o "$work/out"
  done
  if [[ -n ${LSTM_COMPRESS:-} ]]; then
    measure "lstm-compress" "$file" "$LSTM_COMPRESS/lstm-compress" -c "$file" "$work/out"
  fi
done
