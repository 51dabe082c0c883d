# Completion of the command unfold for bash: subcommands and options, as listed by its help.
_unfold() {
  local current=${COMP_WORDS[COMP_CWORD]} words
  if [ "$COMP_CWORD" -eq 1 ]; then
    words=$(unfold --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  *[a-z].*/\1/p')
  elif [[ $current == -* ]]; then
    words=$(unfold "${COMP_WORDS[1]}" --help-all 2>/dev/null | sed -n 's/^  \(-[^-][^,]*,  *\)\{0,1\}\(--[a-z0-9-]*\).*/\2/p')
  fi
  if [ -n "$words" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _unfold unfold
