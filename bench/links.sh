#!/usr/bin/env bash
# Measures `bench --distributed` between two processes with a limited link between them, as two machines have it: each
# process in a network of its own. Needs root, MPI, ip and tc (iproute2).
#
#   bench/links.sh [UNFOLD [MODEL [BATCH [FOLDER]]]]         default: build/release/bin/unfold lstm:512 32
#
# With a folder: also writes what both do in three steps there, a trace for each link (chrome://tracing, Perfetto).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unfold=$(realpath "${1:-build/release/bin/unfold}") model=${2:-lstm:512} batch=${3:-32} traces=${4:+$(realpath "$4")}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for tool in mpirun ip tc; do
  command -v "$tool" >/dev/null || { echo "links: there is no $tool" >&2; exit 2; }
done
[ "$(id -u)" = 0 ] || { echo "links: networks are made by root" >&2; exit 2; }

folder=$(mktemp -d)
spaces=("unfold-$$-0" "unfold-$$-1")
clean() {
  for space in "${spaces[@]}"; do ip netns delete "$space" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap clean EXIT

for space in "${spaces[@]}"; do ip netns add "$space"; ip -n "$space" link set lo up; done
ip -n "${spaces[0]}" link add name wire type veth peer name wire netns "${spaces[1]}"
for i in 0 1; do
  ip -n "${spaces[$i]}" address add "10.77.0.$((i + 1))/24" dev wire
  ip -n "${spaces[$i]}" link set wire up
done

# mpirun starts its helper on the other machine by this instead of ssh: `agent HOST COMMAND...`.
cat >"$folder/agent" <<AGENT
#!/bin/sh
shift
exec ip netns exec ${spaces[1]} unshare --uts sh -c 'hostname unfold-other; exec sh -c "\$0"' "\$*"
AGENT
chmod +x "$folder/agent"

# Sets what the link lets through, and how late: RATE DELAY; nothing: all. A kernel without netem has no delay to give.
limit() {
  for space in "${spaces[@]}"; do
    tc -n "$space" qdisc delete dev wire root 2>/dev/null || true
    [ $# = 0 ] || tc -n "$space" qdisc add dev wire root netem rate "$1" delay "$2" limit 100000 2>/dev/null ||
      { tc -n "$space" qdisc add dev wire root tbf rate "$1" burst 256k latency 50ms && late="no delay: this kernel has no netem"; }
  done
}

measure() {
  ip netns exec "${spaces[0]}" mpirun -n 2 --host 10.77.0.1,10.77.0.2 --bind-to none \
    --mca plm_rsh_agent "$folder/agent" --mca btl self,tcp --mca btl_tcp_if_include 10.77.0.0/24 \
    --mca oob_tcp_if_include 10.77.0.0/24 --mca orte_keep_fqdn_hostnames 1 \
    "$unfold" bench --distributed --model "$model" --batch "$batch" --threads 1 "$@" | sed '/^$/,$d'
}
for link in "" "10gbit 0.1ms" "1gbit 0.1ms"; do
  late=
  # shellcheck disable=SC2086
  limit $link
  echo "== ${link:-without a limit}${late:+ ($late)}"
  name=${link:-unlimited}
  measure ${traces:+--trace "$traces/step-${name%% *}.json"}
done
