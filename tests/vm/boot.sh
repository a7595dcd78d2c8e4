#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns the simplest thing to ask of a guest: that the kernel which was built is the one that runs. It must not know more.
# usage, in a guest: boot.sh RELEASE

set -euo pipefail

expected=${1:?usage: boot.sh RELEASE}
running=$(uname -r)
if [[ $running != "$expected" ]]; then
    echo "boot.sh: error: the guest runs $running where $expected was to boot; check which image was given to --kernel" >&2
    exit 1
fi
cat /proc/version
