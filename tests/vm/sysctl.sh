#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns what vm.pcp_batch_scale_max promises to whoever reads and writes it. It must not know what the value does.
# usage, in a guest: sysctl.sh present [DEFAULT] | absent

set -euo pipefail

file=/proc/sys/vm/pcp_batch_scale_max
default=${2-5}

fail() {
    echo "sysctl.sh: error: $*" >&2
    exit 1
}

reads() { # VALUE CONTEXT
    local now
    now=$(<"$file")
    [[ $now == "$1" ]] || fail "$file reads '$now' where '$1' is right: $2"
}

accepts() {
    local message
    message=$({ printf '%s' "$1" >"$file"; } 2>&1) || fail "writing '$1' to $file failed: $message"
    reads "$1" "after writing it"
}

refuses() { # VALUE: EINVAL, and nothing changed
    local message before
    before=$(<"$file")
    if message=$({ printf '%s' "$1" >"$file"; } 2>&1); then
        fail "writing '$1' to $file succeeded, which must fail with EINVAL"
    fi
    [[ $message == *'Invalid argument'* ]] || fail "writing '$1' to $file failed with '$message' instead of EINVAL"
    reads "$before" "after '$1' was refused"
}

case ${1-} in
absent)
    [[ ! -e $file ]] || fail "$file exists in $(uname -r), a kernel without the series"
    echo "## sysctl: vm.pcp_batch_scale_max is absent, as it must be in $(uname -r)"
    ;;
present)
    [[ -e $file ]] || fail "$file is missing in $(uname -r); was the series applied to it?"
    [[ $(stat -c '%a %u' "$file") == '644 0' ]] || fail "$file has mode and owner $(stat -c '%a %u' "$file"), not 644 0"
    reads "$default" "CONFIG_PCP_BATCH_SCALE_MAX is what it begins with"
    for value in 0 1 2 3 4 5 6; do accepts "$value"; done
    # The last two would be 5 if they were cut to 32 bits or at the first character that is no digit.
    for value in -1 7 x 4294967301 5x; do refuses "$value"; done
    accepts "$default"
    echo "## sysctl: vm.pcp_batch_scale_max reads $default, takes 0 to 6, refuses -1, 7, x, 4294967301 and 5x with EINVAL"
    ;;
*) fail "usage: sysctl.sh present [DEFAULT] | absent" ;;
esac
