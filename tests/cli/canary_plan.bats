#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
#
# kpcp-canary aa, plan, import and compare --explain: what is learnt before a campaign, and how its end is told.

load canary.sh

setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
}

# The member of the JSON in $output; "brake.0.ratio" goes into objects and lists.
member() {
    python3 -c '
import json, sys
value = json.loads(sys.argv[1])
for name in sys.argv[2].split("|"):
    value = value[int(name)] if isinstance(value, list) else value[name]
print(value)' "$output" "$1"
}

between() {
    python3 -c 'import sys; a, x, b = map(float, sys.argv[1:]); sys.exit(not a <= x <= b)' "$1" "$2" "$3" ||
        { echo "$2 is not between $1 and $3"; return 1; }
}

# unchanged HOSTS BOOTS: hosts on one kernel, in two slots
unchanged() {
    local h s b boot=0
    for h in $(seq "$1"); do for s in a b; do for b in $(seq "$2"); do
        boot=$((boot + 1))
        "$MAKE" --out "h$h-$s$b.kpcp" --host "host-$h" --boot $boot --seed $boot "${OLD[@]}" \
            --scale "0.9$(((boot * 7919) % 10))"
    done; done; done
}

# histogram FILE COUNT...: of buckets [0, 1], [2, 3], [4, 7], ...
histogram() {
    local low=0 high=1 n
    printf '# run time, ns\n# source: a list\n' >"$1"
    for n in "${@:2}"; do
        echo "$low $high $n" >>"$1"
        low=$((high + 1)) high=$((2 * high + 1))
    done
}

@test "aa: unchanged hosts tell their spread, and a plan uses it" {
    unchanged 6 2
    run --separate-stderr "$CANARY" aa h*-a?.kpcp -- h*-b?.kpcp --out spread.conf
    [ "$status" -eq 0 ]
    [[ $output == *"6 unchanged hosts, 2 boots or more"* ]]
    [[ $output =~ "divided by lot 200 times: "[0-9]+" PROMOTE, 0 ROLLBACK" ]]
    grep -qx "format = kpcp-spread/1" spread.conf
    # The same again writes the same bytes, and leaves nothing else behind.
    cp spread.conf before
    "$CANARY" aa h*-a?.kpcp -- h*-b?.kpcp --out spread.conf
    cmp spread.conf before
    find . -type f -name '*spread*' >left
    [ "$(cat left)" = ./spread.conf ]
    run --separate-stderr "$CANARY" aa --json h*-a?.kpcp -- h*-b?.kpcp
    [ "$(member format)" = kpcp-aa/1 ]
    between 0.005 "$(member 'endpoints|0|boot_sd')" 0.2
    # From the file and from the recordings: the same plan.
    run --separate-stderr "$CANARY" plan --json --spread spread.conf
    [ "$status" -eq 0 ]
    local file=$output
    run --separate-stderr "$CANARY" plan --json h*-a?.kpcp -- h*-b?.kpcp
    [ "$output" = "$file" ]
}

@test "aa: a plan's floor is what the fleet showed" {
    unchanged 6 2
    "$CANARY" aa h*-a?.kpcp -- h*-b?.kpcp --out spread.conf
    fleet .
    printf 'spread = spread.conf\n' >>plan.conf
    run --separate-stderr compare new --json
    between 0.01 "$(member 'plan|sd_history|p99')" 0.3
    sed -i 's/^boot-sd = .*/boot-sd = 0.5/; s/^boot-sd-upper = .*/boot-sd-upper = 0.9/' spread.conf
    run --separate-stderr compare new --json
    [ "$status" -eq 3 ]
    [ "$(member verdict)" = HOLD ]
    echo "host-sd = -1" >>spread.conf
    run --separate-stderr compare new
    refused "plan.conf" "spread.conf" "host-sd"
    rm spread.conf
    run --separate-stderr compare new
    refused "spread.conf"
}

@test "aa: what is not unchanged is refused" {
    unchanged 2 1
    run --separate-stderr "$CANARY" aa h1-a1.kpcp h2-a1.kpcp
    refused "FIRST... -- SECOND..."
    run --separate-stderr "$CANARY" aa h1-a1.kpcp -- h2-b1.kpcp
    refused "host-1" "both"
    run --separate-stderr "$CANARY" aa h1-a1.kpcp -- h1-b1.kpcp
    refused "1 host"
    "$MAKE" --out other.kpcp --host host-2 --boot 99 "${NEW[@]}"
    run --separate-stderr "$CANARY" aa h1-a1.kpcp h2-a1.kpcp -- h1-b1.kpcp other.kpcp
    refused "other.kpcp"
    run --separate-stderr "$CANARY" aa h1-a1.kpcp h2-a1.kpcp -- h1-b1.kpcp h2-b1.kpcp --out /nonexistent/x
    refused "/nonexistent"
}

@test "plan: hosts, power and time to detect from given spreads" {
    run --separate-stderr "$CANARY" plan --json --boot-sd 7% --host-sd 2%
    [ "$status" -eq 0 ]
    # The simulated shares: 4/8/1 .38, 4/8/4 .81.
    between 0.36 "$(member 'by_boots|0|power')" 0.40
    between 0.79 "$(member 'by_boots|2|power')" 0.83
    [ "$(member 'by_boots|2|boots')" = 4 ]
    between 4 "$(member 'by_boots|2|hosts_needed')" 6
    # A doubling: 3 blocks in half of all cases.
    [ "$(member 'brake|2|ratio')" = 2.0 ]
    [ "$(member 'brake|2|blocks_median')" = 3 ]
    between 5 "$(member 'brake|2|blocks_p90')" 7
    run --separate-stderr "$CANARY" plan --boot-sd 0.07
    [[ $output == *"chance of PROMOTE with 4 boots a kernel"* ]]
    [[ $output == *"█"* ]]
    LC_ALL=C run --separate-stderr "$CANARY" plan --boot-sd 0.07
    [[ $output != *"█"* ]]
    # More spread takes more hosts; a wider margin fewer.
    run --separate-stderr "$CANARY" plan --json --boot-sd 15% --host-sd 3%
    local many
    many=$(member 'by_boots|2|hosts_needed')
    run --separate-stderr "$CANARY" plan --json --boot-sd 15% --host-sd 3% --margin 20%
    between 3 "$(member 'by_boots|2|hosts_needed')" "$((many - 1))"
    # A kernel at the margin is never promoted with such a power.
    run --separate-stderr "$CANARY" plan --json --boot-sd 7% --ratio 1.1
    [ "$(member 'by_boots|2|hosts_needed')" = None ]
}

@test "plan: what it cannot plan by" {
    run --separate-stderr "$CANARY" plan
    refused "no spread to plan by" "--boot-sd"
    run --separate-stderr "$CANARY" plan --spread nowhere.conf
    refused "nowhere.conf"
    run --separate-stderr "$CANARY" plan --boot-sd 7
    refused "--boot-sd"
    run --separate-stderr "$CANARY" plan --boot-sd 7% --power 1
    refused "--power"
    run --separate-stderr "$CANARY" plan --boot-sd 7% --endpoint p98
    refused "p99"
    run --separate-stderr "$CANARY" plan --spread x a -- b
    refused "one of the two"
    # The brake alone cannot be planned with one canary; the rest can.
    run --separate-stderr "$CANARY" plan --boot-sd 7% --hosts 1
    [ "$status" -eq 0 ]
    [[ $output == *"The brake needs at least 2 canaries"* ]]
}

@test "import: published histograms are shown, and held, however clear they look" {
    histogram old.txt 0 0 10 100 1000 2000 500
    histogram new.txt 0 0 5000 100
    run --separate-stderr "$CANARY" import old.txt new.txt
    [ "$status" -eq 3 ]
    [[ $output == *"verdict: HOLD"* ]]
    for word in "One machine and one boot" "No controls" "cannot show a margin of" "whether or not a bystander waits less" \
        "What to do" "source: a list" "0 controls came"; do
        [[ ${output//$'\n'    / } == *"$word"* ]] || { echo "does not say: $word"; return 1; }
    done
    run --separate-stderr "$CANARY" import --json old.txt new.txt
    [ "$status" -eq 3 ]
    [ "$(member verdict)" = HOLD ]
    [ "$(member 'old|quantiles|2|high_ns')" = 127 ]
    [ "$(member 'old|count')" = 3610 ]
    # Same input, same bytes.
    cp <("$CANARY" import --json old.txt new.txt) a || :
    cp <("$CANARY" import --json old.txt new.txt) b || :
    cmp a b
}

@test "import: what is no histogram" {
    histogram good.txt 1 2 3
    run --separate-stderr "$CANARY" import good.txt
    refused "OLD NEW"
    run --separate-stderr "$CANARY" import good.txt nowhere.txt
    refused "nowhere.txt"
    printf '0 1 5\n1 3 5\n' >bad.txt
    run --separate-stderr "$CANARY" import good.txt bad.txt
    refused "bad.txt:2" "gaps or overlaps"
    head -c 4096 /dev/zero >bad.txt
    run --separate-stderr "$CANARY" import good.txt bad.txt
    refused "bad.txt:1"
    : >bad.txt
    run --separate-stderr "$CANARY" import good.txt bad.txt
    refused "no values"
}

@test "compare --explain: what it means, what to do, what was left out" {
    fleet .
    run --separate-stderr compare new --explain
    [ "$status" -eq 0 ]
    [[ $output == "verdict: PROMOTE"*"The new kernel is good"*"Let the rollout go on"*"no worse"* ]]
    run --separate-stderr compare slow --explain
    [ "$status" -eq 2 ]
    [[ $output == *"times as slow"*"Take the canaries back"* ]]
    printf 'endpoints = p99\n' >>plan.conf
    run --separate-stderr compare new --explain
    [[ $output == *"exit: measured, but the plan's endpoints do not name it."* ]]
    printf 'canaries = 4\ncontrols = 3\n' | cat <(echo '[judge]') - >plan.conf
    run --separate-stderr compare new --explain
    [ "$status" -eq 3 ]
    [[ ${output//$'\n'/ } == *"the data are not what the plan promised (1 thing missing or wrong)"* ]]
    run --separate-stderr compare new --json
    [ "$(member 'explanation|left_out')" = "[]" ]
    [ "$(member defects)" = 1 ]
}

@test "compare: a plan's models must be there" {
    fleet .
    run --separate-stderr compare new --json
    local model
    model=$(member 'hosts|0|model')
    [[ $model =~ ^[0-9]+cpu-[0-9]+[GM]$ ]]
    printf 'models = %s\n' "$model" >>plan.conf
    run --separate-stderr compare new
    [ "$status" -eq 0 ]
    sed -i '/^models/d' plan.conf
    printf 'models = %s, 384cpu-1536G\n' "$model" >>plan.conf
    run --separate-stderr compare new
    [ "$status" -eq 3 ]
    [[ ${output//$'\n'    / } == *"No canary of model 384cpu-1536G"*"$model"* ]]
}

@test "compare: what was used up since the first reference counts" {
    fleet .
    printf 'reference-p99 = 1.12 +- 0.01\n' >>plan.conf
    run --separate-stderr compare new
    [ "$status" -eq 3 ]
    [[ ${output//$'\n'    / } == *"small steps have used the margin up"* ]]
    sed -i 's/1.12/0.98/' plan.conf
    run --separate-stderr compare new
    [ "$status" -eq 0 ]
    [[ ${output//$'\n'    / } == *"p99 with the steps before"* ]]
    # Passive evidence was asked for, and active came.
    printf 'probing = passive\n' >>plan.conf
    run --separate-stderr compare new
    [ "$status" -eq 3 ]
    [[ ${output//$'\n'    / } == *"never mixed"* ]]
}
