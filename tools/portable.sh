#!/usr/bin/env bash
# Packs the command with all its libraries, including the loader, into an archive that runs on any Linux system with the
# same processor architecture, regardless of its C library (docs/packages.md).
#
#   tools/portable.sh COMMAND OUT.tar.gz
set -euo pipefail

if [ $# != 2 ]; then echo "usage: tools/portable.sh COMMAND OUT.tar.gz" >&2; exit 2; fi
command=$(realpath "$1") out=$(realpath -m "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
name=$(basename "$out" .tar.gz)
lib=$folder/$name/lib
mkdir -p "$lib"

cp "$command" "$lib/unfold"
strip "$lib/unfold"
loader=
while read -r library; do
  cp -L "$library" "$lib/"
  case $library in */ld-linux*|*/ld64*) loader=$(basename "$library") ;; esac
done < <(ldd "$command" | sed -n 's/^[^/]*\(\/[^ ]*\).*/\1/p')
cp LICENSE "$folder/$name/"
tools/notices.sh "$command" "$folder/$name/THIRD-PARTY-NOTICES.txt"
if [ -z "$loader" ]; then echo "portable: $command has no dynamic loader; it may be statically linked" >&2; exit 1; fi

cat >"$folder/$name/unfold" <<SCRIPT
#!/bin/sh
# Starts the command with the bundled libraries only.
here=\$0
while [ -L "\$here" ]; do
  to=\$(readlink "\$here")
  case \$to in /*) here=\$to ;; *) here=\$(dirname "\$here")/\$to ;; esac
done
here=\$(dirname "\$here")
exec "\$here/lib/$loader" --inhibit-cache --library-path "\$here/lib" "\$here/lib/unfold" "\$@"
SCRIPT
chmod 755 "$folder/$name/unfold"
mkdir -p "$(dirname "$out")"
# Makes archives reproducible.
tar -C "$folder" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -czf "$out" "$name"
echo "$out: $(du -h "$out" | cut -f1), $(find "$lib" -name '*.so*' | wc -l) libraries"
