#!/usr/bin/env bash
# Installs the build dependencies of Unfold on Debian 12, Ubuntu 22.04 and later. Exits quickly if all are installed.
#
#   tools/setup.sh [build|test|lint|prose|fuzz|attack|site|python|package|processes]...      without arguments: build and test
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly needed_cmake=3.25

packages_of() {
  case $1 in
    build) echo g++ cmake ninja-build pkg-config ccache libhwy-dev libfmt-dev nlohmann-json3-dev libcli11-dev \
                libtomlplusplus-dev zlib1g-dev liblzma-dev libzstd-dev libutf8proc-dev libpcre2-dev libsodium-dev \
                libjs-chart.js libpng-dev ;;
    test) echo libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev libeigen3-dev python3 ;;
    lint) echo clang clang-format clang-tidy ;;
    prose) echo codespell python3 ;;
    fuzz) echo clang "$(clang_runtime)" ;;
    attack) echo python3 faketime ;;
    site) echo python3 python3-venv libjs-katex fonts-katex ;;
    python) echo python3-dev python3-venv ;;
    package) echo file dpkg-dev ;;  # CPack determines dependencies with them
    processes) echo libopenmpi-dev openmpi-bin ;;  # optional: `mpirun -n K unfold train`
    *) echo "setup: unknown group '$1'; the groups are build, test, lint, prose, fuzz, attack, site, python, package and processes" >&2; exit 2 ;;
  esac
}

# The sanitizers and fuzzer of clang are in a separate package, whose name depends on the version.
clang_runtime() {
  local name
  for name in libclang-rt-dev libclang-rt-14-dev; do
    if installed "$name" || apt-cache show "$name" >/dev/null 2>&1; then echo "$name"; return; fi
  done
  echo libclang-common-14-dev
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

at_least() { [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }  # at_least WANTED FOUND

# Ubuntu 22.04 has CMake 3.22. Installs a newer version from PyPI into the build folder, where the Makefile finds it.
provide_cmake() {
  local found
  found=$(cmake --version 2>/dev/null | sed -n 's/^cmake version \([0-9.]*\).*/\1/p')
  if [ -n "$found" ] && at_least "$needed_cmake" "$found"; then return; fi
  if [ -x build/tools/bin/cmake ]; then return; fi
  echo "setup: CMake $needed_cmake is required (found: ${found:-none}): installing it into build/tools"
  if ! python3 -c 'import ensurepip' 2>/dev/null; then install_packages python3-venv; fi
  python3 -m venv build/tools
  build/tools/bin/pip install --quiet "cmake>=$needed_cmake,<4"
}

# Installs MkDocs and its theme from PyPI, in the versions that the site was tested with.
provide_mkdocs() {
  if cmp -s tools/site/requirements.txt build/site-tools/requirements.txt; then return; fi
  echo "setup: installing MkDocs into build/site-tools"
  python3 -m venv build/site-tools
  build/site-tools/bin/pip install --quiet -r tools/site/requirements.txt
  cp tools/site/requirements.txt build/site-tools/
}

install_packages() {
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    echo "setup: these packages are missing and only root can install them:" >&2
    echo "  apt-get install $*" >&2
    exit 1
  fi
  echo "setup: installing $*"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends "$@" >/dev/null
}

main() {
  local group list name names wanted=() missing=()
  [ $# -gt 0 ] || set -- build test
  for group in "$@"; do
    list=$(packages_of "$group")  # not inside <<<"...", which would hide its failure
    read -ra names <<<"$list"
    wanted+=("${names[@]}")
  done
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "setup: apt is missing; install the equivalents of these Debian packages: ${wanted[*]}" >&2
    if command -v cmake >/dev/null && command -v c++ >/dev/null; then exit 0; fi  # CMake reports what is missing
    exit 1
  fi
  for name in "${wanted[@]}"; do
    installed "$name" || missing+=("$name")
  done
  if [ ${#missing[@]} -gt 0 ]; then install_packages "${missing[@]}"; fi
  case " $* " in *" build "*) provide_cmake ;; esac
  case " $* " in *" site "*) provide_mkdocs ;; esac
}

main "$@"
