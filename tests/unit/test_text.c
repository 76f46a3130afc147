/* SPDX-License-Identifier: MIT */
/* Bytes of any kind become text that JSON can have. */
#include "config.h"

#include "base/text.h"
#include "unit/suite.h"

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

SUITE("text", good, bad)
