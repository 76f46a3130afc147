/* SPDX-License-Identifier: MIT */
/*
 * Feeds the configuration with foreign text.  The same text goes to every
 * parser of units; what one of them reads must be shown and, where the form
 * that is shown is exact, read again as the same.
 *
 * A value that was filled is looked at, so that the sanitizer sees a list or
 * a text that does not live as long as its conf.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf.h"
#include "base/shape.h"
#include "base/units.h"

struct all {
	bool flag;
	uint32_t count;
	uint64_t bytes;
	uint64_t rate;
	int64_t span;
	double share;
	const char *text;
	const char *choice;
	struct option_texts texts;
	struct option_counts counts;
};

/* Keys are short: the fuzzer has to find them. */
#define AT(key, field) .name = key, .offset = offsetof(struct all, field)

static const struct option_key options[] = {
	{ AT("f", flag), .type = OPTION_FLAG, .fallback = "true" },
	{ AT("c", count), .type = OPTION_COUNT, .min = 1, .max = 64 },
	{ AT("b", bytes), .type = OPTION_BYTES, .fallback = "64M" },
	{ AT("r", rate), .type = OPTION_RATE },
	{ AT("s", span), .type = OPTION_SPAN, .fallback = "2s" },
	{ AT("h", share), .type = OPTION_SHARE, .fallback = "0.01" },
	{ AT("t", text), .type = OPTION_TEXT },
	{ AT("o", choice), .type = OPTION_CHOICE, .choices = "a|bc" },
	{ AT("l", texts), .type = OPTION_TEXTS, .fallback = "[ \"a\" ]" },
	{ AT("n", counts), .type = OPTION_COUNTS, .max = 1023 },
	{ .name = NULL },
};

static const char *const known[] = { "g", NULL };

static void
require(bool truth)
{
	if (!truth)
		abort();
}

static void
look_at(const struct all *all)
{
	size_t length = 0;

	length += all->text ? strlen(all->text) : 0;
	length += all->choice ? strlen(all->choice) : 0;
	for (unsigned i = 0; i < all->texts.n; i++)
		length += strlen(all->texts.text[i]);
	for (unsigned i = 0; i < all->counts.n; i++)
		require(all->counts.count[i] <= 1023);
	require(length < 1 << 20);
	require(all->span >= 0 && all->share >= 0 && all->share <= 1);
	require(all->count <= 64);
}

static void
fuzz_group(struct conf *conf, config_setting_t *group)
{
	struct all all = { 0 };
	const struct conf_part part = { options, &all };
	struct fault fault = { 0 };

	if (conf_fill(conf, group, &part, 1, known, &fault) == 0)
		look_at(&all);
	else
		require(fault.code && fault.what[0]);
}

static void
fuzz_text(const char *text)
{
	struct fault fault = { 0 };
	config_setting_t *group;
	struct conf *conf;
	char line[1024];

	if (conf_open_text(&conf, text, "f", &fault)) {
		require(fault_line(&fault, line, sizeof line) > 0);
		require(strcmp(fault.code, "conf") == 0);
		return;
	}
	fuzz_group(conf, conf_root(conf));
	group = config_setting_get_member(conf_root(conf), "g");
	if (group)
		fuzz_group(conf, group);
	conf_close(conf);
}

static void
fuzz_units(const char *text)
{
	struct format_shape shape = { 0 };
	char shown[UNITS_TEXT], sequence[SHAPE_SEQUENCE_TEXT];
	uint64_t value;
	int64_t ns, again;

	if (units_bytes(text, &value) == 0)
		require(units_show_bytes(shown, value) == shown);
	if (units_rate(text, &value) == 0)
		require(units_show_rate(shown, value) == shown);
	if (units_span(text, &ns) == 0)
		require(ns >= 0 && units_show_span(shown, ns) == shown);
	if (units_time(text, 1, &ns) == 0) {
		units_show_time_ns(shown, ns);
		require(units_time(shown, 0, &again) == 0 && again == ns);
	}
	if (shape_sequence_parse(&shape, text) == 0) {
		shape_sequence_show(&shape, sequence);
		require(shape_sequence_parse(&shape, sequence) == 0);
	}
}

const char *__lsan_default_suppressions(void);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* libconfig 1.5 forgets the strings it just read when it meets an error. */
const char *
__lsan_default_suppressions(void)
{
	return "leak:strbuf_append\nleak:libconfig_yylex\n";
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1);

	require(text != NULL);
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	fuzz_text(text);
	fuzz_units(text);
	free(text);
	return 0;
}
