#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns killing a fleet's programs at moments drawn from a seed, while a rollout runs in it. It must not know what the
# rollout does, nor what it should end in.
#
#   tests/fleet/chaos.sh FLEET SEED AGENT-KILLS CONTROLLER-KILLS SECONDS
#
# An agent's processes are killed with SIGKILL (one of the two, or both) on a host drawn by the seed; the service manager
# starts it again. The controller is killed with SIGKILL, left dead for up to 20 s, and started again.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
. tests/lib/step.sh
[ $# -eq 5 ] || die "usage: tests/fleet/chaos.sh FLEET SEED AGENT-KILLS CONTROLLER-KILLS SECONDS"
FLEET=$1
RANDOM=$2
BUILD=${KPCP_BUILD:-$PWD/build}
. tests/fleet/lib.sh

hosts=("$FLEET"/hosts/*/)
moments=()
for ((i = 0; i < $3; i++)); do moments+=("$(((RANDOM * 32768 + RANDOM) % $5)) agent"); done
for ((i = 0; i < $4; i++)); do moments+=("$(((RANDOM * 32768 + RANDOM) % $5)) controller"); done
echo "chaos: seed $2, $3 kills of agents and $4 of the controller within $5 s"

agent() {
    local host=${hosts[RANDOM % ${#hosts[@]}]%/} how='both processes' what=(pkill -KILL -x kpcp-agent)
    case $((RANDOM % 3)) in
    0) how='the actor' what=(pkill -KILL -x -u root kpcp-agent) ;;
    1) how='the talker' what=(pkill -KILL -x -u kpcp-agent kpcp-agent) ;;
    esac
    # A host that is just rebooting has no agent to kill: the kill is tried until there is one.
    until tests/fleet/host exec "$host" --timeout 60 -- "${what[@]}" >/dev/null 2>&1; do sleep 1; done
    echo "chaos: $((SECONDS - begin)) s: killed $how of ${host##*/}, which was: $(KPCP hosts --json 2>/dev/null | python3 -c '
import json, sys
for h in json.load(sys.stdin)["hosts"]:
    if h["name"] == sys.argv[1]: print(h["state"], h["outcome"])' "${host##*/}" || echo '(the controller is away)')"
}

controller() {
    controller_kill
    echo "chaos: $((SECONDS - begin)) s: killed the controller"
    sleep $((RANDOM % 20))
    controller_start
}

begin=$SECONDS
while read -r at what; do
    while [ $((SECONDS - begin)) -lt "$at" ]; do sleep 0.2; done
    "$what"
done < <(printf '%s\n' "${moments[@]}" | sort -n)
echo "chaos: done after $((SECONDS - begin)) s"
