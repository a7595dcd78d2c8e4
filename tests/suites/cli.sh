#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The cli suite: the programs and scripts as a person calls them, good input and bad.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
exec bats --tap tests/cli
