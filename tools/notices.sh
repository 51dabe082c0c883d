#!/usr/bin/env bash
# Writes the copyright notices of the libraries that a package carries: those that the program was linked with, and those
# that are compiled into it. The texts are those of the Debian packages, /usr/share/doc/*/copyright.
#
#   tools/notices.sh PROGRAM OUT.txt
set -euo pipefail

if [ $# != 2 ]; then echo "usage: tools/notices.sh PROGRAM OUT.txt" >&2; exit 2; fi
program=$1 out=$2

compiled_in() { printf '%s\n' nlohmann-json3-dev libcli11-dev libtomlplusplus-dev libjs-chart.js libhwy-dev; }

linked() {
  ldd "$program" | sed -n 's/^[^/]*\(\/[^ ]*\).*/\1/p' | while read -r library; do
    library=$(readlink -f "$library")  # /lib may be a link to /usr/lib, and either path be that of the package
    { dpkg-query --search "$library" || dpkg-query --search "${library#/usr}"; } 2>/dev/null | sed -n '1s/[:,].*//p'
  done
}

{
  echo "This package carries the following software, under these licenses."
  for package in $( (compiled_in; linked) | LC_ALL=C sort -u); do
    notice=/usr/share/doc/$package/copyright
    if [ ! -r "$notice" ]; then echo "notices: $notice is missing" >&2; exit 1; fi
    printf '\n%s\n%s\n\n' "$(printf '=%.0s' {1..80})" "$package $(dpkg-query --show --showformat '${Version}' "$package")"
    cat "$notice"
  done
} > "$out"
echo "$out: $(grep -c '^=\{80\}$' "$out") packages"
