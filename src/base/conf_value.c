/* SPDX-License-Identifier: MIT */
/*
 * Reads one value of the configuration into its struct member.
 *
 * Every refused value is reported in one form, whatever its type: file:line,
 * the key, the value, and what the key accepts.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/conf_priv.h"
#include "base/units.h"

/* A text that grows piece by piece, and is cut at the end of its buffer. */
struct sentence {
	char text[CONF_FORM];
	size_t used;
};

static void __attribute__((format(printf, 2, 3)))
say(struct sentence *s, const char *format, ...)
{
	size_t room = sizeof s->text - s->used;
	va_list args;
	int put;

	va_start(args, format);
	put = vsnprintf(s->text + s->used, room, format, args);
	va_end(args);
	s->used += (size_t)put < room ? (size_t)put : room - 1;
}

static void
say_number(struct sentence *s, enum option_type type, uint64_t value)
{
	char text[UNITS_TEXT];

	switch (type) {
	case OPTION_BYTES: say(s, "%s", units_show_bytes(text, value)); break;
	case OPTION_RATE: say(s, "%s", units_show_rate(text, value)); break;
	case OPTION_SPAN: say(s, "%s", units_show_span(text, value)); break;
	default: say(s, "%" PRIu64, value); break;
	}
}

static void
say_setting(struct sentence *s, const config_setting_t *setting)
{
	switch (config_setting_type(setting)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		say(s, "%lld", config_setting_get_int64(setting));
		break;
	case CONFIG_TYPE_FLOAT:
		say(s, "%g", config_setting_get_float(setting));
		break;
	case CONFIG_TYPE_BOOL:
		say(s, config_setting_get_bool(setting) ? "true" : "false");
		break;
	case CONFIG_TYPE_STRING:
		say(s, "\"%s\"", config_setting_get_string(setting));
		break;
	case CONFIG_TYPE_GROUP: say(s, "a group"); break;
	default: say(s, "a list"); break;
	}
}

/* Says what an option accepts: its form, and its bounds if it has any. */
static void
say_form(struct sentence *s, const struct option_key *option)
{
	static const char *const forms[] = {
		[OPTION_FLAG] = "true or false",
		[OPTION_COUNT] = "a whole number",
		[OPTION_BYTES] = "a size, as \"64M\" or 67108864",
		[OPTION_RATE] = "a rate in bits per second, as \"8Gbps\"",
		[OPTION_SPAN] = "a time, as \"10s\" or \"250ms\"",
		[OPTION_SHARE] = "a number from 0.0 to 1.0, or as \"1%\"",
		[OPTION_TEXT] = "text in quotes",
		[OPTION_CHOICE] = "one of",
		[OPTION_TEXTS] = "a list of texts, as [ \"a\", \"b\" ]",
		[OPTION_COUNTS] = "a list of whole numbers, as [ 0, 1 ]",
	};
	const char *word = option->choices;

	say(s, "%s", forms[option->type]);
	if (option->type == OPTION_CHOICE)
		for (; *word; word += strspn(word, "|")) {
			int length = strcspn(word, "|");

			say(s, "%s %.*s", word == option->choices ? "" : ",",
			    length, word);
			word += length;
		}
	if (option->min) {
		say(s, ", at least ");
		say_number(s, option->type, option->min);
	}
	if (option->max) {
		say(s, ", at most ");
		say_number(s, option->type, option->max);
	}
}

const char *
conf_form(char text[CONF_FORM], const struct option_key *option)
{
	struct sentence form = { .used = 0 };

	say_form(&form, option);
	return memcpy(text, form.text, sizeof form.text);
}

/*
 * Reports that the setting, perhaps one of a list, cannot be the option's
 * value.
 */
static int
refuse(const struct conf_value *v, const config_setting_t *setting)
{
	struct sentence value = { .used = 0 }, form = { .used = 0 };

	say_setting(&value, setting);
	say_form(&form, v->option);
	if (v->fallback)
		fault_set(v->fault, -EINVAL, "internal",
			  "the fallback of %s cannot be %s", v->option->name,
			  value.text);
	else
		fault_set(v->fault, -EINVAL, "conf", "%s: %s cannot be %s",
			  conf_where(v->conf, setting), v->option->name,
			  value.text);
	fault_hint(v->fault, "%s takes %s", v->option->name, form.text);
	return -EINVAL;
}

static int
no_memory(struct fault *fault)
{
	return fault_set(fault, -ENOMEM, "no-memory",
			 "cannot read the configuration: no memory");
}

static int
number_of_text(const char *text, enum option_type type, uint64_t *value)
{
	switch (type) {
	case OPTION_BYTES: return units_bytes(text, value);
	case OPTION_RATE: return units_rate(text, value);
	case OPTION_SPAN: return units_span(text, (int64_t *)value);
	default: break;
	}
	if (text[strspn(text, "0123456789")])
		return -EINVAL;
	return units_bytes(text, value); /* digits only, so no unit is read */
}

/*
 * Reads a number from a setting of any type.  A span without a unit is seconds,
 * and may have a fraction.
 */
static int
number_of_setting(const config_setting_t *s, enum option_type type,
		  uint64_t *value)
{
	const bool span = type == OPTION_SPAN;
	long long number;
	double real;

	switch (config_setting_type(s)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		number = config_setting_get_int64(s);
		if (number < 0 || (span && number > INT64_MAX / NS_SECOND))
			return -ERANGE;
		*value = number * (span ? NS_SECOND : 1);
		return 0;
	case CONFIG_TYPE_FLOAT:
		real = config_setting_get_float(s) * NS_SECOND;
		if (!span || !(real >= 0 && real < (double)INT64_MAX))
			return -EINVAL;
		*value = real;
		return 0;
	case CONFIG_TYPE_STRING:
		return number_of_text(config_setting_get_string(s), type,
				      value);
	default: return -EINVAL;
	}
}

static int
read_number(const struct conf_value *v, const config_setting_t *s,
	    uint64_t *value)
{
	const struct option_key *o = v->option;
	const bool small = o->type == OPTION_COUNT || o->type == OPTION_COUNTS;

	if (number_of_setting(s, o->type, value) || *value < o->min ||
	    (o->max && *value > o->max) || (small && *value > UINT32_MAX))
		return refuse(v, s);
	return 0;
}

static int
read_share(const struct conf_value *v, double *share)
{
	switch (config_setting_type(v->setting)) {
	case CONFIG_TYPE_INT:
		*share = config_setting_get_int(v->setting);
		break;
	case CONFIG_TYPE_FLOAT:
		*share = config_setting_get_float(v->setting);
		break;
	case CONFIG_TYPE_STRING:
		if (units_share(config_setting_get_string(v->setting), share))
			return refuse(v, v->setting);
		break;
	default: return refuse(v, v->setting);
	}
	return *share >= 0 && *share <= 1 ? 0 : refuse(v, v->setting);
}

static int
read_text(const struct conf_value *v, const config_setting_t *s,
	  const char **text)
{
	if (config_setting_type(s) != CONFIG_TYPE_STRING)
		return refuse(v, s);
	*text = config_setting_get_string(s);
	return 0;
}

static int
read_choice(const struct conf_value *v, const char **choice)
{
	const char *word = v->option->choices, *text = NULL;
	int err = read_text(v, v->setting, &text);
	size_t length;

	if (err)
		return err;
	for (; *word; word += length + strspn(word + length, "|")) {
		length = strcspn(word, "|");
		if (length == strlen(text) && memcmp(word, text, length) == 0) {
			*choice = text;
			return 0;
		}
	}
	return refuse(v, v->setting);
}

/* Allocates memory for a list that lives as long as the configuration. */
static void *
keep(struct conf *conf, unsigned n, size_t bytes)
{
	struct conf_kept *kept = calloc(1, sizeof *kept + n * bytes);

	if (!kept)
		return NULL;
	kept->next = conf->kept;
	conf->kept = kept;
	return kept->data;
}

/*
 * Returns the length of a list; a list of one may be written as a bare value.
 */
static unsigned
list_length(const config_setting_t *s)
{
	return config_setting_is_aggregate(s) ? config_setting_length(s) : 1;
}

static const config_setting_t *
list_element(const config_setting_t *s, unsigned i)
{
	return config_setting_is_aggregate(s) ? config_setting_get_elem(s, i)
					      : s;
}

static int
read_texts(const struct conf_value *v, struct option_texts *list)
{
	unsigned n = list_length(v->setting);
	const char **texts = keep(v->conf, n, sizeof *texts);
	int err = texts ? 0 : no_memory(v->fault);

	for (unsigned i = 0; i < n && !err; i++)
		err = read_text(v, list_element(v->setting, i), &texts[i]);
	if (!err)
		*list = (struct option_texts){ texts, n };
	return err;
}

static int
read_counts(const struct conf_value *v, struct option_counts *list)
{
	unsigned n = list_length(v->setting);
	uint32_t *counts = keep(v->conf, n, sizeof *counts);
	int err = counts ? 0 : no_memory(v->fault);
	uint64_t value = 0;

	for (unsigned i = 0; i < n && !err; i++) {
		err = read_number(v, list_element(v->setting, i), &value);
		counts[i] = value;
	}
	if (!err)
		*list = (struct option_counts){ counts, n };
	return err;
}

int
conf_value_read(const struct conf_value *v, void *out)
{
	uint64_t value = 0;
	int err = 0;

	if (config_setting_is_group(v->setting))
		return refuse(v, v->setting);
	switch (v->option->type) {
	case OPTION_FLAG:
		if (config_setting_type(v->setting) != CONFIG_TYPE_BOOL)
			return refuse(v, v->setting);
		*(bool *)out = config_setting_get_bool(v->setting);
		return 0;
	case OPTION_COUNT:
		err = read_number(v, v->setting, &value);
		if (!err)
			*(uint32_t *)out = value;
		return err;
	case OPTION_BYTES:
	case OPTION_RATE:
	case OPTION_SPAN: /* an int64_t, never negative */
		err = read_number(v, v->setting, &value);
		if (!err)
			*(uint64_t *)out = value;
		return err;
	case OPTION_SHARE: return read_share(v, out);
	case OPTION_TEXT: return read_text(v, v->setting, out);
	case OPTION_CHOICE: return read_choice(v, out);
	case OPTION_TEXTS: return read_texts(v, out);
	case OPTION_COUNTS: return read_counts(v, out);
	}
	return fault_set(v->fault, -EINVAL, "internal",
			 "option %s is of no known type", v->option->name);
}
