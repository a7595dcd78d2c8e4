# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Owns the TAP that suites written in shell speak. Sourced by tests/suites/*.sh.

tap_n=0
tap_failed=0

# tap NAME COMMAND... : one test; its output is shown, as comments, when it fails
tap() {
    local name=$1 out status=0
    shift
    tap_n=$((tap_n + 1))
    # Not "|| status=$?": that would switch errexit off inside the test, and its last command alone would count.
    set +e
    out=$(set -e; "$@" 2>&1 </dev/null)
    status=$?
    set -e
    if [ "$status" -eq 0 ]; then
        echo "ok $tap_n - $name"
        # What a passing test wants seen, it prefixes itself.
        grep '^## ' <<<"$out" || :
    else
        tap_failed=$((tap_failed + 1))
        echo "not ok $tap_n - $name"
        tail -n 60 <<<"$out" | sed 's/^/# /'
    fi
}

tap_end() {
    echo "1..$tap_n"
    [ "$tap_failed" -eq 0 ]
}
