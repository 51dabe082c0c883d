#!/bin/sh
# Runs a command without address space randomization, if the system allows that. The shadow memory of ThreadSanitizer
# conflicts with the high-entropy randomization of recent kernels ("unexpected memory mapping").
if setarch "$(uname -m)" --addr-no-randomize true 2>/dev/null; then
  exec setarch "$(uname -m)" --addr-no-randomize "$@"
fi
exec "$@"
