#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The cost of the histogram and of the recording's byte form.
set -euo pipefail
exec "${KPCP_BUILD:?run ./dev bench}/tests/bench/bench_core"
