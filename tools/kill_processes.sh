#!/usr/bin/env bash
# Trains in several processes, kills one of them at random moments, resumes with a different number of processes each
# time, and compares the model with that of an uninterrupted single process. The files must be byte-identical. Needs
# MPI.
#
#   tools/kill_processes.sh [UNFOLD [MOMENTS [SEED]]]      default: build/release/bin/unfold 20 1
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

unfold=$(realpath "${1:-build/release/bin/unfold}") moments=${2:-20}
RANDOM=${3:-1}
export UNFOLD_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm=isolated
if ! command -v mpirun >/dev/null; then echo "kill_processes: mpirun is missing; run tools/setup.sh processes" >&2; exit 2; fi
folder=$(mktemp -d)
job=
trap '[ -z "$job" ] || kill "$job" 2>/dev/null; rm -rf "$folder"' EXIT

"$unfold" generate music --size 20000 --seed 1 -o "$folder/text"
train=("$unfold" train "$folder/text" --symbols chars --model lstm:24,dropout=0.2 --batch 12 --window 20 --shards 6
       --steps 150000 --checkpoint-every 10 --validate-every 500 --quiet)
began=$SECONDS
"${train[@]}" --out "$folder/whole" >/dev/null
echo "uninterrupted, in one process: $((SECONDS - began)) s"

# Starts mpirun in the background and sets `job` to its process id. Its child processes run unfold.
start() {
  mpirun -n "$1" --oversubscribe --bind-to none "${@:2}" >"$folder/output" 2>&1 &
  job=$!
}

numbers=(3 2 4 6) killed=0
while [ "$killed" -lt "$moments" ]; do
  count=${numbers[$((killed % ${#numbers[@]}))]}
  if [ -e "$folder/cut/config.toml" ]; then command=("$unfold" train --out "$folder/cut" --resume --quiet)
  else command=("${train[@]}" --out "$folder/cut" --overwrite); fi
  start "$count" "${command[@]}"
  waited=$((700 + RANDOM % 1500))
  sleep "$(printf '%d.%03d' $((waited / 1000)) $((waited % 1000)))"
  mapfile -t children < <(pgrep -P "$job")
  # If a process is killed before mpirun has started the others, mpirun may wait forever.
  while [ ${#children[@]} -lt "$count" ] && kill -0 "$job" 2>/dev/null; do
    sleep 0.1
    mapfile -t children < <(pgrep -P "$job")
  done
  if [ ${#children[@]} = 0 ]; then
    if wait "$job"; then echo "the run ended after $killed kills; increase --steps" >&2; exit 1; fi
    cat "$folder/output" >&2
    exit 1
  fi
  victim=${children[$((RANDOM % ${#children[@]}))]}
  kill -KILL "$victim"
  killed_at=$SECONDS
  if wait "$job"; then echo "process $victim was killed, but the others continued" >&2; exit 1; fi
  job=
  if [ $((SECONDS - killed_at)) -gt 10 ]; then echo "the others took $((SECONDS - killed_at)) s to end" >&2; exit 1; fi
  if ! grep -q "signal 9" "$folder/output"; then
    echo "no process reported which process was killed:" >&2
    cat "$folder/output" >&2
    exit 1
  fi
  killed=$((killed + 1))
done
start 2 "$unfold" train --out "$folder/cut" --resume --quiet
wait "$job"
job=
cmp "$folder/whole/model.safetensors" "$folder/cut/model.safetensors"
echo "killed $killed times and resumed in 2 to 6 processes: the same bytes"
