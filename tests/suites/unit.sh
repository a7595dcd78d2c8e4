#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The unit suite: the cmocka tests, under the address and undefined-behaviour sanitizers.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."

dir=${KPCP_BUILD:-$PWD/build}/unit
[ -f "$dir/build.ninja" ] || meson setup "$dir" . -Db_sanitize=address,undefined -Dwerror=true >/dev/null
ninja -C "$dir" >"$dir/compile.log" || { tail -n 40 "$dir/compile.log"; exit 1; }
export CMOCKA_MESSAGE_OUTPUT=TAP ASAN_OPTIONS=detect_leaks=1:abort_on_error=1 \
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

# Each program speaks TAP; one that ends badly has failed even where its own lines say otherwise.
tests=$(meson introspect --tests "$dir" | python3 -c '
import json, sys
for t in json.load(sys.stdin):
    print(t["name"], t["timeout"], *t["cmd"], sep="\t")')
bad=0
while IFS=$'\t' read -r name timeout command args; do
    status=0
    # shellcheck disable=SC2086 # the arguments are words
    out=$(timeout "$((timeout * 4))" "$command" ${args//$'\t'/ } 2>&1 </dev/null) || status=$?
    grep -qE '^(not )?ok ' <<<"$out" || out+=$'\n'"ok 1 - $name (its exit status)"
    if [ "$status" -ne 0 ] && ! grep -q '^not ok ' <<<"$out"; then
        out+=$'\n'"not ok 0 - $name ended with status $status"
    fi
    [ "$status" -eq 0 ] || bad=1
    # cmocka writes a skipped test's name behind the directive, where it would be taken for the reason.
    sed -E -e 's/^(ok [0-9]+) # SKIP (.*)/\1 - \2 # SKIP/' -e "s/^((not )?ok [0-9]+ - )/\1$name: /" <<<"$out"
done <<<"$tests"
exit $bad
