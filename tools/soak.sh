#!/usr/bin/env bash
# Works the command for hours: train, kill, resume, evaluate, compress, decompress, damaged files, memory and open files
# flat. Can be stopped and called again: it goes on where it was. Fails with what it found.
#
#   tools/soak.sh --hours 24 [--unfold build/release/bin/unfold] [--folder build/soak] [--seed 1]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 tools/attack/soak.py "$@"
