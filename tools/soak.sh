#!/usr/bin/env bash
# Runs the soak test for hours: training, kills, resuming, evaluation, compression, decompression and damaged files,
# while memory and open files must not grow. Can be stopped and restarted; it resumes where it stopped. Fails and lists
# the findings.
#
#   tools/soak.sh --hours 24 [--unfold build/release/bin/unfold] [--folder build/soak] [--seed 1]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 tools/attack/soak.py "$@"
