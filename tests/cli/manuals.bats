#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
#
# The manual pages beside what they describe: each key of the parsers' tables, each command and option of the programs,
# and the example of a plan.

load kpcp.sh

TOP=$(readlink -f "$BATS_TEST_DIRNAME/../..")
MAN=$TOP/docs/man

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# keys_of SOURCE...: "section key" for each row of a table of struct conf_key
keys_of() { sed -nE 's/^ +\{"([a-z]+)", "([a-z0-9.-]+)", set_\w+, (true|false)\},.*/\1 \2/p' "$@"; }

# keys_in PAGE: "section key" for each tagged .Cm below an .Ss [section]
keys_in() {
    awk '$1 == ".Ss" { gsub(/[][]/, "", $2); section = $2 }
        $1 == ".Sh" { section = "" }
        $1 == ".It" && $2 == "Cm" && section != "" {
            for (i = 3; i <= NF; i++) if ($i != "," && $i != "Cm") print section, $i
        }' "$1"
}

# same_keys PAGE SOURCE...
same_keys() {
    local page=$1
    shift
    keys_of "$@" | sort >in_code
    keys_in "$MAN/$page" | sort >in_page
    [ "$(wc -l <in_code)" -ge 10 ]
    diff in_code in_page
}

@test "kpcp-plan(5) has the keys of plans and directives, no others" {
    same_keys kpcp-plan.5 "$TOP/lib/fleet/directive.c" "$TOP/lib/report/plan.c"
}

@test "kpcp-rolloutd.conf(5) has the keys of both of its files, no others" {
    same_keys kpcp-rolloutd.conf.5 "$TOP/rollout/rolloutd_conf.c" "$TOP/rollout/kpcp_conf.c"
}

@test "kpcp-agent.conf(5) has the agent's keys, no others" {
    same_keys kpcp-agent.conf.5 "$TOP/agent/agent_conf.c"
}

@test "kpcp-canary compare --help lists the keys of [judge], kpcp plan --help says where plans are described" {
    "$BUILD/agent/kpcp-canary" compare --help | xargs >help
    keys_of "$TOP/lib/report/plan.c" >in_code
    [ "$(wc -l <in_code)" -eq 26 ]
    while read -r _ key; do grep -qE "[ ,]${key}[ ,;]" help || { echo "no $key"; return 1; }; done <in_code
    "$KPCP" plan --help | grep -q 'kpcp-plan(5)'
}

commands() { "$@" --help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p'; }
options() { "$@" --help | sed -nE 's/^  --([a-z0-9-]+).*/\1/p' | grep -vx help; }

@test "the programs' pages have every command, and kpcp-canary's and kpcp-agent's every option" {
    local command option page=$MAN/kpcp.1
    commands "$KPCP" >list
    [ "$(wc -l <list)" -ge 15 ]
    while read -r command; do
        grep -qE "^\.It Ic ([a-z]+ Ar NAME , Ic )?$command( |\$)" "$page" || { echo "kpcp.1 lacks $command"; return 1; }
    done <list
    for page in "$BUILD/agent/kpcp-canary:kpcp-canary.1" "$BUILD/agent/kpcp-agent:kpcp-agent.8"; do
        commands "${page%:*}" >list
        [ "$(wc -l <list)" -ge 3 ]
        while read -r command; do
            grep -qE "^\.(It )?Cm ([a-z| ]+ )?$command( |\$)" "$MAN/${page#*:}" || { echo "${page#*:} lacks $command"; return 1; }
            for option in $(options "${page%:*}" "$command"); do
                grep -qE "Fl -$option( |\$)" "$MAN/${page#*:}" || { echo "${page#*:} lacks --$option"; return 1; }
            done
        done <list
    done
}

@test "the example is a plan, as it is and with every line that is commented out but those of [kernel]" {
    keys keys
    "$KPCP" approve "$TOP/docs/example.plan" --no-submit --key keys/approver.key --out one
    sed '/^;\[kernel\]/,/^;build-id/d; s/^;//' "$TOP/docs/example.plan" >all.plan
    [ "$(grep -c '^;' all.plan)" -eq 0 ]
    "$KPCP" approve all.plan --no-submit --key keys/approver.key --out two
    # every key but a kernel's
    keys_of "$TOP/lib/fleet/directive.c" "$TOP/lib/report/plan.c" | grep -vE '^(kernel|approval) ' | sort >in_code
    awk '/^\[/ { gsub(/[][]/, ""); section = $1 } / = / && !/^#/ { print section, $1 }' all.plan | sort >in_plan
    diff in_code in_plan
}

@test "the way to a new approver's key in kpcp(1) makes one that works" {
    grep '^openssl ' "$MAN/kpcp.1" >lines
    [ "$(wc -l <lines)" -eq 2 ]
    bash -e lines
    plan r1.plan
    "$KPCP" approve r1.plan --no-submit --key approver.key
    base64 -d r1.plan.directive.sig >raw
    openssl dgst -sha256 -verify approver.pub -signature raw r1.plan.directive
}

@test "the pages have no mistake of form" {
    # STYLE is not about mistakes; pages of others are found where these are installed.
    mandoc -T lint -W warning "$MAN"/*.[158] >said || :
    diff /dev/null <(grep -E ' (WARNING|ERROR|UNSUPP): ' said)
    for page in "$MAN"/*.[158]; do [ "$(mandoc -T utf8 "$page" | wc -l)" -gt 30 ]; done
}
