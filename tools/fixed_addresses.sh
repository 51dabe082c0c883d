#!/bin/sh
# Runs a command without address randomisation where the system allows that: the shadow memory of the thread sanitizer
# collides with the wide randomisation of recent kernels ("unexpected memory mapping").
if setarch "$(uname -m)" --addr-no-randomize true 2>/dev/null; then
  exec setarch "$(uname -m)" --addr-no-randomize "$@"
fi
exec "$@"
