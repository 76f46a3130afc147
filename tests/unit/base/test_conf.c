/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/conf.h"
#include "lib/suite.h"

static struct fault fault;

static struct conf *
open_text(const char *text)
{
	struct conf *conf = NULL;
	int err = conf_open_text(&conf, text, "t.conf", &fault);

	ck_assert_msg(err == 0, "%s: %s %s", text, fault.what, fault.why);
	return conf;
}

static void
check_unreadable(const char *text, const char *what, const char *hint)
{
	struct conf *conf;

	memset(&fault, 0, sizeof fault);
	ck_assert_msg(conf_open_text(&conf, text, "t.conf", &fault) == -EINVAL,
		      "%s", text);
	ck_assert_str_eq(fault.code, "conf");
	ck_assert_str_eq(fault.what, what);
	ck_assert_str_eq(fault.hint, hint);
}

/* libconfig 1.5 cuts these to 32 bits and says nothing. */
START_TEST(integers_without_l)
{
	static const char over[] = "append L, as in %sL: a number over "
				   "2147483647 needs it";
	static const char *const numbers[] = { "2147483648", "8589934592",
					       "9223372036854775807",
					       "0x80000000", "0xFFFFFFFF" };
	char text[200], what[200], hint[200];

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		sprintf(text, "a = \"x\";\n# b\nc = [ 1, %s ];", numbers[i]);
		sprintf(what, "t.conf:3: %s is too large", numbers[i]);
		sprintf(hint, over, numbers[i]);
		check_unreadable(text, what, hint);
	}
	check_unreadable("a = -2147483649;",
			 "t.conf:1: 2147483649 is too large",
			 "append L, as in 2147483649L: a number over "
			 "2147483647 needs it");
	check_unreadable("a = 99999999999999999999L;",
			 "t.conf:1: 99999999999999999999 is too large", "");
	check_unreadable("a = 99999999999999999999;",
			 "t.conf:1: 99999999999999999999 is too large", "");
}
END_TEST

START_TEST(what_only_looks_like_a_large_integer)
{
	conf_close(open_text("a = 2147483647; b = -2147483648; c = 0x7FFFFFFF;"
			     "d = 9223372036854775807L; e = 0xFFFFFFFFL;"));
	conf_close(open_text("a = 99999999999.5; b = 1e99; c = .99999999999;"
			     "d = 99999999999.; e = 99999999999E-5;"));
	conf_close(open_text("# 99999999999\n// 99999999999\n/* 99999999999\n"
			     "99999999999 */ a = 1;"));
	conf_close(open_text("a = \"99999999999 \\\" 99999999999\";"));
	conf_close(open_text("a-99999999999 = 1; *99999999999 = 2;"));
	conf_close(open_text("a = \"# \"; b = \"/* \"; c = \"*/\";"));
}
END_TEST

START_TEST(broken_text)
{
	check_unreadable("a = 1;\nb == 2;", "t.conf:2: syntax error", "");
	ck_assert_str_eq(fault.why, "at 'b == 2;'");
	check_unreadable("a = 1;\n\n\ta = 2;",
			 "t.conf:3: a key that is already there", "");
	ck_assert_str_eq(fault.why, "at 'a = 2;'");
	check_unreadable("g : { x = 1;\nx = 2; };",
			 "t.conf:2: a key that is already there", "");
	check_unreadable("a = [ 1, \"b\" ];",
			 "t.conf:1: mismatched element type in array", "");
	check_unreadable("a = \"never ends", "t.conf:1: syntax error", "");
	check_unreadable("a = { b = 1;", "t.conf:1: syntax error", "");
	check_unreadable("\n@include \"/\"\n",
			 "t.conf:2: @include is not possible",
			 "write all of it into one file");
}
END_TEST

static void
write_file(const char *path, const void *data, size_t bytes)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(data, 1, bytes, file), bytes);
	ck_assert_int_eq(fclose(file), 0);
}

START_TEST(files)
{
	char folder[] = "/tmp/test_conf.XXXXXX";
	char path[64], want[128];
	static char large[100000];
	struct conf *conf;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	sprintf(path, "%s/c", folder);
	ck_assert_int_eq(conf_open(&conf, path, &fault), -ENOENT);
	ck_assert_str_eq(fault.code, "not-found");
	ck_assert_str_eq(fault.why, "there is no such file");
	ck_assert_int_eq(conf_open(&conf, folder, &fault), -EISDIR);
	ck_assert_str_eq(fault.why, "it is a folder");

	/* Longer than any one read. */
	memset(large, '\n', sizeof large);
	memcpy(large + sizeof large - 6, "a = 1;", 6);
	write_file(path, large, sizeof large);
	ck_assert_int_eq(conf_open(&conf, path, &fault), 0);
	sprintf(want, "%s:%zu", path, sizeof large - 5);
	ck_assert_str_eq(
	    conf_where(conf, config_setting_get_elem(conf_root(conf), 0)),
	    want);
	conf_close(conf);

	write_file(path, "a = 1;\0b = 2;", 13);
	ck_assert_int_eq(conf_open(&conf, path, &fault), -EBADMSG);
	ck_assert_str_eq(fault.why, "it is not text");
	unlink(path);
	rmdir(folder);
}
END_TEST

START_TEST(blame)
{
	struct conf *conf = open_text("a = 1;\nb = 2;");
	config_setting_t *b = config_setting_get_member(conf_root(conf), "b");
	char full[sizeof fault.what];

	fault_set(&fault, 0, "not-found", "there is no such thing");
	ck_assert_int_eq(conf_blame(conf, b, -ENOENT, &fault), -ENOENT);
	ck_assert_str_eq(fault.what, "t.conf:2: there is no such thing");
	ck_assert_str_eq(fault.code, "not-found");

	/* What is full stays whole at its beginning. */
	memset(full, 'x', sizeof full);
	full[sizeof full - 1] = '\0';
	fault_set(&fault, 0, "conf", "%s", full);
	conf_blame(conf, b, 0, &fault);
	ck_assert_int_eq(strncmp(fault.what, "t.conf:2: xxx", 13), 0);
	ck_assert_uint_lt(strlen(fault.what), sizeof fault.what);
	conf_close(conf);
}
END_TEST

static void
check_same(const char *a, const char *b, bool same)
{
	struct conf *one = open_text(a), *two = open_text(b);

	ck_assert_msg(conf_same(conf_root(one), conf_root(two)) == same,
		      "%s %s", a, b);
	ck_assert_msg(conf_same(conf_root(two), conf_root(one)) == same,
		      "%s %s", b, a);
	conf_close(one);
	conf_close(two);
}

START_TEST(the_same)
{
	static const char all[] =
	    "a = 1; b = 1.5; c = true; d = \"x\"; e = [ 1, 2 ];"
	    "f = { g = ( { h = 3L; }, 4 ); };";

	check_same(all, all, true);
	check_same(all,
		   "# other\nf : { g = ( { h = 3L; }, 4 ) };\ne = [1,\n2];"
		   "d = \"x\"; c = true; b = 1.5; a = 1;",
		   true);
	check_same("a = 1;", "a = 2;", false);
	check_same("a = 4294967297L;", "a = 1L;", false);
	check_same("a = 1.5;", "a = 1.25;", false);
	check_same("a = true;", "a = false;", false);
	check_same("a = \"x\";", "a = \"y\";", false);
	check_same("a = \"1\";", "a = 1;", false);
	check_same("a = [ 1, 2 ];", "a = [ 2, 1 ];", false);
	check_same("a = [ 1, 2 ];", "a = [ 1 ];", false);
	check_same("a = { b = 1; };", "a = { c = 1; };", false);
	check_same("a = ( { b = 1; } );", "a = ( { b = 2; } );", false);
	check_same("a = 1;", "a = 1; b = 2;", false);
	ck_assert(conf_same(NULL, NULL));
}
END_TEST

/* Who holds it can read it, until the last one closes it. */
START_TEST(held)
{
	struct conf *conf = open_text("a = \"x\";");
	const config_setting_t *a =
	    config_setting_get_member(conf_root(conf), "a");

	ck_assert(!conf_same(a, NULL));
	ck_assert_ptr_eq(conf_hold(conf), conf);
	conf_close(conf);
	ck_assert_str_eq(config_setting_get_string(a), "x");
	conf_close(conf);
}
END_TEST

static void
check_form(const struct option_key *option, const char *want)
{
	char text[CONF_FORM];

	ck_assert_str_eq(conf_form(text, option), want);
}

START_TEST(forms)
{
	check_form(&(struct option_key){ .type = OPTION_FLAG },
		   "true or false");
	check_form(&(struct option_key){ .type = OPTION_COUNT, .max = 7 },
		   "a whole number, at most 7");
	check_form(&(struct option_key){ .type = OPTION_BYTES, .min = 4096 },
		   "a size, as \"64M\" or 67108864, at least 4.0 KiB");
	check_form(
	    &(struct option_key){ .type = OPTION_CHOICE, .choices = "one|two" },
	    "one of one, two");
}
END_TEST

SUITE("conf", integers_without_l, what_only_looks_like_a_large_integer,
      broken_text, files, blame, the_same, held, forms)
