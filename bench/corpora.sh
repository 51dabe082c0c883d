#!/usr/bin/env bash
# Peak memory of a process and the amount of data that it reads, when one process and when several train on a large text
# (docs/processes.md).
#
#   bench/corpora.sh build/release/bin/unfold [MEGABYTES]      default: 400; needs mpirun and as much space in TMPDIR
set -euo pipefail

unfold=$(realpath "$1")
megabytes=${2:-400}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

python3 - "$megabytes" <<'PYTHON'
import random, sys
random.seed(1)
letters = "abcdefghijklmnopéèжщ語"
words = ["".join(random.choices(letters, k=random.randint(1, 9))) for _ in range(20000)]
part = "".join(" ".join(random.choices(words, k=12)) + "\n" for _ in range(20000)).encode()
with open("text", "wb") as out:
    while out.tell() < int(sys.argv[1]) * 10**6:
        out.write(part[part.index(b"\n", random.randrange(len(part) // 2)) + 1:])
PYTHON

# Runs a command and prints the resource usage reported by the kernel.
cat > counted.sh <<'COUNTED'
"$@" > /dev/null & process=$!
while kill -0 $process 2> /dev/null; do
  memory=$(grep -h VmHWM /proc/$process/status 2> /dev/null | tr -dc 0-9) && [ -n "$memory" ] && peak=$memory
  bytes=$(grep -h rchar /proc/$process/io 2> /dev/null | tr -dc 0-9) && [ -n "$bytes" ] && read=$bytes
  sleep 0.1
done
wait $process
echo "process ${OMPI_COMM_WORLD_RANK:-0}: $((peak / 1024)) MiB, $((read / 1000000)) MB read"
COUNTED

for symbols in bytes chars words; do
  for count in 1 2 3; do
    echo "$symbols, $count:"
    start=(bash counted.sh)
    if [ "$count" -gt 1 ]; then start=(mpirun --oversubscribe -n "$count" "${start[@]}"); fi
    "${start[@]}" "$unfold" train text --symbols "$symbols" --split 99.9/0.1 --model lstm:8 --window 64 --batch 12 \
      --shards 6 --steps 300 --threads 1 --seed 1 --quiet --overwrite --out "run-$count" \
      $(if [ "$symbols" = words ]; then echo --vocabulary 1000; fi)
    cmp run-1/model.safetensors "run-$count/model.safetensors"
  done
done
