/* SPDX-License-Identifier: MIT */
/* Bytes of any kind become text that JSON can have. */
#include "config.h"

#include "base/text.h"
#include "lib/suite.h"

static void
is(const char *bytes, const char *text)
{
	json_t *json = text_json(bytes);

	ck_assert_ptr_nonnull(json);
	ck_assert_str_eq(json_string_value(json), text);
	json_decref(json);
}

#define NONE "\xef\xbf\xbd"

START_TEST(good)
{
	is("", "");
	is("plain", "plain");
	is("\u00fcn\u00ef \u20ac \U0001f52d",
	   "\u00fcn\u00ef \u20ac \U0001f52d");
	is("\x7f", "\x7f");
}
END_TEST

START_TEST(bad)
{
	is("\xfcn", NONE "n");			     /* Latin-1 */
	is("a\xc3", "a" NONE);			     /* cut */
	is("\xe2\x82z", NONE NONE "z");		     /* cut within */
	is("\xc0\xaf", NONE NONE);		     /* longer than needed */
	is("\xe0\x80\x80", NONE NONE NONE);	     /* the same */
	is("\xed\xa0\x80", NONE NONE NONE);	     /* a surrogate */
	is("\xf4\x90\x80\x80", NONE NONE NONE NONE); /* beyond the last */
	is("\xff\u20ac\x80", NONE "\u20ac" NONE);
}
END_TEST

static void
escapes(const char *bytes, const char *text)
{
	char to[256], one[64];
	size_t length = strlen(bytes), put, left, begun = 0;

	put = text_escape(to, bytes, length, &left);
	ck_assert_uint_eq(left, 0);
	to[put] = '\0';
	ck_assert_str_eq(to, text);
	/* The same, byte by byte. */
	put = 0;
	for (size_t i = 0; i < length; i++) {
		one[begun] = bytes[i];
		put += text_escape(to + put, one, begun + 1, &left);
		if (left)
			ck_assert_uint_eq(left, begun + 1);
		begun = left;
	}
	to[put] = '\0';
	ck_assert_str_eq(to, text);
}

START_TEST(no_control_character)
{
	char text[] = "a\n\tb\033[2J\x7f\xc2\x9b"
		      "31m \u00a0\u00e9\x9bz";

	ck_assert_str_eq(text_clean(text), "a  b [2J   31m \u00a0\u00e9\x9bz");
	escapes("a\n\tb\r", "a\n\tb\\u000d");
	escapes("\033]0;x\a", "\\u001b]0;x\\u0007");
	escapes("\x7f\xc2\x80\xc2\x9b\xc2\x9f\u00a0",
		"\\u007f\\u0080\\u009b\\u009f\u00a0");
	escapes("Gr\u00f6\u00dfe_\u0394\u5317\U0001f52d",
		"Gr\u00f6\u00dfe_\u0394\u5317\U0001f52d");
}
END_TEST

START_TEST(no_character_at_all)
{
	char to[64];
	size_t left;

	ck_assert_uint_eq(text_escape(to, "\x9bm", 2, &left), 4);
	ck_assert_mem_eq(to, NONE "m", 4);
	ck_assert_uint_eq(text_escape(to, "\xe2\x82", 2, &left), 0);
	ck_assert_uint_eq(left, 2);
	ck_assert_uint_eq(text_escape(to, "\xe2\x82\033", 3, &left), 12);
	ck_assert_uint_eq(left, 0);
	ck_assert_mem_eq(to, NONE NONE "\\u001b", 12);
}
END_TEST

SUITE("text", good, bad, no_control_character, no_character_at_all)
