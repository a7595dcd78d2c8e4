#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
#
# kpcp-canary import: published histograms are shown and held, whatever they look like; bad ones are refused.

load canary.sh

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    printf '# run time of a function\n# source: a list\n0 511 0\n512 1023 900\n1024 2047 100\n' >old.txt
    printf '# the same, patched\n0 511 1000\n' >new.txt
}

import() {
    run --separate-stderr "$CANARY" import "$@"
}

@test "held, with the reasons and what to do, also as JSON; the same bytes twice" {
    import old.txt new.txt
    [ "$status" -eq 3 ]
    [[ $output == *"verdict: HOLD"*"No controls"*"kpcp-canary record"* ]]
    first=$output
    import old.txt new.txt
    [ "$output" = "$first" ]
    import --json old.txt new.txt
    [ "$status" -eq 3 ]
    python3 -c 'import json, sys; json.loads(sys.argv[1])' "$output"
    [[ $output != *PROMOTE* ]]
}

@test "refused: damaged, empty, missing, one alone" {
    import old.txt
    refused "OLD NEW"
    import old.txt missing.txt
    refused missing.txt
    printf '0 511 10\n400 900 1\n' >bad.txt
    import old.txt bad.txt
    refused bad.txt:2
    : >empty.txt
    import empty.txt new.txt
    refused empty.txt
    printf '0 511 nan\n' >bad.txt
    import bad.txt new.txt
    refused bad.txt:1 nan
    head -c 2000000 /dev/zero >bad.txt
    import bad.txt new.txt
    refused bad.txt
}
