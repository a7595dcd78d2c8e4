#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns the proof that the bounds of vm.rst hold on every path that takes zone->lock for a CPU's lists: refills, frees of
# small pages, of orders up to 3 and of huge pages, the drain of a CPU that goes offline; and that a lower value acts on
# the next call. It must not know how holds are seen.
# usage, in a guest: paths.sh [S...], default 0 5

set -euo pipefail

. tests/vm/trace.sh

# In which way the kernel bounds frees: kernels that show high_min free one batch in a hold, whatever the scale is, and
# fill by batch << S; the others free batch << S, and fill by one batch.
read_bounds() { # S
    free_limit=$batch alloc_limit=$((batch << $1))
    ((pieces)) || free_limit=$((batch << $1)) alloc_limit=$batch
}

check_hold() { # WHAT KIND ORDER ENTRIES PAGES
    local what=$1 kind=$2 order=$3 entries=$4 pages_held=$5 most most_pages
    if [[ $kind == free ]]; then
        most=$free_limit most_pages=$((free_limit + (1 << order) - 1))
    elif ((order == 0)); then
        most=$alloc_limit most_pages=$alloc_limit
    else
        most=$((batch >> order > 2 ? batch >> order : 2)) most_pages=$((most << order))
    fi
    if ((entries > most || pages_held > most_pages)); then
        wrong+=("$what: one hold of zone->lock ($kind, order $order) took $entries entries, $pages_held pages; the most are $most and $most_pages")
    fi
    [[ $kind != free ]] || ((pages_held <= free_most)) || free_most=$pages_held
    [[ $kind != alloc ]] || ((pages_held <= alloc_most)) || alloc_most=$pages_held
    seen_kinds+=" $kind$order"
}

lost() { cat "$tracing"/per_cpu/cpu*/stats | awk '/overrun:|dropped events:/ { n += $NF } END { print n + 0 }'; }

# path WHAT COMMAND...: runs it, which switches tracing on and off, and checks each hold that was seen
path() {
    local what=$1 cpu kind order entries held
    shift
    free_most=0 alloc_most=0 seen_kinds=''
    echo >"$tracing/trace"
    "$@"
    echo 0 >"$tracing/tracing_on"
    (($(lost) == 0)) || fail "$what: events were lost; give a larger buffer by KPCP_TRACE_KB"
    for ((cpu = 0; cpu < cpus; cpu++)); do
        while read -r kind order entries held _; do
            check_hold "$what" "$kind" "$order" "$entries" "$held"
        done < <(awk -f tests/vm/paths.awk "$tracing/per_cpu/cpu$cpu/trace")
    done
    echo "## paths: $what: pages in one hold, freed $free_most, allocated $alloc_most"
}

saw() { # WHAT KIND-AND-ORDER...: without one of them the path was not exercised
    local what=$1 kind
    shift
    for kind in "$@"; do [[ " $seen_kinds " != *" $kind "* ]] || return 0; done
    fail "$what: no hold was seen for: $* (only:$seen_kinds), so there is nothing to judge"
}

traced_all() {
    echo 1 >"$tracing/tracing_on"
    "$@"
    echo 0 >"$tracing/tracing_on"
}

unplug() {
    echo 0 >/sys/devices/system/cpu/cpu1/online
}

plug() {
    echo 1 >/sys/devices/system/cpu/cpu1/online
}

# The lists of CPU 1 are full after a storm there: going offline returns them.
check_unplug() { # S
    "$pages" - storm "$fill" 1
    path "S=$1 unplugged CPU" traced_all unplug
    saw "S=$1 unplugged CPU" free0 free1 free2 free3
    plug
    [[ $(</sys/devices/system/cpu/cpu1/online) == 1 ]] || fail "CPU 1 did not come back"
    path "S=$1 replugged CPU" "$pages" "$tracing/tracing_on" storm "$fill" 1
    saw "S=$1 replugged CPU" free0 free1 free2 free3
}

check_scale() { # S
    set_scale "$1"
    read_bounds "$1"
    path "S=$1 small pages" traced_all "$pages" - storm "$fill" 0-1
    saw "S=$1 small pages" free0
    saw "S=$1 small pages" alloc0
    path "S=$1 datagrams" traced_all "$pages" - datagrams 1000 "$fill" 0 1
    saw "S=$1 datagrams" free2 free3
    saw "S=$1 datagrams" alloc2 alloc3
    if [[ -e $huge ]]; then
        # The kernel switches them off where memory is below 512 MiB.
        ! grep -qF '[never]' "$huge" || fail "huge pages are off in this guest; give it 1024 by --memory"
        path "S=$1 huge pages" traced_all "$pages" - huge 128M 0-1
        saw "S=$1 huge pages" free9
        saw "S=$1 huge pages" alloc9
    fi
    check_unplug "$1"
}

check_lowering() {
    set_scale 6
    read_bounds 0
    # Its first half goes well over the high mark, so that what grows with frees is at its most.
    path 'lowered from 6 to 0' "$pages" "$tracing/tracing_on" lower "$((3 * ${fill%K}))K" 1 "$scale"
    saw 'lowered from 6 to 0' free0
}

(($#)) || set -- 0 5
huge=/sys/kernel/mm/transparent_hugepage/enabled
wrong=()
trace_begin
echo 1 >"$tracing/events/kmem/mm_page_alloc_zone_locked/enable"
pieces=0
! grep -q 'high_min' /proc/zoneinfo || pieces=1
for s in "$@"; do check_scale "$s"; done
check_lowering
((${#wrong[@]} == 0)) || { printf 'paths.sh: error: %s\n' "${wrong[@]}" >&2; exit 1; }
