# Completion of the command unfold for fish: subcommands and options, as listed by its help.
complete -c unfold -n __fish_use_subcommand -f \
  -a "(unfold --help 2>/dev/null | sed -n '/^Commands:/,/^\$/s/^  \([a-z]*\)  *\([a-z].*\)/\1\t\2/p')"
complete -c unfold -n 'not __fish_use_subcommand' \
  -a "(unfold (commandline -opc)[2] --help-all 2>/dev/null | sed -n 's/^  \(-[^-][^,]*,  *\)\{0,1\}\(--[a-z0-9-]*\).*/\2/p')"
