#!/usr/bin/env bash
# Installs the latest PyTorch and pytorch-crf with pip into a virtual environment, for the comparisons in this folder.
# The x86-64 wheel includes the CUDA libraries (5.4 GB on disk in total); it also works on a CPU without a GPU.
#
#   bench/peers/install.sh [FOLDER]      default: build/peers
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=${1:-build/peers}

if ! "$folder/bin/python" -c 'import torch, torchcrf' 2>/dev/null; then
  free=$(df -Pk . | awk 'NR == 2 {print int($4 / 1048576)}')
  if [ "$free" -lt 8 ]; then
    echo "install: the installation of PyTorch needs 8 GB, but only $free GB are free here" >&2
    exit 1
  fi
  if ! python3 -c 'import ensurepip' 2>/dev/null; then
    echo "install: python3 cannot create virtual environments; on Debian: apt-get install python3-venv" >&2
    exit 1
  fi
  python3 -m venv "$folder"
  "$folder/bin/pip" install --quiet --no-cache-dir torch numpy pytorch-crf
fi
"$folder/bin/python" -c "import torch; print(\"PyTorch\", torch.__version__, \"in $folder\")"
