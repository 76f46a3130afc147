/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/conf.h"
#include "lib/suite.h"

#define SECOND INT64_C(1000000000)

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

#define AT(field) .name = #field, .offset = offsetof(struct all, field)

static const struct option_key all_options[] = {
	{ AT(flag), .type = OPTION_FLAG },
	{ AT(count), .type = OPTION_COUNT, .min = 1, .max = 64 },
	{ AT(bytes), .type = OPTION_BYTES, .min = 4096 },
	{ AT(rate), .type = OPTION_RATE },
	{ AT(span), .type = OPTION_SPAN, .max = 3600 * SECOND },
	{ AT(share), .type = OPTION_SHARE },
	{ AT(text), .type = OPTION_TEXT },
	{ AT(choice), .type = OPTION_CHOICE, .choices = "udp|gen|null" },
	{ AT(texts), .type = OPTION_TEXTS },
	{ AT(counts), .type = OPTION_COUNTS, .max = 1023 },
	{ .name = NULL },
};

static struct fault fault;

static struct conf *
open_text(const char *text)
{
	struct conf *conf = NULL;
	int err = conf_open_text(&conf, text, "t.conf", &fault);

	ck_assert_msg(err == 0, "%s: %s %s", text, fault.what, fault.why);
	return conf;
}

/* The root group through the big table; the caller closes the conf. */
static int
fill(const char *text, struct all *all, struct conf **conf)
{
	const struct conf_part part = { all_options, all };

	memset(all, 0, sizeof *all);
	memset(&fault, 0, sizeof fault);
	*conf = open_text(text);
	return conf_fill(*conf, conf_root(*conf), &part, 1, NULL, &fault);
}

static void
check_filled(const char *text, struct all *all, struct conf **conf)
{
	int err = fill(text, all, conf);

	ck_assert_msg(err == 0, "%s: %s; %s", text, fault.what, fault.hint);
}

static void
check_refused(const char *text, const char *what, const char *hint)
{
	struct all all;
	struct conf *conf;

	ck_assert_msg(fill(text, &all, &conf) == -EINVAL, "%s", text);
	ck_assert_str_eq(fault.code, "conf");
	ck_assert_str_eq(fault.what, what);
	if (hint)
		ck_assert_str_eq(fault.hint, hint);
	conf_close(conf);
}

START_TEST(every_type)
{
	struct all all;
	struct conf *conf;

	check_filled("flag = true; count = 64; bytes = \"64M\";\n"
		     "rate = \"8Gbps\"; span = \"1m30s\"; share = 0.25;\n"
		     "text = \"hello\"; choice = \"null\";\n"
		     "texts = [ \"a\", \"b\" ]; counts = ( 7, 0 );",
		     &all, &conf);
	ck_assert(all.flag);
	ck_assert_uint_eq(all.count, 64);
	ck_assert_uint_eq(all.bytes, 64 << 20);
	ck_assert_uint_eq(all.rate, 8000000000);
	ck_assert_int_eq(all.span, 90 * SECOND);
	ck_assert_double_eq(all.share, 0.25);
	ck_assert_str_eq(all.text, "hello");
	ck_assert_str_eq(all.choice, "null");
	ck_assert_uint_eq(all.texts.n, 2);
	ck_assert_str_eq(all.texts.text[1], "b");
	ck_assert_uint_eq(all.counts.n, 2);
	ck_assert_uint_eq(all.counts.count[0], 7);
	conf_close(conf);
}
END_TEST

START_TEST(other_ways_to_write_them)
{
	struct all all;
	struct conf *conf;

	check_filled("count = \"12\"; bytes = 8589934592L; rate = 1000;\n"
		     "span = 2.5; share = 1; texts = \"a\"; counts = 5;",
		     &all, &conf);
	ck_assert_uint_eq(all.count, 12);
	ck_assert_uint_eq(all.bytes, UINT64_C(8589934592));
	ck_assert_uint_eq(all.rate, 1000);
	ck_assert_int_eq(all.span, 5 * SECOND / 2);
	ck_assert_double_eq(all.share, 1);
	ck_assert_uint_eq(all.texts.n, 1);
	ck_assert_str_eq(all.texts.text[0], "a");
	ck_assert_uint_eq(all.counts.n, 1);
	ck_assert_uint_eq(all.counts.count[0], 5);
	conf_close(conf);
	check_filled("span = 10; texts = []; counts = ();", &all, &conf);
	ck_assert_int_eq(all.span, 10 * SECOND);
	ck_assert_uint_eq(all.texts.n, 0);
	ck_assert_uint_eq(all.counts.n, 0);
	conf_close(conf);
}
END_TEST

START_TEST(wrong_types)
{
	check_refused("flag = 1;", "t.conf:1: flag cannot be 1",
		      "flag takes true or false");
	check_refused("\nflag = \"true\";", "t.conf:2: flag cannot be \"true\"",
		      NULL);
	check_refused("count = 1.5;", "t.conf:1: count cannot be 1.5", NULL);
	check_refused("count = true;", "t.conf:1: count cannot be true", NULL);
	check_refused("count = \"4k\";", "t.conf:1: count cannot be \"4k\"",
		      NULL);
	check_refused("count = \"\";", "t.conf:1: count cannot be \"\"", NULL);
	check_refused("bytes = [ 1 ];", "t.conf:1: bytes cannot be a list",
		      "bytes takes a size, as \"64M\" or 67108864, at least "
		      "4.0 KiB");
	check_refused("rate = \"8GBps\";", "t.conf:1: rate cannot be \"8GBps\"",
		      NULL);
	check_refused("rate = 1.0;", "t.conf:1: rate cannot be 1", NULL);
	check_refused("span = \"soon\";", "t.conf:1: span cannot be \"soon\"",
		      NULL);
	check_refused("share = \"101%\";", "t.conf:1: share cannot be \"101%\"",
		      "share takes a number from 0.0 to 1.0, or as \"1%\"");
	check_refused("text = 5;", "t.conf:1: text cannot be 5",
		      "text takes text in quotes");
	check_refused("text = { a = 1; };", "t.conf:1: text cannot be a group",
		      NULL);
	check_refused("texts = { a = \"1\"; };",
		      "t.conf:1: texts cannot be a group", NULL);
	check_refused("texts = ( \"a\",\n 2 );", "t.conf:2: texts cannot be 2",
		      NULL);
	check_refused("counts = [ \"a\" ];", "t.conf:1: counts cannot be \"a\"",
		      NULL);
	check_refused("counts = ( [ 1 ] );",
		      "t.conf:1: counts cannot be a list", NULL);
}
END_TEST

START_TEST(impossible_values)
{
	check_refused("count = 0;", "t.conf:1: count cannot be 0",
		      "count takes a whole number, at least 1, at most 64");
	check_refused("count = 65;", "t.conf:1: count cannot be 65", NULL);
	check_refused("count = -1;", "t.conf:1: count cannot be -1", NULL);
	check_refused("count = 4294967297L;",
		      "t.conf:1: count cannot be 4294967297", NULL);
	check_refused("bytes = 4095;", "t.conf:1: bytes cannot be 4095", NULL);
	check_refused("bytes = \"99999999T\";",
		      "t.conf:1: bytes cannot be \"99999999T\"", NULL);
	check_refused("span = -1;", "t.conf:1: span cannot be -1", NULL);
	check_refused("span = -0.5;", "t.conf:1: span cannot be -0.5", NULL);
	check_refused("span = 1e999;", "t.conf:1: span cannot be inf", NULL);
	check_refused("span = 9223372036854775807L;",
		      "t.conf:1: span cannot be 9223372036854775807", NULL);
	check_refused("span = \"2h\";", "t.conf:1: span cannot be \"2h\"",
		      "span takes a time, as \"10s\" or \"250ms\", at most "
		      "1h 00m");
	check_refused("share = 1.01;", "t.conf:1: share cannot be 1.01", NULL);
	check_refused("share = -1;", "t.conf:1: share cannot be -1", NULL);
	check_refused("choice = \"ud\";", "t.conf:1: choice cannot be \"ud\"",
		      "choice takes one of udp, gen, null");
	check_refused("choice = \"udp|gen\";",
		      "t.conf:1: choice cannot be \"udp|gen\"", NULL);
	check_refused("choice = \"\";", "t.conf:1: choice cannot be \"\"",
		      NULL);
	check_refused("counts = [ 0, 1,\n1024 ];",
		      "t.conf:2: counts cannot be 1024", NULL);
}
END_TEST

START_TEST(unknown_keys)
{
	check_refused("count = 2;\ncuont = 1;", "t.conf:2: unknown key 'cuont'",
		      "did you mean 'count'? the keys here are flag, count, "
		      "bytes, rate, span, share, text, choice, texts, counts");
	check_refused("zebra = 1;", "t.conf:1: unknown key 'zebra'",
		      "the keys here are flag, count, bytes, rate, span, "
		      "share, text, choice, texts, counts");
	check_refused("Flag = true;", "t.conf:1: unknown key 'Flag'", NULL);
}
END_TEST

START_TEST(parts_and_known_keys)
{
	static const struct option_key one[] = {
		{ .name = "one", .type = OPTION_COUNT },
		{ .name = NULL },
	};
	static const struct option_key two[] = {
		{ .name = "two", .type = OPTION_COUNT },
		{ .name = NULL },
	};
	static const char *const known[] = { "three", NULL };
	uint32_t a = 0, b = 0;
	const struct conf_part parts[] = { { one, &a },
					   { NULL, NULL },
					   { two, &b } };
	struct conf *conf = open_text("one = 1; two = 2; three = { x = 1; };");

	ck_assert_int_eq(
	    conf_fill(conf, conf_root(conf), parts, 3, known, &fault), 0);
	ck_assert_uint_eq(a, 1);
	ck_assert_uint_eq(b, 2);
	ck_assert_int_eq(
	    conf_fill(conf, conf_root(conf), parts, 3, NULL, &fault), -EINVAL);
	ck_assert_str_eq(fault.what, "t.conf:1: unknown key 'three'");
	ck_assert_str_eq(fault.hint, "the keys here are one, two");
	conf_close(conf);
}
END_TEST

#define WITH(text) .fallback = text

static const struct option_key fallbacks[] = {
	{ AT(flag), .type = OPTION_FLAG, WITH("true") },
	{ AT(count), .type = OPTION_COUNT, WITH("3000000000") },
	{ AT(bytes), .type = OPTION_BYTES, WITH("64M") },
	{ AT(rate), .type = OPTION_RATE, WITH("\"8Gbps\"") },
	{ AT(span), .type = OPTION_SPAN, WITH("2s") },
	{ AT(share), .type = OPTION_SHARE, WITH("0.01") },
	{ AT(text), .type = OPTION_TEXT, WITH("/run/a b") },
	{ AT(choice), .type = OPTION_CHOICE, WITH("b"), .choices = "a|b" },
	{ AT(texts), .type = OPTION_TEXTS, WITH("[ \"x\", \"y\" ]") },
	{ AT(counts), .type = OPTION_COUNTS, WITH("0") },
	{ .name = NULL },
};

START_TEST(fallbacks_of_all_types)
{
	struct all all = { 0 };
	const struct conf_part part = { fallbacks, &all };
	struct conf *conf = open_text("");

	ck_assert_int_eq(conf_fill(conf, NULL, &part, 1, NULL, &fault), 0);
	ck_assert(all.flag);
	ck_assert_uint_eq(all.count, 3000000000);
	ck_assert_uint_eq(all.bytes, 64 << 20);
	ck_assert_uint_eq(all.rate, 8000000000);
	ck_assert_int_eq(all.span, 2 * SECOND);
	ck_assert_double_eq(all.share, 0.01);
	ck_assert_str_eq(all.text, "/run/a b");
	ck_assert_str_eq(all.choice, "b");
	ck_assert_uint_eq(all.texts.n, 2);
	ck_assert_str_eq(all.texts.text[1], "y");
	ck_assert_uint_eq(all.counts.n, 1);
	ck_assert_uint_eq(all.counts.count[0], 0);
	conf_close(conf);
}
END_TEST

START_TEST(the_file_wins)
{
	struct all all = { 0 };
	const struct conf_part part = { fallbacks, &all };
	struct conf *conf = open_text("flag = false; texts = [];");

	ck_assert_int_eq(
	    conf_fill(conf, conf_root(conf), &part, 1, NULL, &fault), 0);
	ck_assert(!all.flag);
	ck_assert_uint_eq(all.texts.n, 0);
	ck_assert_uint_eq(all.bytes, 64 << 20);
	conf_close(conf);
}
END_TEST

START_TEST(without_fallback_what_is_preset_stays)
{
	struct all all = { .count = 7 };
	const struct conf_part part = { all_options, &all };
	struct conf *conf = open_text("flag = true;");

	ck_assert_int_eq(
	    conf_fill(conf, conf_root(conf), &part, 1, NULL, &fault), 0);
	ck_assert_uint_eq(all.count, 7);
	ck_assert_ptr_null(all.text);
	conf_close(conf);
}
END_TEST

START_TEST(broken_fallbacks)
{
	static const struct option_key bad[][2] = {
		{ { AT(count), .type = OPTION_COUNT, WITH("many") } },
		{ { AT(flag), .type = OPTION_FLAG, WITH("maybe") } },
		{ { AT(counts), .type = OPTION_COUNTS, WITH("[ 1") } },
		{ { AT(choice), .type = OPTION_CHOICE, WITH("c"),
		    .choices = "a|b" } },
	};
	struct all all = { 0 };
	struct conf *conf = open_text("");

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		const struct conf_part part = { bad[i], &all };

		ck_assert_int_eq(conf_fill(conf, NULL, &part, 1, NULL, &fault),
				 -EINVAL);
		ck_assert_str_eq(fault.code, "internal");
		ck_assert_ptr_nonnull(strstr(fault.what, bad[i]->name));
	}
	conf_close(conf);
}
END_TEST

START_TEST(not_a_group)
{
	struct conf *conf = open_text("\nstreams = 5; scans = ( 7 );");
	config_setting_t *root = conf_root(conf);
	config_setting_t *scans = config_setting_get_member(root, "scans");

	ck_assert_int_eq(conf_fill(conf,
				   config_setting_get_member(root, "streams"),
				   NULL, 0, NULL, &fault),
			 -EINVAL);
	ck_assert_str_eq(fault.what, "t.conf:2: 'streams' is not a group");
	ck_assert_int_eq(conf_fill(conf, config_setting_get_elem(scans, 0),
				   NULL, 0, NULL, &fault),
			 -EINVAL);
	conf_close(conf);
}
END_TEST

SUITE("conf_fill", every_type, other_ways_to_write_them, wrong_types,
      impossible_values, unknown_keys, parts_and_known_keys,
      fallbacks_of_all_types, the_file_wins,
      without_fallback_what_is_preset_stays, broken_fallbacks, not_a_group)
