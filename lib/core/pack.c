// SPDX-License-Identifier: Apache-2.0
/* Owns the packing of bounded fields into bytes and back: varints, texts, tables of fields.
 * Must not know which fields there are, nor frames and checksums. */
#include "pack.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* What is wrong with a text; NULL when it can be stored and shown in messages. */
static const char *text_fault(const char *s, size_t size, const struct pack_field *f, char hex[5])
{
	size_t len = strnlen(s, size);
	if (len == size && len > f->max)
		return "has no terminating 0";
	if (len < f->min)
		return "is empty";
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c < 0x20 || c > 0x7e) {
			hex[0] = '0';
			hex[1] = 'x';
			hex[2] = "0123456789abcdef"[c >> 4];
			hex[3] = "0123456789abcdef"[c & 15];
			return "has an unprintable byte";
		}
	}
	return NULL;
}

/* ---- putting ---- */

/* The fields' bounds keep every frame below PACK_OUT_MAX; this check turns a mistake in that sum into a refusal. */
bool pack_room(const struct pack_out *w, size_t n)
{
	return n <= sizeof(w->data) - w->len;
}

void pack_put_bytes(struct pack_out *w, const void *p, size_t n)
{
	if (!pack_room(w, n)) {
		w->len = sizeof(w->data);
		return;
	}
	memcpy(w->data + w->len, p, n);
	w->len += n;
}

void pack_put_le(struct pack_out *w, uint64_t v, unsigned bytes)
{
	uint8_t out[8];
	for (unsigned i = 0; i < bytes; i++)
		out[i] = (uint8_t)(v >> (8 * i));
	pack_put_bytes(w, out, bytes);
}

void pack_put_varint(struct pack_out *w, uint64_t v)
{
	uint8_t out[PACK_VARINT_MAX];
	size_t n = 0;
	while (v >= 0x80) {
		out[n++] = (uint8_t)v | 0x80;
		v >>= 7;
	}
	out[n++] = (uint8_t)v;
	pack_put_bytes(w, out, n);
}

static int put_number(struct pack_out *w, const struct pack_field *f, uint64_t v, struct err *e)
{
	if (v < f->min || v > f->max)
		return err_set(e, ERANGE, "%s is %" PRIu64 ", must be %" PRIu64 " to %" PRIu64 "; nothing was written",
			       f->name, v, f->min, f->max);
	pack_put_varint(w, v);
	return 0;
}

static int put_field(struct pack_out *w, const struct pack_field *f, const void *base, struct err *e)
{
	const char *p = (const char *)base + f->offset;
	switch (f->kind) {
	case PACK_TEXT: {
		char hex[5] = "";
		const char *fault = text_fault(p, f->size, f, hex);
		if (fault)
			return err_set(e, EINVAL, "%s %s%s%s; nothing was written", f->name, fault, *hex ? " " : "",
				       hex);
		size_t len = strlen(p);
		pack_put_varint(w, len);
		pack_put_bytes(w, p, len);
		return 0;
	}
	case PACK_BYTES:
		pack_put_bytes(w, p, f->size);
		return 0;
	case PACK_U32: {
		uint32_t v;
		memcpy(&v, p, sizeof(v));
		return put_number(w, f, v, e);
	}
	case PACK_U64: {
		uint64_t v;
		memcpy(&v, p, sizeof(v));
		return put_number(w, f, v, e);
	}
	case PACK_SCALE: {
		int32_t v;
		memcpy(&v, p, sizeof(v));
		return put_number(w, f, (uint64_t)((int64_t)v + 1), e);
	}
	}
	return err_set(e, EINVAL, "%s: unknown kind of field", f->name);
}

int pack_put_fields(struct pack_out *w, const struct pack_field *f, size_t n, const void *base, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		int r = put_field(w, &f[i], base, e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- getting ---- */

int pack_get_leb(struct pack_in *d, uint64_t *ret, const char **fault)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < PACK_VARINT_MAX; i++) {
		if (d->at + i >= d->end)
			return -EPIPE;
		uint8_t byte = d->data[d->at + i];
		if (i == PACK_VARINT_MAX - 1 && byte > 1) {
			*fault = "does not fit in 64 bits";
			return -EBADMSG;
		}
		v |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte & 0x80)
			continue;
		/* One value has one form, or re-encoding would not give the same bytes. */
		if (byte == 0 && i > 0) {
			*fault = "is longer than its value needs";
			return -EBADMSG;
		}
		d->at += i + 1;
		*ret = v;
		return 0;
	}
	*fault = "does not fit in 64 bits";
	return -EBADMSG;
}

int pack_get_varint(struct pack_in *d, const char *name, uint64_t min, uint64_t max, uint64_t *ret, struct err *e)
{
	size_t at = d->at;
	uint64_t v;
	const char *fault = NULL;
	int r = pack_get_leb(d, &v, &fault);
	if (r == -EPIPE)
		return pack_damaged(e, at, "the frame ends inside %s", name);
	if (r < 0)
		return pack_damaged(e, at, "the number %s %s", name, fault);
	if (v < min || v > max)
		return pack_damaged(e, at, "%s is %" PRIu64 ", must be %" PRIu64 " to %" PRIu64, name, v, min, max);
	*ret = v;
	return 0;
}

int pack_get_bytes(struct pack_in *d, const char *name, void *ret, size_t n, struct err *e)
{
	if (n > d->end - d->at)
		return pack_damaged(e, d->at, "the frame ends inside %s", name);
	memcpy(ret, d->data + d->at, n);
	d->at += n;
	return 0;
}

static int get_text(struct pack_in *d, const struct pack_field *f, char *ret, struct err *e)
{
	size_t at = d->at;
	uint64_t len;
	int r = pack_get_varint(d, f->length_name, f->min, f->max, &len, e);
	if (r == 0)
		r = pack_get_bytes(d, f->name, ret, len, e);
	if (r < 0)
		return r;
	memset(ret + len, 0, f->size - len);
	if (strlen(ret) != len)
		return pack_damaged(e, at, "%s has a 0 byte inside", f->name);
	char hex[5] = "";
	const char *fault = text_fault(ret, f->size, f, hex);
	if (fault)
		return pack_damaged(e, at, "%s %s%s%s", f->name, fault, *hex ? " " : "", hex);
	return 0;
}

static int get_field(struct pack_in *d, const struct pack_field *f, void *base, struct err *e)
{
	char *p = (char *)base + f->offset;
	if (f->kind == PACK_TEXT)
		return get_text(d, f, p, e);
	if (f->kind == PACK_BYTES)
		return pack_get_bytes(d, f->name, p, f->size, e);
	uint64_t v;
	int r = pack_get_varint(d, f->name, f->min, f->max, &v, e);
	if (r < 0)
		return r;
	if (f->kind == PACK_U64) {
		memcpy(p, &v, sizeof(v));
	} else if (f->kind == PACK_U32) {
		uint32_t v32 = (uint32_t)v;
		memcpy(p, &v32, sizeof(v32));
	} else {
		int32_t scale = (int32_t)v - 1;
		memcpy(p, &scale, sizeof(scale));
	}
	return 0;
}

int pack_get_fields(struct pack_in *d, const struct pack_field *f, size_t n, void *base, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		int r = get_field(d, &f[i], base, e);
		if (r < 0)
			return r;
	}
	return 0;
}

int pack_get_end(const struct pack_in *d, struct err *e)
{
	if (d->at != d->end)
		return pack_damaged(e, d->at, "%zu bytes more than the frame's content needs", d->end - d->at);
	return 0;
}
