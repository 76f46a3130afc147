/* SPDX-License-Identifier: MIT */
/*
 * Compares two settings by value: spelling, place in the file and the order of
 * a group's keys do not matter.
 */
#include <string.h>

#include "base/conf.h"

static bool
is_same_value(const config_setting_t *a, const config_setting_t *b)
{
	switch (config_setting_type(a)) {
	case CONFIG_TYPE_STRING:
		return !strcmp(config_setting_get_string(a),
			       config_setting_get_string(b));
	case CONFIG_TYPE_BOOL:
		return config_setting_get_bool(a) == config_setting_get_bool(b);
	case CONFIG_TYPE_FLOAT:
		return config_setting_get_float(a) ==
		       config_setting_get_float(b);
	default:
		return config_setting_get_int64(a) ==
		       config_setting_get_int64(b);
	}
}

static bool
is_same_inside(const config_setting_t *a, const config_setting_t *b)
{
	int n = config_setting_length(a);

	if (config_setting_length(b) != n)
		return false;
	for (int i = 0; i < n; i++) {
		const config_setting_t *x =
		    config_setting_get_elem(a, (unsigned)i);
		const char *name = config_setting_name(x);

		if (!conf_same(x,
			       name ? config_setting_get_member(b, name)
				    : config_setting_get_elem(b, (unsigned)i)))
			return false;
	}
	return true;
}

bool
conf_same(const config_setting_t *a, const config_setting_t *b)
{
	if (!a || !b)
		return a == b;
	if (config_setting_type(a) != config_setting_type(b))
		return false;
	return config_setting_is_aggregate(a) ? is_same_inside(a, b)
					      : is_same_value(a, b);
}
