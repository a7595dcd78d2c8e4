# SPDX-License-Identifier: Apache-2.0
#
# Owns reading one CPU's trace: how many list entries went to the buddy allocator in each hold of a zone's lock.
# It must not know any bound. Events of one CPU are in order, and a hold is not interrupted, as interrupts are off in it.
#
# -v locks="LOCK=ZONE ..." (addresses), -v lowest=N -v highest=N: the lists of orders 1 to 3.
# Prints ZONE LARGEST FREE_HIGH LARGEST_IN_FREE_HIGH ENTRIES for each zone seen; "unknown" where a lock is not in the list.

function value(name,    start, rest) {
    start = index($0, " " name "=")
    if (!start) return ""
    rest = substr($0, start + length(name) + 2)
    sub(/[ )].*/, "", rest)
    return rest
}

function end_of_hold(zone) {
    seen[zone] = 1
    entries[zone] += held
    if (held > largest[zone]) largest[zone] = held
    if (free_high) {
        count[zone]++
        if (held > largest_high[zone]) largest_high[zone] = held
    }
    held = 0
    free_high = 0
}

BEGIN {
    n = split(locks, pair, " ")
    for (i = 1; i <= n; i++) {
        split(pair[i], part, "=")
        zone_of_lock[part[1]] = part[2]
        known[part[2]] = 1
    }
}

/ mm_page_pcpu_drain: / { held++; next }

/ bulk: / {
    zone = value("zone")
    if (!(zone in known)) { seen["unknown"] = 1; next }
    # free_unref_page_commit() passes the list that the freed page went to, everyone else passes list 0. It comes here
    # at the high mark, or, with pages of orders 1 to 3, below it because of free_high.
    list = value("list") + 0
    free_high = list >= lowest && list <= highest && value("have") + 0 < value("high") + 0
    next
}

/ (unlock|unlock_irq|unlock_irqrestore): / {
    lock = value("lock")
    end_of_hold(lock in zone_of_lock ? zone_of_lock[lock] : "unknown")
}

END {
    # Tracing was switched off in the middle of a hold: what was seen of it counts.
    if (held) end_of_hold(zone)
    for (z in seen) print z, largest[z] + 0, count[z] + 0, largest_high[z] + 0, entries[z] + 0
}
