#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 10,000 hosts over 100 blocks before the judge and the brake: time and memory.
set -euo pipefail
exec "${KPCP_BUILD:?run ./dev bench}/tests/bench/bench_judge_large"
