#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every file says its licence near its top: kernel patches GPL-2.0-only, BPF programs GPL-2.0-only OR BSD-2-Clause,
# all else Apache-2.0. Exempt: licence texts, and formats that have no comments.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."

status=0
while read -r f; do
    [ -f "$f" ] || continue
    case "$f" in
    LICENSES/* | debian/changelog | debian/copyright | debian/source/format | tests/fuzz/corpus/* | *.json | *.golden | tests/*/golden/* | tests/*/fixtures/*) continue ;;
    *.patch) want='GPL-2.0-only' ;;
    *.bpf.c) want='GPL-2.0-only OR BSD-2-Clause' ;;
    *) want='Apache-2.0' ;;
    esac
    if ! head -n 30 "$f" | grep -qE "SPDX-License-Identifier: $want( -->| \*/)?\$"; then
        echo "$f: no 'SPDX-License-Identifier: $want' in its first lines; add it"
        status=1
    fi
done < <(git ls-files --cached --others --exclude-standard)
exit $status
