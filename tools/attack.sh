#!/usr/bin/env bash
# Attacks the command: damaged files of every format with right checksums, odd files, kills, signals, full disks, vanishing
# files, limits, races, clocks that jump, the same bits whatever the machine, and the same scores whatever was read before.
# Prints a table of what happened; fails if anything crashed, hung, ended with a code that the manual does not name, or gave
# a wrong result without a message. Findings, with the file and the command line that show them, are in build/attack/findings.
#
#   tools/attack.sh [--short] [--share 1] [--seed 1] [--stage NAME] [--unfold build/release/bin/unfold] [--folder build/attack]
#
# For a million files: cmake --build --preset release --target unfold_forks, and with --forks
# build/release/tests/cli/unfold-forks the command runs in copies of one process, three times as many in an hour; a folder in
# memory (--folder /dev/shm/attack) spares the disk their syncs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 tools/attack/campaign.py "$@"
