#!/usr/bin/env bash
# Generates the manual pages of the command and its subcommands from their help: unfold.1.gz, unfold-train.1.gz, ...
#
#   tools/manual.sh build/release/bin/unfold build/release/manual
set -euo pipefail
unfold=$1
folder=$2
rm -rf "$folder"
mkdir -p "$folder"
version=$("$unfold" --version | cut -d' ' -f2)

page() {  # page NAME SUMMARY SEE-ALSO COMMAND...
  local name=$1 summary=$2 see=$3
  shift 3
  {
    printf '.TH "%s" 1 "" "Unfold %s" "User Commands"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n' \
      "${name^^}" "$version" "$name" "$summary"
    "$@" | sed 's/\\/\\e/g; s/-/\\-/g; s/^\([.'"'"']\)/\\\&\1/'
    printf '.fi\n.SH "SEE ALSO"\n%s\n' "$see"
  } | gzip -9n >"$folder/$name.1.gz"
}

verbs=$("$unfold" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  *\([a-z].*\)/\1\t\2/p')
all=$(cut -f1 <<<"$verbs" | sed 's/.*/unfold\\-&(1)/' | paste -sd, | sed 's/,/, /g')
page unfold "learns the structure of sequences" "$all" "$unfold" --help
while IFS=$'\t' read -r verb summary; do
  page "unfold-$verb" "$summary" "unfold(1)" "$unfold" "$verb" --help-all
done <<<"$verbs"
