#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns the adding up of a TAP log: prints "passed failed skipped". A skip that tests/skips.txt does not list is
# a failure when CI=true. It must not know which suite wrote the log.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
awk -v ci="${CI:-}" '
    FNR == NR {
        if ($0 !~ /^#/ && $0 != "") { sub(/[ \t]*\|.*/, ""); allowed[$0] = 1 }
        next
    }
    /^[ \t]*not ok / { failed++; next }
    /^[ \t]*ok / {
        if (match($0, /# [Ss][Kk][Ii][Pp]/)) {
            name = substr($0, 1, RSTART - 1)
            sub(/^[ \t]*ok [0-9]+ (- )?/, "", name); sub(/[ \t]+$/, "", name)
            if (ci == "true" && !(name in allowed)) {
                print "unexpected skip: " name > "/dev/stderr"
                failed++
            } else
                skipped++
        } else
            passed++
    }
    END { print passed + 0, failed + 0, skipped + 0 }
' "$here/../skips.txt" "$1"
