# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Owns seeing, in a guest, how many list entries are freed in each hold of a zone's lock, and which holds are free_high's.
# It must not trust the functions under test: holds end where the lock is released. Sourced by holds.sh and free_high.sh.
#
# A kprobe sees the release of the zones' locks, and the tracepoint mm_page_pcpu_drain each list entry that is freed under
# them. A release that the probe misses makes a hold look longer, so it can fail a test, never pass it.

tracing=/sys/kernel/tracing
scale=/proc/sys/vm/pcp_batch_scale_max
btf=/sys/kernel/btf/vmlinux

fail() {
    echo "${0##*/}: error: $*" >&2
    exit 1
}

# The kernel's own description of its structs, so that no offset is written down here.
read_types() {
    command -v pahole pfunct >/dev/null || fail "pahole and pfunct are missing; install dwarves"
    types=$(pahole -F btf -C per_cpu_pages,zone,pglist_data,migratetype "$btf") || fail "pahole cannot read $btf"
    prototype=$(pfunct -F btf -P -f free_pcppages_bulk "$btf") || fail "pfunct cannot read $btf"
}

# member STRUCT NAME: "offset size"
member() {
    awk -v s="$1" -v m="$2" '
        $1 == "struct" && $2 == s && $3 == "{" { inside = 1 }
        /^}/ { inside = 0 }
        inside && match($0, "[ *]" m "(\\[[0-9]+\\])?;.*/\\* +[0-9]+ +[0-9]+ \\*/") {
            n = split($0, w, " "); print w[n - 2], w[n - 1]; exit
        }' <<<"$types" | grep . || fail "struct $1 of $(uname -r) has no member $2; this test does not fit the kernel"
}

offset() { member "$@" | cut -d' ' -f1; }

struct_size() {
    awk -v s="$1" '
        $1 == "struct" && $2 == s && $3 == "{" { inside = 1 }
        inside && $1 == "/*" && $2 == "size:" { sub(",", "", $3); print $3; exit }' <<<"$types"
}

# argument NAME: which of the function's arguments it is
argument() {
    local list=${prototype#*\(} i=0 word
    local -a words
    IFS=, read -r -a words <<<"${list%)*}"
    for word in "${words[@]}"; do
        i=$((i + 1))
        [[ ! $word =~ [\ \*]$1$ ]] || { echo "\$arg$i" && return; }
    done
    fail "free_pcppages_bulk of $(uname -r) has no argument '$1': $prototype"
}

# field LABEL MEMBER: a fetch argument for an int or short of the per-CPU lists
field() {
    local at size
    read -r at size < <(member per_cpu_pages "$2")
    [[ $size =~ ^[124]$ ]] || fail "per_cpu_pages.$2 of $(uname -r) has $size bytes"
    echo "$1=+$at($(argument pcp)):s$((size * 8))"
}

set_probes() {
    local symbol zone f
    symbol=$(awk '$3 ~ /^free_pcppages_bulk(\.|$)/ { print $3 }' /proc/kallsyms)
    [[ $symbol == free_pcppages_bulk ]] ||
        fail "kallsyms has '${symbol:-nothing}' for free_pcppages_bulk: the compiler changed its arguments or inlined it"
    echo 0 >"$tracing/tracing_on"
    echo nop >"$tracing/current_tracer"
    echo >"$tracing/set_event"
    zone=$(argument zone)
    {
        echo "p:kpcp/bulk free_pcppages_bulk zone=$zone:x64 node=+$(offset zone zone_pgdat)($zone):x64" \
            "list=$(argument pindex):s32 $(field have count) $(field high high)"
        for f in unlock unlock_irq unlock_irqrestore; do echo "p:kpcp/$f _raw_spin_$f lock=\$arg1:x64"; done
    } >"$tracing/kprobe_events" || fail "the kernel refused a probe: $(tail -n 5 "$tracing/error_log")"
    echo "${KPCP_TRACE_KB:-8192}" >"$tracing/buffer_size_kb"
}

# Sets locks to "LOCK=ZONE ..." (addresses), every zone of each node that a first, small storm meets.
find_zones() { # SIZE
    local node i size first lock
    echo 1 >"$tracing/events/kpcp/bulk/enable"
    "$pages" "$tracing/tracing_on" storm "$1" 0-1
    size=$(struct_size zone)
    first=$(offset pglist_data node_zones)
    lock=$(offset zone lock)
    locks=''
    while read -r node; do
        for ((i = 0; i < $(member pglist_data node_zones | cut -d' ' -f2) / size; i++)); do
            locks+=$(printf '0x%x=0x%x' "$((node + first + i * size + lock))" "$((node + first + i * size))")' '
        done
    done < <(cat "$tracing"/per_cpu/cpu*/trace | sed -n 's/.* bulk: .* node=\(0x[0-9a-f]*\) .*/\1/p' | sort -u)
    [[ $locks ]] || fail "a storm over all CPUs called free_pcppages_bulk nowhere"
    local filter='' pair event
    for pair in $locks; do filter+="${filter:+||}lock==${pair%=*}"; done
    for event in unlock unlock_irq unlock_irqrestore; do
        echo "$filter" >"$tracing/events/kpcp/$event/filter" || fail "the kernel refused the filter '$filter'"
        echo 1 >"$tracing/events/kpcp/$event/enable"
    done
    echo 1 >"$tracing/events/kmem/mm_page_pcpu_drain/enable"
}

# A guest may be asked more after this: it gets back what was set.
restore() {
    echo 0 >"$tracing/tracing_on"
    echo >"$tracing/set_event"
    echo >"$tracing/kprobe_events"
    echo "$fraction_before" >/proc/sys/vm/percpu_pagelist_high_fraction
    [[ ! -e $scale ]] || echo "$scale_before" >"$scale"
}

reclaims() { awk '/^(pageoutrun|allocstall_)/ { n += $2 } END { print n + 0 }' /proc/vmstat; }

# traced NAME COMMAND...: runs it with tracing, and sets largest, free_high, largest_high, entries (all zones together)
traced() {
    local what=$1 cpu before lost zone a b c d
    shift
    echo >"$tracing/trace"
    before=$(reclaims)
    "$pages" "$tracing/tracing_on" "$@"
    # Reclaim lowers the high mark, and with it what tells free_high from an ordinary free.
    [[ $(reclaims) == "$before" ]] || fail "$what: the guest ran short of memory; give it more by --memory"
    lost=$(cat "$tracing"/per_cpu/cpu*/stats | awk '/overrun:|dropped events:/ { n += $NF } END { print n + 0 }')
    ((lost == 0)) || fail "$what: $lost events were lost; give a larger buffer by KPCP_TRACE_KB"
    largest=0 free_high=0 largest_high=0 entries=0
    for ((cpu = 0; cpu < cpus; cpu++)); do
        while read -r zone a b c d; do
            [[ $zone != unknown ]] || fail "$what: a zone was seen that the first storm did not meet; run this again"
            ((a <= largest)) || largest=$a
            ((c <= largest_high)) || largest_high=$c
            free_high=$((free_high + b)) entries=$((entries + d))
        done < <(awk -v locks="$locks" -v lowest="$pcptypes" -v highest="$((4 * pcptypes - 1))" \
            -f tests/vm/holds.awk "$tracing/per_cpu/cpu$cpu/trace")
    done
    ((entries)) || fail "$what: no page went to the buddy allocator, so there is nothing to judge"
}

# Sets everything up; sets batch, and fill: memory that fills a CPU's list and lets the number freed at once grow.
trace_begin() {
    local high
    pages=${KPCP_BUILD:?}/tests/vm/vm-pages
    [[ -x $pages ]] || fail "'$pages' is no program; build the project first, with its tests"
    [[ -e $tracing/kprobe_events ]] || fail "there is no $tracing/kprobe_events; the kernel needs CONFIG_KPROBE_EVENTS"
    cpus=$(nproc)
    ((cpus >= 2)) || fail "the guest needs two CPUs or more"
    fraction_before=$(</proc/sys/vm/percpu_pagelist_high_fraction) scale_before=''
    [[ ! -e $scale ]] || scale_before=$(<"$scale")
    trap restore EXIT
    # Long lists, so that what returns them whole is seen to do so.
    echo 8 >/proc/sys/vm/percpu_pagelist_high_fraction
    # One zone holds nearly all memory; the smaller ones have a smaller batch, so its bound covers them.
    batch=$(awk '$1 == "batch:" && $2 > n { n = $2 } END { print n + 0 }' /proc/zoneinfo)
    high=$(awk '$1 == "high:" && $2 > n { n = $2 } END { print n + 0 }' /proc/zoneinfo)
    ((batch > 1)) || fail "/proc/zoneinfo shows batch $batch; give the guest more memory by --memory"
    ((high > batch << 6)) || fail "/proc/zoneinfo shows high $high, under 64 batches of $batch; use fewer CPUs or more memory"
    # To the mark; then for the sum of the doubling batches, and for the longest once more.
    # shellcheck disable=SC2034 # for those who source this
    fill=$((4 * (high + (batch << 6) + (batch << 5))))K
    read_types
    pcptypes=$(awk '$1 == "MIGRATE_PCPTYPES" { sub(",", "", $3); print $3 }' <<<"$types")
    [[ $pcptypes =~ ^[0-9]+$ ]] || fail "enum migratetype of $(uname -r) has no MIGRATE_PCPTYPES"
    set_probes
    find_zones "$((4 * (high + batch)))K"
}

set_scale() {
    [[ -w $scale ]] || fail "$scale is missing in $(uname -r); was the series applied to it?"
    echo "$1" >"$scale"
}
