#!/usr/bin/env bash
# Plots the predicted time of a step in up to 4096 processes, by the model of `bench --distributed`, for three sizes of
# an LSTM and two networks: docs/results/processes-*.svg (docs/processes.md shows two of them), and the tables of that
# page.
#
#   bench/processes.sh [UNFOLD [FOLDER]]            default: build/release/bin/unfold docs/results
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unfold=${1:-build/release/bin/unfold} folder=${2:-docs/results}
for network in "10gbit 1.25e9" "1gbit 0.125e9"; do
  read -r name bandwidth <<<"$network"
  for units in 256 1024 2048; do
    echo "== lstm:$units, $name, 0.1 ms"
    "$unfold" bench --distributed --model "lstm:$units" --batch 32 --latency 1e-4 --bandwidth "$bandwidth" --threads 2 \
      --seconds 3 --plot "$folder/processes-$units-$name.svg"
  done
done
