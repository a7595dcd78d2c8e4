#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Who may include whom (the tree's layers): base -> libc, inih, jansson; core -> base; report -> base, core; trust ->
# base; fleet -> base, core, report; agent and rollout -> all of lib, never each other. lib/core is pure: no I/O, no
# clock, no logging. Each big library is seen by its owners alone.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."

status=0
say() {
    echo "$*"
    status=1
}

# forbid FOLDER REGEX WHY : no #include in the folder may match
forbid() {
    local hits
    hits=$(grep -rnE "^[ \t]*#[ \t]*include[ \t]+[<\"]($2)" "$1" --include='*.c' --include='*.h' || :)
    [ -z "$hits" ] || say "$3:"$'\n'"$hits"
}

forbid lib/base 'lib/(core|report|trust|fleet)/|agent/|rollout/|\.\./' "lib/base includes what stands above it"
forbid lib/core 'lib/(report|trust|fleet)/|agent/|rollout/|\.\./' "lib/core includes what stands above it"
forbid lib/report 'lib/(trust|fleet)/|agent/|rollout/|\.\./' "lib/report includes what stands above it"
forbid lib/trust 'lib/(core|report|fleet)/|agent/|rollout/|\.\./' "lib/trust includes more than lib/base"
forbid lib/fleet 'lib/trust/|agent/|rollout/|\.\./' "lib/fleet includes what stands above it"
forbid agent 'rollout/|\.\./' "agent/ includes rollout/"
[ ! -d rollout ] || forbid rollout 'agent/|\.\./' "rollout/ includes agent/"
forbid lib/core 'stdio\.h|fcntl\.h|unistd\.h|time\.h|sys/|syslog\.h|lib/base/(fs|conf|opt)\.h' "lib/core does I/O, reads a clock or logs"

# only LIBRARY-HEADER OWNERS-REGEX : a library's headers are included by its owners alone
only() {
    local others
    others=$(grep -rsE -l "#[ \t]*include[ \t]+<($1)" lib agent rollout --include='*.c' --include='*.h' |
        grep -vE "^($2)\$" || :)
    [ -z "$others" ] || say "<$1> is seen outside its owners ($2): $others"
}
only 'ini\.h' 'lib/base/conf\.c'
only 'openssl/' 'lib/trust/[a-z0-9_]+\.[ch]|rollout/http(_tls)?\.c'
only 'curl/' 'agent/upload\.c|rollout/client\.c'
only 'event2?/|evhttp\.h' 'rollout/http\.c'
only 'sqlite3\.h' 'rollout/db_sqlite\.c'
only 'bpf/' 'agent/[a-z_]+\.bpf\.c'
calls=$(grep -nE '\b(printf|fprintf|fopen|open|clock_gettime|time|getenv|exit|abort)\(' lib/core/*.c || :)
[ -z "$calls" ] || say "lib/core does I/O, reads a clock or ends the process:"$'\n'"$calls"
exit $status
