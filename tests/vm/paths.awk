# SPDX-License-Identifier: Apache-2.0
#
# Owns reading one CPU's trace for the paths that holds.awk does not tell apart: how many list entries and pages were freed
# or allocated in each hold of a zone's lock, by the largest order in it. It must not know any bound.
# Events of one CPU are in order, and a hold is not interrupted, as interrupts are off in it.
#
# Prints KIND ORDER ENTRIES PAGES HOLDS: the most of each in one hold, and how many holds there were; KIND is free or alloc.

function end_of_hold(kind,    key) {
    if (!entries[kind]) return
    # A number also where no order above 0 was ever seen.
    key = kind " " (order[kind] + 0)
    holds[key]++
    if (entries[kind] > most_entries[key]) most_entries[key] = entries[kind]
    if (pages[kind] > most_pages[key]) most_pages[key] = pages[kind]
    entries[kind] = pages[kind] = order[kind] = 0
}

function took(kind,    n) {
    n = $0
    sub(/.* order=/, "", n)
    n += 0
    entries[kind]++
    pages[kind] += 2 ^ n
    if (n > order[kind]) order[kind] = n
}

/ mm_page_pcpu_drain: / { took("free"); next }
/ mm_page_alloc_zone_locked: / { took("alloc"); next }
/ (unlock|unlock_irq|unlock_irqrestore): / { end_of_hold("free"); end_of_hold("alloc") }

# Tracing was switched off in the middle of a hold: what was seen of it counts.
END {
    end_of_hold("free")
    end_of_hold("alloc")
    for (key in holds) print key, most_entries[key], most_pages[key], holds[key]
}
