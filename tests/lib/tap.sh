# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Owns the TAP that suites written in shell speak. Sourced by tests/suites/*.sh.

tap_n=0
tap_failed=0

# tap NAME COMMAND... : one test; its output is shown, as comments, when it fails
tap() {
    # A test sees these, as bash scopes by call: the prefix keeps them apart from its own.
    local tap_name=$1 tap_out tap_status=0
    shift
    tap_n=$((tap_n + 1))
    # Not "|| status=$?": that would switch errexit off inside the test, and its last command alone would count.
    set +e
    tap_out=$(set -e; "$@" 2>&1 </dev/null)
    tap_status=$?
    set -e
    if [ "$tap_status" -eq 0 ]; then
        echo "ok $tap_n - $tap_name"
        # What a passing test wants seen, it prefixes itself.
        grep '^## ' <<<"$tap_out" || :
    else
        tap_failed=$((tap_failed + 1))
        echo "not ok $tap_n - $tap_name"
        tail -n 60 <<<"$tap_out" | sed 's/^/# /'
    fi
}

tap_end() {
    echo "1..$tap_n"
    [ "$tap_failed" -eq 0 ]
}
