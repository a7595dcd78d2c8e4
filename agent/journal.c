// SPDX-License-Identifier: Apache-2.0
/* Owns the text form of what a host remembers: an INI file of words and numbers with a sum in its last line.
 * Must not know disks, nor how anything in it came about. */
#include "journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/conf.h"
#include "lib/base/num.h"

#define REASON_PART 140 /* bytes: a line of a configuration file has 190 */
#define SEAL        "[end]\nsum = "
#define SEAL_LEN    (sizeof(SEAL) - 1 + 16 + 1)

struct decoding {
	struct journal j;
	char reason[2][REASON_PART + 1];
};

/* Texts stand in quotes, so that their blanks at both ends stay. */
static int set_text(char *to, size_t cap, const char *value, struct err *e)
{
	size_t len = strlen(value);

	if (len < 2 || value[0] != '"' || value[len - 1] != '"')
		return err_set(e, EINVAL, "it does not stand in quotes");
	if (len - 2 >= cap)
		return err_set(e, EINVAL, "it has %zu bytes, at most %zu are possible", len - 2, cap - 1);
	memcpy(to, value + 1, len - 2);
	to[len - 2] = 0;
	return 0;
}

static int set_index(unsigned *to, const char *const *words, unsigned n, const char *value, struct err *e)
{
	for (unsigned i = 0; i < n; i++) {
		if (strcmp(words[i], value) == 0) {
			*to = i;
			return 0;
		}
	}
	return err_set(e, EINVAL, "\"%s\" is none of its words", value);
}

static const char *const factors[] = {"kernel", "preset"};
static const char *const arms[] = {"old", "new"};

static int parse_factor(const char *value, enum factor *ret, struct err *e)
{
	unsigned i = 0;
	int r = set_index(&i, factors, ARRAY_SIZE(factors), value, e);

	if (r == 0)
		*ret = (enum factor)i;
	return r;
}

static int parse_arm(const char *value, enum arm *ret, struct err *e)
{
	unsigned i = 0;
	int r = set_index(&i, arms, ARRAY_SIZE(arms), value, e);

	if (r == 0)
		*ret = (enum arm)i;
	return r;
}

/* One function a key, because the table of a configuration file has no room for an argument. */
#define SETTER(fn, expression)                                        \
	static int fn(void *target, const char *value, struct err *e) \
	{                                                             \
		struct journal *j = &((struct decoding *)target)->j;  \
		return expression;                                    \
	}
#define TEXT(fn, member)        SETTER(fn, set_text(j->member, sizeof(j->member), value, e))
#define U64(fn, member)         SETTER(fn, num_u64(value, 0, UINT64_MAX, &j->member, e))
#define U32(fn, member)         SETTER(fn, num_u32(value, 0, UINT32_MAX, &j->member, e))
#define BOOL(fn, member)        SETTER(fn, num_bool(value, &j->member, e))
#define WORD(fn, parse, member) SETTER(fn, parse(value, &j->member, e))

WORD(set_state, host_state_parse, state)
WORD(set_act, act_parse, act)
TEXT(set_boot, boot)
TEXT(set_used, used)
U64(set_serial, serial)
U64(set_crashes, crash_records)
U64(set_epoch, epoch)
WORD(set_outcome, outcome_parse, outcome)
U64(set_order_epoch, order.epoch)
TEXT(set_order_rollout, order.rollout)
WORD(set_verb, verb_parse, order.verb)
WORD(set_arm, parse_arm, order.arm)
U32(set_order_boot, order.boot)
BOOL(set_target, order.target_new)
U32(set_attempts, attempts)
U32(set_losses, losses)
TEXT(set_rollout, rollout)
WORD(set_factor, parse_factor, factor)
TEXT(set_plan, plan)
TEXT(set_old_release, old_release)
TEXT(set_old_build, old_build)
TEXT(set_old_entry, old_entry)
TEXT(set_new_release, new_release)
TEXT(set_new_build, new_build)
TEXT(set_pinned, pinned)
WORD(set_way, way_parse, intent.way)
TEXT(set_transaction, intent.transaction)
TEXT(set_from_build, intent.from_build)
TEXT(set_to_build, intent.to_build)
TEXT(set_to_release, intent.to_release)
TEXT(set_intent_boot, intent.boot)
U32(set_intent_attempt, intent.attempt)
WORD(set_intent_verb, verb_parse, intent.verb)
U64(set_deadline, intent.deadline_s)
BOOL(set_file_saved, file_saved)
BOOL(set_file_was, file_was)

static int set_reason_1(void *target, const char *value, struct err *e)
{
	struct decoding *d = target;

	return set_text(d->reason[0], sizeof(d->reason[0]), value, e);
}

static int set_reason_2(void *target, const char *value, struct err *e)
{
	struct decoding *d = target;

	return set_text(d->reason[1], sizeof(d->reason[1]), value, e);
}

/* "KEY=VALUE KEY=VALUE" would be too long for a line: value-1 = "vm.x=5" and on, without gaps. */
static int set_old(void *target, const char *value, struct err *e)
{
	struct journal *j = &((struct decoding *)target)->j;
	struct directive_setting s;
	char pair[sizeof(s.key) + sizeof(s.value)];
	int r = set_text(pair, sizeof(pair), value, e);

	if (r < 0)
		return r;
	char *is = strchr(pair, '=');
	if (!is || (size_t)(is - pair) >= sizeof(s.key) || strlen(is + 1) >= sizeof(s.value))
		return err_set(e, EINVAL, "it is no KEY=VALUE");
	*is = 0;
	if (!directive_setting_ok(pair))
		return err_set(e, EINVAL, "%s is no setting of a preset", pair);
	snprintf(s.key, sizeof(s.key), "%.63s", pair);
	snprintf(s.value, sizeof(s.value), "%.31s", is + 1);
	j->old[j->n_old++] = s; /* there are as many keys as there is room */
	return 0;
}

static int set_seal(void *target, const char *value, struct err *e)
{
	(void)target, (void)value, (void)e;
	return 0; /* looked at before */
}

static const struct conf_key keys[] = {
    {"host", "state", set_state, true},
    {"host", "act", set_act, true},
    {"host", "boot", set_boot, true},
    {"host", "used", set_used, true},
    {"host", "serial", set_serial, true},
    {"host", "crash-records", set_crashes, true},
    {"answer", "epoch", set_epoch, true},
    {"answer", "outcome", set_outcome, true},
    {"answer", "reason-1", set_reason_1, true},
    {"answer", "reason-2", set_reason_2, true},
    {"order", "epoch", set_order_epoch, true},
    {"order", "rollout", set_order_rollout, true},
    {"order", "verb", set_verb, true},
    {"order", "arm", set_arm, true},
    {"order", "boot", set_order_boot, true},
    {"order", "target-new", set_target, true},
    {"order", "attempts", set_attempts, true},
    {"order", "losses", set_losses, true},
    {"rollout", "name", set_rollout, true},
    {"rollout", "factor", set_factor, true},
    {"rollout", "plan", set_plan, false}, /* states from before it was kept are read, too */
    {"rollout", "old-release", set_old_release, true},
    {"rollout", "old-build", set_old_build, true},
    {"rollout", "old-entry", set_old_entry, true},
    {"rollout", "new-release", set_new_release, true},
    {"rollout", "new-build", set_new_build, true},
    {"rollout", "pinned", set_pinned, true},
    {"intent", "way", set_way, true},
    {"intent", "transaction", set_transaction, true},
    {"intent", "from-build", set_from_build, true},
    {"intent", "to-build", set_to_build, true},
    {"intent", "to-release", set_to_release, true},
    {"intent", "boot", set_intent_boot, true},
    {"intent", "attempt", set_intent_attempt, true},
    {"intent", "verb", set_intent_verb, true},
    {"intent", "deadline-s", set_deadline, true},
    {"preset", "file-saved", set_file_saved, true},
    {"preset", "file-was", set_file_was, true},
    {"preset", "value-1", set_old, false},
    {"preset", "value-2", set_old, false},
    {"preset", "value-3", set_old, false},
    {"preset", "value-4", set_old, false},
    {"preset", "value-5", set_old, false},
    {"preset", "value-6", set_old, false},
    {"preset", "value-7", set_old, false},
    {"preset", "value-8", set_old, false},
    {"preset", "value-9", set_old, false},
    {"preset", "value-10", set_old, false},
    {"preset", "value-11", set_old, false},
    {"preset", "value-12", set_old, false},
    {"preset", "value-13", set_old, false},
    {"preset", "value-14", set_old, false},
    {"preset", "value-15", set_old, false},
    {"preset", "value-16", set_old, false},
    {"end", "sum", set_seal, true},
};
_Static_assert(DIRECTIVE_SETTINGS_MAX == 16, "as many keys value-N as settings");

/* FNV-1a: finds what a disk or a hand has changed; nobody who may write here has to be kept from it. */
static uint64_t sum_of(const char *data, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)data[i]) * 0x100000001b3u;
	return h;
}

int journal_seal(struct buf *text, struct err *e)
{
	return buf_addf(text, e, SEAL "%016" PRIx64 "\n", sum_of(text->data, text->len));
}

/* An INI comment begins at " ;", and a quote or control character has no place in a line of ours. */
static int check_text(const char *key, const char *text, struct err *e)
{
	for (const char *c = text; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f || *c == ';')
			return err_set(e, EINVAL, "%s \"%s\" has a character that the state on disk cannot keep", key,
				       text);
	}
	return 0;
}

static int add_text(struct buf *b, const char *key, const char *text, struct err *e)
{
	int r = check_text(key, text, e);

	return r < 0 ? r : buf_addf(b, e, "%s = \"%s\"\n", key, text);
}

/* A reason is for people: what does not fit the form is changed, never refused. */
static int add_reason(struct buf *b, const char *reason, struct err *e)
{
	char clean[MESSAGE_TEXT_MAX];
	size_t n = 0;

	for (const char *c = reason; *c && n < sizeof(clean) - 1; c++)
		clean[n++] = *c == ';' ? ',' : (unsigned char)*c < 0x20 || *c == 0x7f ? ' ' : *c;
	clean[n] = 0;
	int first = n > REASON_PART ? REASON_PART : (int)n;
	return buf_addf(b, e, "reason-1 = \"%.*s\"\nreason-2 = \"%.*s\"\n", first, clean, REASON_PART, clean + first);
}

static int encode_host(const struct journal *j, struct buf *b, struct err *e)
{
	int r;

	if ((r = buf_addf(b, e, "[host]\nstate = %s\nact = %s\n", host_state_name(j->state), act_name(j->act))) < 0 ||
	    (r = add_text(b, "boot", j->boot, e)) < 0 || (r = add_text(b, "used", j->used, e)) < 0 ||
	    (r = buf_addf(b, e, "serial = %" PRIu64 "\ncrash-records = %" PRIu64 "\n", j->serial, j->crash_records)) <
		0)
		return r;
	if ((r = buf_addf(b, e, "\n[answer]\nepoch = %" PRIu64 "\noutcome = %s\n", j->epoch,
			  outcome_name(j->outcome))) < 0 ||
	    (r = add_reason(b, j->reason, e)) < 0)
		return r;
	if ((r = buf_addf(b, e, "\n[order]\nepoch = %" PRIu64 "\n", j->order.epoch)) < 0 ||
	    (r = add_text(b, "rollout", j->order.rollout, e)) < 0)
		return r;
	return buf_addf(b, e, "verb = %s\narm = %s\nboot = %u\ntarget-new = %s\nattempts = %u\nlosses = %u\n",
			verb_name(j->order.verb), arms[j->order.arm == ARM_NEW], j->order.boot,
			j->order.target_new ? "yes" : "no", j->attempts, j->losses);
}

static int encode_rollout(const struct journal *j, struct buf *b, struct err *e)
{
	int r;

	if ((r = buf_addf(b, e, "\n[rollout]\n")) < 0 || (r = add_text(b, "name", j->rollout, e)) < 0 ||
	    (r = buf_addf(b, e, "factor = %s\n", factors[j->factor == FACTOR_PRESET])) < 0 ||
	    (r = add_text(b, "plan", j->plan, e)) < 0 || (r = add_text(b, "old-release", j->old_release, e)) < 0 ||
	    (r = add_text(b, "old-build", j->old_build, e)) < 0 ||
	    (r = add_text(b, "old-entry", j->old_entry, e)) < 0 ||
	    (r = add_text(b, "new-release", j->new_release, e)) < 0 ||
	    (r = add_text(b, "new-build", j->new_build, e)) < 0 || (r = add_text(b, "pinned", j->pinned, e)) < 0)
		return r;
	if ((r = buf_addf(b, e, "\n[intent]\nway = %s\n", way_name(j->intent.way))) < 0 ||
	    (r = add_text(b, "transaction", j->intent.transaction, e)) < 0 ||
	    (r = add_text(b, "from-build", j->intent.from_build, e)) < 0 ||
	    (r = add_text(b, "to-build", j->intent.to_build, e)) < 0 ||
	    (r = add_text(b, "to-release", j->intent.to_release, e)) < 0 ||
	    (r = add_text(b, "boot", j->intent.boot, e)) < 0)
		return r;
	return buf_addf(b, e, "attempt = %u\nverb = %s\ndeadline-s = %" PRIu64 "\n", j->intent.attempt,
			verb_name(j->intent.verb), j->intent.deadline_s);
}

int journal_encode(const struct journal *j, struct buf *ret, struct err *e)
{
	_cleanup_(buf_free) struct buf b = BUF_INIT(JOURNAL_BYTES_MAX);
	int r;

	if ((r = encode_host(j, &b, e)) < 0 || (r = encode_rollout(j, &b, e)) < 0 ||
	    (r = buf_addf(&b, e, "\n[preset]\nfile-saved = %s\nfile-was = %s\n", j->file_saved ? "yes" : "no",
			  j->file_was ? "yes" : "no")) < 0)
		return r;
	for (uint32_t i = 0; i < j->n_old && i < DIRECTIVE_SETTINGS_MAX; i++) {
		if ((r = buf_addf(&b, e, "value-%u = \"%s=%s\"\n", i + 1, j->old[i].key, j->old[i].value)) < 0)
			return r;
	}
	if ((r = buf_addf(&b, e, "\n")) < 0 || (r = journal_seal(&b, e)) < 0)
		return r;
	return buf_add(ret, b.data, b.len, e);
}

static int check_seal(const char *name, const char *text, size_t len, struct err *e)
{
	char want[SEAL_LEN + 1];

	if (len < SEAL_LEN)
		return err_set(e, EINVAL, "%s: has %zu bytes, fewer than its last line alone", name, len);
	snprintf(want, sizeof(want), SEAL "%016" PRIx64 "\n", sum_of(text, len - SEAL_LEN));
	if (memcmp(text + len - SEAL_LEN, want, SEAL_LEN) != 0)
		return err_set(e, EINVAL, "%s: its sum does not fit: it was cut or changed", name);
	return 0;
}

int journal_decode(const char *name, const char *text, size_t len, struct journal *ret, struct err *e)
{
	struct decoding d = {0};
	int r;

	if ((r = check_seal(name, text, len, e)) < 0 ||
	    (r = conf_parse(name, text, len, keys, ARRAY_SIZE(keys), &d, e)) < 0)
		return r;
	snprintf(d.j.reason, sizeof(d.j.reason), "%.*s%.*s", REASON_PART, d.reason[0],
		 (int)(sizeof(d.j.reason) - 1 - REASON_PART), d.reason[1]);
	*ret = d.j;
	return 0;
}
