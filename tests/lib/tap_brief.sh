#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns what a person sees of a suite while it runs: failures with what follows them, comments, and a dot for
# each test that passed. The whole text is in the log.
set -euo pipefail

awk '
    function flush_dots() { if (dots) { printf "\n"; dots = 0 } }
    /^[ \t]*not ok / { flush_dots(); print; bad = 1; next }
    /^[ \t]*ok .*# [Ss][Kk][Ii][Pp]/ { flush_dots(); print; bad = 0; next }
    /^[ \t]*ok / { printf "."; dots++; if (dots == 80) flush_dots(); fflush(); bad = 0; next }
    /^## / { flush_dots(); print substr($0, 4); fflush(); next }
    bad { print }
    END { flush_dots() }
'
