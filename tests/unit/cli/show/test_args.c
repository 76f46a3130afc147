/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cli/show/args.h"
#include "lib/suite.h"

struct values {
	bool flag;
	uint64_t count, rate;
	int64_t span, time;
	double share;
	const char *text;
	struct args_texts texts;
};

#define AT(field) offsetof(struct values, field)

static const struct args_option options[] = {
	{ "flag", 'f', ARGS_FLAG, AT(flag), NULL, "a flag" },
	{ "count", 0, ARGS_COUNT, AT(count), "N", "a count" },
	{ "rate", 0, ARGS_RATE, AT(rate), "RATE", "a rate" },
	{ "span", 's', ARGS_SPAN, AT(span), "SPAN", "a span" },
	{ "time", 0, ARGS_TIME, AT(time), "TIME", "a time" },
	{ "share", 0, ARGS_SHARE, AT(share), "SHARE", "a share" },
	{ "text", 't', ARGS_TEXT, AT(text), "TEXT", "a text" },
	{ "texts", 'o', ARGS_TEXTS, AT(texts), "TEXT", "texts" },
	{ .name = NULL },
};

static struct values v;
static struct fault fault;

/* argv is words split at blanks; returns what args_parse does. */
static int
parse(enum args_mode mode, const char *words, char **argv)
{
	static char text[512];
	const struct args_set sets[2] = { { options, &v } };
	char *rest = text, *word;
	int argc = 0;

	memset(&v, 0, sizeof v);
	memset(&fault, 0, sizeof fault);
	strcpy(text, words);
	while ((word = strsep(&rest, " ")))
		argv[argc++] = word;
	argv[argc] = NULL;
	return args_parse(sets, mode, argc, argv, &fault);
}

static void
refused(const char *words, const char *part)
{
	char line[1024];
	char *argv[64];

	ck_assert_int_eq(parse(ARGS_ALL, words, argv), -EINVAL);
	ck_assert_str_eq(fault.code, "usage");
	fault_line(&fault, line, sizeof line);
	ck_assert_msg(strstr(line, part), "%s: %s", words, line);
}

START_TEST(every_type)
{
	char *argv[64];
	int at = parse(ARGS_ALL,
		       "x --flag --count 18446744073709551615 --rate=8Gbps "
		       "--span 1m30s --time 1970-01-01T00:00:01Z --share 0.25 "
		       "--text hello --texts a=b -o c=d one two",
		       argv);

	ck_assert_str_eq(argv[at], "one");
	ck_assert_str_eq(argv[at + 1], "two");
	ck_assert_ptr_null(argv[at + 2]);
	ck_assert(v.flag);
	ck_assert_uint_eq(v.count, UINT64_MAX);
	ck_assert_uint_eq(v.rate, 8000000000);
	ck_assert_int_eq(v.span, 90000000000);
	ck_assert_int_eq(v.time, 1000000000);
	ck_assert_double_eq(v.share, 0.25);
	ck_assert_str_eq(v.text, "hello");
	ck_assert_uint_eq(v.texts.n, 2);
	ck_assert_str_eq(v.texts.text[1], "c=d");
}
END_TEST

START_TEST(letters)
{
	char *argv[64];
	int at = parse(ARGS_ALL, "x -fs 5s -tword one", argv);

	ck_assert_str_eq(argv[at], "one");
	ck_assert(v.flag);
	ck_assert_int_eq(v.span, 5000000000);
	ck_assert_str_eq(v.text, "word");
}
END_TEST

START_TEST(anywhere)
{
	char *argv[64];
	int at = parse(ARGS_ALL, "x one --flag two - -- --text", argv);

	ck_assert(v.flag);
	ck_assert_ptr_null(v.text);
	ck_assert_str_eq(argv[at], "one");
	ck_assert_str_eq(argv[at + 1], "two");
	ck_assert_str_eq(argv[at + 2], "-");
	ck_assert_str_eq(argv[at + 3], "--text");
	at = parse(ARGS_TO_OPERAND, "x --text a one --flag", argv);
	ck_assert_str_eq(argv[at], "one");
	ck_assert_str_eq(v.text, "a");
	ck_assert(!v.flag);
}
END_TEST

START_TEST(no_limit)
{
	char *argv[64];

	ck_assert_int_gt(parse(ARGS_ALL, "x --rate 5", argv), 0);
	ck_assert_uint_eq(v.rate, 5);
	ck_assert_int_gt(parse(ARGS_ALL, "x --rate max", argv), 0);
	ck_assert_uint_eq(v.rate, 0);
	refused("x --rate 0", "as 8Gbps");
}
END_TEST

START_TEST(bad_values)
{
	refused("x --count -1", "a whole number");
	refused("x --count 1k", "a whole number");
	refused("x --count 18446744073709551616", "too large");
	refused("x --count=", "a whole number");
	refused("x --rate 8GBps", "as 8Gbps");
	refused("x --span soon", "as 30s");
	refused("x --span 0s", "as 30s");
	refused("x --time noon", "2026-11-20T10:00:00Z");
	refused("x --share 1.1", "from 0 to 1");
	refused("x --share -0.1", "from 0 to 1");
	refused("x --share nan", "from 0 to 1");
	refused("x --share 0.1x", "from 0 to 1");
}
END_TEST

START_TEST(bad_options)
{
	refused("x --falg", "did you mean --flag?");
	refused("x --conut=7", "unknown option --conut; did you mean --count?");
	refused("x --zzz", "unknown option --zzz");
	refused("x -z", "unknown option -z");
	refused("x -fz", "unknown option -z");
	refused("x --flag=1", "--flag takes no value");
	refused("x --text", "--text needs a value; --text TEXT: a text");
	refused("x -s", "--span needs a value");
}
END_TEST

START_TEST(too_many)
{
	char words[512] = "x";

	for (int i = 0; i <= ARGS_REPEATED; i++)
		strcat(words, " -oa");
	refused(words, "32 times");
}
END_TEST

START_TEST(two_sets)
{
	struct values other = { 0 };
	static const struct args_option more[] = {
		{ "more", 'm', ARGS_COUNT, AT(count), "N", "more" },
		{ .name = NULL },
	};
	const struct args_set sets[3] = { { options, &v }, { more, &other } };
	char *argv[] = { "x", "-m", "3", "--count", "4", NULL };

	memset(&v, 0, sizeof v);
	ck_assert_int_eq(args_parse(sets, ARGS_ALL, 5, argv, &fault), 5);
	ck_assert_uint_eq(other.count, 3);
	ck_assert_uint_eq(v.count, 4);
}
END_TEST

START_TEST(help_has_every_option)
{
	size_t bytes;
	char *text;
	FILE *to = open_memstream(&text, &bytes);

	args_help(options, to);
	fclose(to);
	ck_assert_ptr_nonnull(strstr(text, "  -f, --flag         a flag\n"));
	ck_assert_ptr_nonnull(strstr(text, "      --share SHARE  a share\n"));
	for (const struct args_option *o = options; o->name; o++)
		ck_assert_ptr_nonnull(strstr(text, o->name));
	free(text);
}
END_TEST

SUITE("args", every_type, letters, anywhere, no_limit, bad_values, bad_options,
      too_many, two_sets, help_has_every_option)
