#!/usr/bin/env bash
# Tests the robustness of the command: damaged files of every format with correct checksums, unusual files, kills, signals,
# full disks, disappearing files, resource limits, races, clock changes, identical bits for all thread counts and instruction
# sets, and scores that do not depend on earlier input. Prints a table of the outcomes. Fails if the command crashed, hung,
# ended with an undocumented exit code, or gave a wrong result without a message. Findings, with the file and the command line
# that reproduce them, are in build/attack/findings.
#
#   tools/attack.sh [--short] [--share 1] [--seed 1] [--stage NAME] [--unfold build/release/bin/unfold] [--folder build/attack]
#
# For a million files: build with cmake --build --preset release --target unfold_forks; with --forks
# build/release/tests/cli/unfold-forks the command runs in forks of one process, which is three times as fast. A folder in
# memory (--folder /dev/shm/attack) avoids waiting for the disk.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 tools/attack/campaign.py "$@"
