#!/usr/bin/env bash
# Runs every fuzz target of build/asan-ubsan for SECONDS, one per processor at a time. New inputs are stored in
# build/fuzz/corpus; the inputs in tests/fuzz/corpus are not modified. tests/fuzz/dictionaries has tokens of the
# formats. Fails at the first finding and names its input.
#
#   tools/fuzz.sh [SECONDS] [SEED]
#
# Without a seed, or with 0, inputs differ on every run. CI sets a seed, so that a change cannot fail because of random
# inputs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-60}
export seed=${2:-0}

fuzz_one() {  # fuzz_one PROGRAM SECONDS
  local name corpus=() words=() log
  name=$(basename "$1")
  log=build/fuzz/log/$name.txt
  mkdir -p "build/fuzz/corpus/$name" build/fuzz/findings build/fuzz/log
  if [ -d "tests/fuzz/corpus/$name" ]; then corpus=("tests/fuzz/corpus/$name"); fi
  if [ -f "tests/fuzz/dictionaries/$name.dict" ]; then words=(-dict="tests/fuzz/dictionaries/$name.dict"); fi
  if "$1" -max_total_time="$2" -seed="$seed" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 "${words[@]}" \
      -artifact_prefix="build/fuzz/findings/$name-" "build/fuzz/corpus/$name" "${corpus[@]}" >"$log" 2>&1; then
    echo "fuzz: $name: no finding, $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs"
  else
    tail -n 60 "$log"
    echo "fuzz: $name FAILED; log in $log, input in build/fuzz/findings"
    return 1
  fi
}
export -f fuzz_one

mapfile -t programs < <(find build/asan-ubsan/tests/fuzz -maxdepth 1 -type f -executable 2>/dev/null | sort)
if [ ${#programs[@]} = 0 ]; then
  echo "fuzz: no targets in build/asan-ubsan/tests/fuzz; run 'make fuzz'" >&2
  exit 1
fi
printf '%s\n' "${programs[@]}" | xargs -P "$(nproc)" -I {} bash -c 'fuzz_one "$@"' _ {} "$seconds"
