# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Owns the names of the three kernels that tests and the demo use: stock (unpatched), kpcp (the series), slow (the
# series and a latency fault that only tests have). It must not know how a kernel is built.

# kernel_build VARIANT -> prints the folder with vmlinuz, release and the packages, building it first if need be
kernel_build() {
    local args
    case "$1" in
    stock) args=(--no-series) ;;
    kpcp) args=() ;;
    slow) args=(--patch tests/data/slow-6.1.patch) ;;
    *) echo "no kernel variant '$1'" >&2; return 1 ;;
    esac
    kernel/build.sh --base 6.1 --flavour guest "${args[@]}" deb
}
