#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Calls that the house rules forbid, marks of unfinished work, and paths of one machine, in tracked files.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."

status=0
# look REGEX WHY PATHSPEC...
look() {
    local hits regex=$1 why=$2
    shift 2
    hits=$(git grep -nIE --untracked -e "$regex" -- "$@" ':!tests/lint' ':!LICENSES' || :)
    [ -z "$hits" ] || {
        echo "$why:"$'\n'"$hits"
        status=1
    }
}

look '\b(atoi|atol|atof|strtol|strtoul|strcpy|strcat|sprintf|gets|system|popen)\(' "a call that the house rules forbid" '*.c' '*.h'
look '\b(TO''DO|FIX''ME|X''XX)\b' "a mark of unfinished work" .
look 'assert_true\((1|true)\)' "an assertion that cannot fail" '*.c'
look '(^|[ "'"'"'=])/(root|home/[a-z]+)/' "a path of one machine" ':!tests/fuzz/corpus'
exit $status
