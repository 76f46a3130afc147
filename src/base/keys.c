/* SPDX-License-Identifier: MIT */
#include "base/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/units.h"

static json_t *
decimal_json(uint64_t n)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, n);
	return json_string(text);
}

static json_t *
time_json(int64_t ns)
{
	char text[UNITS_TEXT];

	return json_string(units_show_time_ns(text, ns));
}

/* Returns a member as JSON, null if it is unknown; NULL without memory. */
static json_t *
value_json(const struct key *key, const void *from)
{
	const void *at = (const char *)from + key->offset;
	const char *text;
	json_t *json;
	uint64_t n;
	int64_t ns;
	double real;

	switch (key->kind) {
	case KEY_TEXT:
		text = *(const char *const *)at;
		return text ? text_json(text) : json_null();
	case KEY_COUNT:
	case KEY_BYTES:
		n = *(const uint64_t *)at;
		return n == KEY_UNKNOWN ? json_null()
					: json_integer((json_int_t)n);
	case KEY_DECIMAL:
		n = *(const uint64_t *)at;
		return n == KEY_UNKNOWN ? json_null() : decimal_json(n);
	case KEY_INTEGER: return json_integer(*(const int64_t *)at);
	case KEY_REAL:
	case KEY_BITS_S:
	case KEY_BYTES_S:
	case KEY_SECONDS:
	case KEY_MS:
		real = *(const double *)at;
		return isfinite(real) ? json_real(real) : json_null();
	case KEY_TIME:
		ns = *(const int64_t *)at;
		return ns ? time_json(ns) : json_null();
	case KEY_BOOL: return json_boolean(*(const bool *)at);
	case KEY_JSON:
		json = *(json_t *const *)at;
		return json ? json : json_null();
	}
	return NULL;
}

json_t *
keys_json(const struct key *keys, const void *from, unsigned groups)
{
	json_t *object = json_object();
	int err = object ? 0 : -1;

	for (const struct key *key = keys; key->name; key++) {
		json_t *value;

		if (!(key->groups & groups) && key->kind != KEY_JSON)
			continue;
		value = value_json(key, from);
		if (err || !(key->groups & groups) ||
		    (key->groups & KEY_OPTIONAL &&
		     (json_is_null(value) || json_is_false(value))))
			json_decref(value);
		else
			err = json_object_set_new_nocheck(object, key->name,
							  value);
	}
	if (!err)
		return object;
	json_decref(object);
	return NULL;
}

static void
value_read(const struct key *key, void *to, const json_t *value)
{
	const char *text = json_string_value(value);
	json_int_t n = json_is_integer(value) ? json_integer_value(value) : -1;
	void *at = (char *)to + key->offset;

	switch (key->kind) {
	case KEY_TEXT: *(const char **)at = text; break;
	case KEY_COUNT:
	case KEY_BYTES:
		*(uint64_t *)at = n < 0 ? KEY_UNKNOWN : (uint64_t)n;
		break;
	case KEY_DECIMAL:
		*(uint64_t *)at = KEY_UNKNOWN;
		if (text && *text >= '0' && *text <= '9')
			*(uint64_t *)at = strtoull(text, NULL, 10);
		break;
	case KEY_INTEGER: *(int64_t *)at = json_integer_value(value); break;
	case KEY_REAL:
	case KEY_BITS_S:
	case KEY_BYTES_S:
	case KEY_SECONDS:
	case KEY_MS:
		*(double *)at =
		    json_is_number(value) ? json_number_value(value) : NAN;
		break;
	case KEY_TIME:
		if (!text || units_time(text, 0, at))
			*(int64_t *)at = 0;
		break;
	case KEY_BOOL: *(bool *)at = json_is_true(value); break;
	case KEY_JSON:
		*(json_t **)at =
		    json_is_null(value) ? NULL : json_incref((json_t *)value);
		break;
	}
}

void
keys_read(const struct key *keys, void *to, const json_t *object,
	  unsigned groups)
{
	for (const struct key *key = keys; key->name; key++) {
		if (key->groups & groups)
			value_read(key, to, json_object_get(object, key->name));
	}
}

void
keys_drop(const struct key *keys, void *of, unsigned groups)
{
	for (const struct key *key = keys; key->name; key++) {
		if (key->groups & groups && key->kind == KEY_JSON)
			json_decref(*(json_t **)((char *)of + key->offset));
	}
}
