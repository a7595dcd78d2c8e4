#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs in a guest: one boot's recording. Arguments: the build folder, a seed.
set -euo pipefail
echo "kernel: $(uname -r), $(getconf _NPROCESSORS_ONLN) CPUs"
exec "$1/agent/kpcp-canary" record --out "$KPCP_OUT/recording.kpcp" --host "$KPCP_NAME" --seed "$2" \
    --storms 50 --warmup 2 --storm 2x32M --storm-cpus 0-1 --victim-cpus 2-3 --burst 128 --period 20ms --window 3400ms
