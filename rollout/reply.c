// SPDX-License-Identifier: Apache-2.0
/* Owns the checks of the members of the controller's replies, and the cleaning of their texts.
 * Must not know what members there are, nor how they are shown. */
#include "reply.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fleet/form.h"

static void wrong(struct reply *r, const char *name, const char *kind)
{
	if (r->failed < 0)
		return;
	r->failed = err_set(r->e, EPROTO,
			    "the controller's answer has no %s '%s', which this version of kpcp needs: are both of the "
			    "same version?",
			    kind, name);
}

const char *reply_text(struct reply *r, const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	if (json_is_string(v))
		return json_string_value(v);
	if (!json_is_null(v))
		wrong(r, name, "text");
	return "";
}

int64_t reply_int(struct reply *r, const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	if (json_is_integer(v))
		return json_integer_value(v);
	if (!json_is_null(v))
		wrong(r, name, "whole number");
	return -1;
}

bool reply_bool(struct reply *r, const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	if (!json_is_boolean(v))
		wrong(r, name, "true or false");
	return json_is_true(v);
}

double reply_real(struct reply *r, const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	if (json_is_number(v))
		return json_number_value(v);
	if (!json_is_null(v))
		wrong(r, name, "number");
	return NAN;
}

json_t *reply_list(struct reply *r, const json_t *o, const char *name)
{
	json_t *v = json_object_get(o, name);

	if (json_is_array(v))
		return v;
	wrong(r, name, "list");
	return NULL;
}

json_t *reply_object(struct reply *r, const json_t *o, const char *name)
{
	json_t *v = json_object_get(o, name);

	if (json_is_object(v))
		return v;
	if (!json_is_null(v))
		wrong(r, name, "object");
	return NULL;
}

const char *reply_element(struct reply *r, const json_t *list, size_t i)
{
	const char *text = json_string_value(json_array_get(list, i));

	if (!text)
		wrong(r, "(element of a list)", "text");
	return text ? text : "";
}

static bool clean_text(char *s)
{
	size_t len = strlen(s), at = form_plain_span(s, len, true);
	bool changed = at < len;

	for (; at < len; at += form_plain_span(s + at, len - at, true))
		s[at] = '?';
	return changed;
}

static void free_text(char **p)
{
	free(*p);
}

static int clean_string(json_t *v, struct err *e)
{
	_cleanup_(free_text) char *copy = strdup(json_string_value(v));

	if (!copy || (clean_text(copy) && json_string_set(v, copy) < 0))
		return err_sys(e, ENOMEM, "cannot read the controller's answer");
	return 0;
}

int reply_clean(json_t *root, struct err *e)
{
	const char *name;
	json_t *v;
	size_t i;
	int r = 0;

	if (json_is_string(root))
		return clean_string(root, e);
	if (json_is_array(root)) {
		json_array_foreach(root, i, v)
		{
			if (r == 0)
				r = reply_clean(v, e);
		}
	} else if (json_is_object(root)) {
		json_object_foreach(root, name, v)
		{
			if (r == 0)
				r = reply_clean(v, e);
		}
	}
	return r;
}
