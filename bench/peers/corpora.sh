#!/usr/bin/env bash
# Compressed sizes of the files of the Calgary and Canterbury corpora with `unfold compress`, `--fast` and other
# programs, as a Markdown table with one row per file. Sizes do not depend on the machine. Needs xz, bzip2, zstd, 7z (or
# 7zz) and zpaq; the data is in UNFOLD_DATA.
#
#   bench/peers/corpora.sh [build/release/bin/unfold]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
unfold=$(realpath "${1:-build/release/bin/unfold}")
data=$(realpath "${UNFOLD_DATA:-../shared/data}")/corpora
seven=$(command -v 7zz || command -v 7z)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

echo '| file | bytes | `compress` | `--fast` | xz -9e | bzip2 -9 | zstd -19 | 7-Zip PPMd | zpaq -m5 |'
echo '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
for file in "$data"/calgary/* "$data"/canterbury/*; do
  zcat -f "$file" >raw
  "$unfold" compress raw -o best --no-verify --quiet
  "$unfold" compress raw --fast -o fast --no-verify --quiet
  xz -9e -c raw >x
  bzip2 -9 -c raw >b
  zstd -19 -q -c raw >z
  rm -f p.7z q.zpaq
  "$seven" a -m0=PPMd -mx9 p.7z raw >/dev/null
  zpaq a q.zpaq raw -m5 >/dev/null 2>&1
  row="| $(basename "$file" .gz)"
  for made in raw best fast x b z p.7z q.zpaq; do row+=" | $(stat -c %s $made)"; done
  echo "$row |"
done
