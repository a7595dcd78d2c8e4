# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Owns a small fleet on this machine: a controller, a signed repository, hosts that boot from disk, and rollouts over them.
# It must not know how a guest is run or how an image is made (tests/fleet/host, image.sh), nor what a rollout should end in.
#
# Sourced; needs FLEET (a folder of its own), BUILD (where the programs are) and tests/lib/step.sh.

PORT_FILE=port
KPCP() { "$BUILD/rollout/kpcp" "$1" --config "$FLEET/controller/kpcp.conf" "${@:2}"; }

# free_port -> a TCP port of the loopback that nobody listens on
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# fleet_packages FOLDER : our own programs as packages, out of the working tree
fleet_packages() {
    rm -rf "$1"
    mkdir -p "$1/src"
    git ls-files -z | tar --null --files-from=- -cf - | tar -C "$1/src" -xf -
    (cd "$1/src" && DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" dpkg-buildpackage -us -uc -b)
    rm -rf "$1/src"
}

# wait_port PORT PID : until somebody listens there; PID must not end before
wait_port() {
    local i
    for ((i = 0; i < 100; i++)); do
        ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null || return 0
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

# controller_start : the controller, on the port that it had before if there was one
controller_start() {
    "$BUILD/rollout/kpcp-rolloutd" --config "$FLEET/controller/rolloutd.conf" >>"$FLEET/log/rolloutd.log" 2>&1 &
    echo $! >"$FLEET/rolloutd.pid"
    wait_port "$(<"$FLEET/$PORT_FILE")" "$(<"$FLEET/rolloutd.pid")" ||
        die "kpcp-rolloutd does not listen; its log: $FLEET/log/rolloutd.log"
}

# ours PIDFILE NAME : the process that the file names, if it is still the program NAME
ours() {
    local pid
    pid=$(cat "$1" 2>/dev/null) || return 1
    [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "${2:0:15}" ] && echo "$pid"
}

# end PIDFILE NAME SIGNAL : ends a process that was started here, and waits for it
end() {
    local pid
    pid=$(ours "$1" "$2") || return 0
    kill -s "$3" "$pid" 2>/dev/null || :
    while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
    rm -f "$1"
}

controller_kill() { end "$FLEET/rolloutd.pid" kpcp-rolloutd KILL; }

# fleet_init DEB... : keys, controller, and a repository that has the packages
fleet_init() {
    local port repo_port
    mkdir -p "$FLEET/log"
    port=$(free_port)
    echo "$port" >"$FLEET/$PORT_FILE"
    "$BUILD/rollout/kpcp" init "$FLEET/controller" --server "IP:127.0.0.1,IP:10.0.2.2" --port "$port" \
        >"$FLEET/log/init.log"
    sed -i 's/^address = .*/address = 127.0.0.1/' "$FLEET/controller/rolloutd.conf"
    printf '\n[agents]\npoll-interval = 10s\nbusy-poll-interval = 3s\n' >>"$FLEET/controller/rolloutd.conf"
    controller_start
    tests/fleet/repo.sh "$FLEET/repo" "$@" >"$FLEET/log/repo.log" 2>&1
    repo_port=$(free_port)
    echo "$repo_port" >"$FLEET/repo-port"
    python3 -m http.server --bind 127.0.0.1 --directory "$FLEET/repo/repo" "$repo_port" >"$FLEET/log/http.log" 2>&1 &
    echo $! >"$FLEET/http.pid"
    wait_port "$repo_port" "$(<"$FLEET/http.pid")" || die "the repository is not served; see $FLEET/log/http.log"
}

# host_start NAME CLUSTER IMAGE : enrols by a token of its own and boots from disk
host_start() {
    local dir=$FLEET/hosts/$1
    mkdir -p "$dir/put"
    KPCP token "$1" --cluster "$2" --ttl 1h >"$dir/put/token" 2>>"$FLEET/log/tokens.log"
    cat >"$dir/put/agent.conf" <<END
[controller]
url = https://10.0.2.2:$(<"$FLEET/$PORT_FILE")
[host]
name = $1
cluster = $2
[programs]
canary = /usr/lib/kpcp-fleet/steady-canary
END
    printf 'deb [signed-by=/etc/apt/keyrings/kpcp.asc] http://10.0.2.2:%s/ fleet main\n' "$(<"$FLEET/repo-port")" >"$dir/put/kpcp.list"
    tests/fleet/host start "$dir" --image "$3" --name "$1" \
        --put "$dir/put/agent.conf:/etc/kpcp/agent.conf" --put "$dir/put/token:/etc/kpcp/token" \
        --put "$FLEET/controller/ca.pem:/etc/kpcp/ca.pem" --put "$FLEET/controller/approver.pub:/etc/kpcp/approver.pub" \
        --put "$dir/put/kpcp.list:/etc/apt/sources.list.d/kpcp.list" \
        --put "$FLEET/repo/key/public.asc:/etc/apt/keyrings/kpcp.asc"
}

# hosts_up COUNT SECONDS : until so many hosts have polled
hosts_up() {
    local begin=$SECONDS n=0
    while [ $((SECONDS - begin)) -lt "$2" ]; do
        n=$(KPCP hosts --json | python3 -c 'import json, sys
print(sum(1 for h in json.load(sys.stdin)["hosts"] if h["release"]))')
        [ "$n" -lt "$1" ] || return 0
        sleep 2
    done
    die "only $n of $1 hosts have reported within $2 s; their consoles: $FLEET/hosts/*/console.log"
}

# rollout NAME WANT TIMEOUT : approves and starts the plan NAME.plan in FLEET/plans, follows it to its end, and checks the
# exit status of `kpcp status --until-done` (0 DONE, 2 taken back, 3 HOLD or time-out)
rollout() {
    local plan=$FLEET/plans/$1.plan status=0
    KPCP plan "$plan"
    KPCP approve "$plan" --key "$FLEET/controller/approver.key"
    KPCP start "$1"
    KPCP status "$1" --until-done --timeout "$3" || status=$?
    [ "$status" -eq "$2" ] && return 0
    KPCP table "$1" || :
    die "the rollout $1 ended with status $status where $2 was due; kpcp history: $FLEET/log/history.txt" \
        "$(KPCP history --limit 1000 >"$FLEET/log/history.txt" 2>&1)"
}

# default_entries FILE : every host's boot loader environment, by the tool itself inside each
default_entries() {
    local h
    for h in "$FLEET"/hosts/*/; do
        h=${h%/}
        printf '%s: ' "${h##*/}"
        tests/fleet/host exec "$h" --timeout 120 -- grub-editenv list | tr '\n' ' '
        echo
    done >"$1"
}

fleet_stop() {
    local h
    for h in "$FLEET"/hosts/*/; do
        [ ! -d "$h" ] || tests/fleet/host stop "${h%/}" >/dev/null 2>&1 || :
    done
    end "$FLEET/rolloutd.pid" kpcp-rolloutd TERM
    end "$FLEET/http.pid" python3 TERM
}
