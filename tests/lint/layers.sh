#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Who may include whom (the tree's layers): base -> libc, inih, jansson; core -> base; agent -> base, core.
# lib/core is pure: no I/O, no clock, no logging. <json> by few, inih by lib/base/conf.c alone.
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

forbid lib/base 'lib/core/|agent/|rollout/|\.\./' "lib/base includes what stands above it"
forbid lib/core 'agent/|rollout/|\.\./' "lib/core includes what stands above it"
forbid agent 'rollout/|\.\./' "agent/ includes rollout/"
forbid lib/core 'stdio\.h|fcntl\.h|unistd\.h|time\.h|sys/|syslog\.h|lib/base/(fs|conf|opt)\.h' "lib/core does I/O, reads a clock or logs"
forbid lib 'curl/|openssl/|bpf/' "lib/ uses a library that only its owner may"
others=$(grep -rlE '#[ \t]*include[ \t]+<ini\.h>' lib agent --include='*.c' --include='*.h' | grep -v '^lib/base/conf\.c$' || :)
[ -z "$others" ] || say "inih is seen outside lib/base/conf.c: $others"
calls=$(grep -nE '\b(printf|fprintf|fopen|open|clock_gettime|time|getenv|exit|abort)\(' lib/core/*.c || :)
[ -z "$calls" ] || say "lib/core does I/O, reads a clock or ends the process:"$'\n'"$calls"
exit $status
