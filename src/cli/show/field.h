/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_FIELD_H
#define SPATE_CLI_SHOW_FIELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/units.h"

/*
 * Read fields of a JSON object leniently: a missing field is "", 0 or false.
 * Whole numbers may be text, because large ones are sent as text.
 */

static inline const char *
field_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static inline uint64_t
field_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (json_is_string(value))
		return strtoull(json_string_value(value), NULL, 10);
	if (json_is_real(value))
		return (uint64_t)json_real_value(value);
	return (uint64_t)json_integer_value(value);
}

static inline double
field_real(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* Tells whether a field is there and not null. */
static inline bool
field_known(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return value && !json_is_null(value);
}

/* Returns ns since 1970; 0 if the field is no time. */
static inline int64_t
field_time(const json_t *object, const char *key)
{
	int64_t ns;

	return units_time(field_text(object, key), 0, &ns) < 0 ? 0 : ns;
}

#endif
