#!/usr/bin/env bash
# Measures `bench --distributed` between two processes on one machine, connected by a link with limited rate and added
# delay. Each process has a separate network namespace. Needs root, MPI, iproute2 and a compiler.
#
#   bench/links.sh [UNFOLD [MODEL [BATCH [FOLDER]]]]         default: build/release/bin/unfold lstm:512 32
#
# With FOLDER: also writes traces of three steps of both processes for each link (chrome://tracing, Perfetto).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unfold=$(realpath "${1:-build/release/bin/unfold}") model=${2:-lstm:512} batch=${3:-32} traces=${4:+$(realpath "$4")}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for tool in mpirun ip "${CXX:-c++}"; do
  command -v "$tool" >/dev/null || { echo "links: $tool is missing" >&2; exit 2; }
done
[ "$(id -u)" = 0 ] || { echo "links: only root can create network namespaces" >&2; exit 2; }

folder=$(mktemp -d)
spaces=("unfold-$$-0" "unfold-$$-1")
wire=
clean() {
  [ -z "$wire" ] || kill "$wire" 2>/dev/null || true
  for space in "${spaces[@]}"; do ip netns delete "$space" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap clean EXIT

for space in "${spaces[@]}"; do ip netns add "$space"; ip -n "$space" link set lo up; done
"${CXX:-c++}" -std=c++20 -O2 -o "$folder/slow_link" bench/slow_link.cpp

# Connects the two namespaces. Arguments: RATE DELAY FRAME in bits per second, seconds and bytes; none: at the speed of
# the kernel. A frame of segmentation offload takes at most 50 us at this rate, because it arrives as a whole.
connect() {
  [ -z "$wire" ] || { kill "$wire"; wait "$wire" 2>/dev/null || true; }
  ip -n "${spaces[0]}" link delete wire 2>/dev/null || true
  wire=
  if [ $# = 0 ]; then
    ip -n "${spaces[0]}" link add name wire type veth peer name wire netns "${spaces[1]}"
  else
    "$folder/slow_link" "${spaces[@]}" wire "$1" "$2" >"$folder/ready" &
    wire=$!
    until [ -s "$folder/ready" ]; do kill -0 "$wire"; sleep 0.1; done
    rm "$folder/ready"
  fi
  for i in 0 1; do
    ip -n "${spaces[$i]}" address add "10.77.0.$((i + 1))/24" dev wire
    [ $# = 0 ] || ip -n "${spaces[$i]}" link set wire gso_max_size "$3"
    ip -n "${spaces[$i]}" link set wire up
  done
}

# mpirun starts its daemon on the other machine with this script instead of ssh: `agent HOST COMMAND...`.
cat >"$folder/agent" <<AGENT
#!/bin/sh
shift
exec ip netns exec ${spaces[1]} unshare --uts sh -c 'hostname unfold-other; exec sh -c "\$0"' "\$*"
AGENT
chmod +x "$folder/agent"

measure() {
  ip netns exec "${spaces[0]}" mpirun -n 2 --host 10.77.0.1,10.77.0.2 --bind-to none \
    --mca plm_rsh_agent "$folder/agent" --mca btl self,tcp --mca btl_tcp_if_include 10.77.0.0/24 \
    --mca oob_tcp_if_include 10.77.0.0/24 --mca orte_keep_fqdn_hostnames 1 \
    "$unfold" bench --distributed --model "$model" --batch "$batch" --threads 1 "$@" | sed '/^$/,$d'
}
for link in "" "10e9 1e-4 62500" "1e9 1e-4 6250"; do
  # shellcheck disable=SC2086
  connect $link
  echo "== ${link:-without a limit}${link:+ (bits per second, delay in seconds, largest frame)}"
  name=${link:-unlimited}
  measure ${traces:+--trace "$traces/step-${name%% *}.json"}
done
