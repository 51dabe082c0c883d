#!/usr/bin/env bash
# Counts the n-grams of a large generated text in one process, and in two with a limit of 256 MiB of data each and
# tables of 8 MiB. The models must be identical (docs/processes.md). Needs MPI, and three times the size of the text in
# TMPDIR.
#
#   bench/ngrams.sh [UNFOLD [MEGABYTES]]            default: build/release/bin/unfold 1000
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unfold=$(realpath "${1:-build/release/bin/unfold}") megabytes=${2:-1000}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm=isolated
command -v mpirun >/dev/null || { echo "ngrams: mpirun is missing; run tools/setup.sh processes" >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

"$unfold" generate music --size $((megabytes * 1000000)) --seed 1 -o text --quiet
train=("$unfold" train text --symbols bytes --model ngram:4 --quiet --overwrite)
began=$SECONDS
"${train[@]}" --out one >/dev/null
echo "one process, no limit: $((SECONDS - began)) s"
began=$SECONDS
mpirun -n 2 --oversubscribe --bind-to none prlimit --data=$((256 << 20)) \
  "${train[@]}" --memory-limit 8M --threads 1 --out two >/dev/null
echo "two processes, 256 MiB of data each: $((SECONDS - began)) s"
cmp one/model.safetensors two/model.safetensors && echo "$(stat -c %s text) bytes counted: the same model"
