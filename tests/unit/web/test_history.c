/* SPDX-License-Identifier: MIT */
#include "web/history.c"

#include "lib/suite.h"

/* spated always answers. */
bool
figures_refresh(struct figures *f)
{
	f->up = true;
	return true;
}

/* A stream whose channels have so many tones each, and what plots do not need. */
static json_t *
stream_make(unsigned channels, unsigned tones)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < channels; i++) {
		json_t *some = json_array();

		for (unsigned k = 0; k < tones; k++)
			json_array_append_new(
			    some, json_pack("{s:f, s:f, s:f, s:b}", "hz",
					    k * 5e6, "phase", -12.3456 - k,
					    "amplitude", .1, "present", 1));
		json_array_append_new(
		    list, json_pack("{s:i, s:i, s:i, s:o, s:[f, f]}", "sub", 0,
				    "thread", 0, "channel", (int)i, "tones",
				    some, "spectrum", 1., 1.));
	}
	return json_pack("{s:s, s:i, s:o}", "name", "s", "subs", 1, "channels",
			 list);
}

/* Returns the channels that a moment keeps of such a stream. */
static json_t *
kept(unsigned channels, unsigned tones)
{
	struct figures f = { .status = json_pack("{s:{}}", "memory"),
			     .streams = json_array() };
	struct history h = { .next = 0 };
	json_t *all, *list;
	char *text;

	json_array_append_new(f.streams, stream_make(channels, tones));
	history_step(&h, &f);
	text = history_text(&h);
	all = json_loads(text, 0, NULL);
	ck_assert_uint_eq(json_array_size(all), 1);
	list = json_object_get(
	    json_array_get(json_object_get(json_array_get(all, 0), "streams"),
			   0),
	    "channels");
	json_incref(list);
	json_decref(all);
	free(text);
	history_clear(&h);
	json_decref(f.status);
	json_decref(f.streams);
	return list;
}

static size_t
tones_n(const json_t *list, size_t i)
{
	return json_array_size(
	    json_object_get(json_array_get(list, i), "tones"));
}

START_TEST(all_tones_of_a_few_channels)
{
	json_t *list = kept(4, 8);
	const json_t *tone = json_array_get(
	    json_object_get(json_array_get(list, 3), "tones"), 7);

	ck_assert_uint_eq(json_array_size(list), 4);
	ck_assert_uint_eq(tones_n(list, 0), 8);
	ck_assert_double_eq(json_number_value(json_object_get(tone, "hz")),
			    35e6);
	ck_assert_double_eq(json_number_value(json_object_get(tone, "phase")),
			    -19.3);
	ck_assert_ptr_eq(json_object_get(tone, "amplitude"), NULL);
	ck_assert_ptr_eq(json_object_get(json_array_get(list, 0), "spectrum"),
			 NULL);
	json_decref(list);
}
END_TEST

START_TEST(some_of_many)
{
	json_t *list = kept(100, 8);

	ck_assert_uint_eq(json_array_size(list), 100);
	ck_assert_uint_eq(tones_n(list, 99), 2);
	json_decref(list);
	list = kept(1000, 8);
	ck_assert_uint_eq(json_array_size(list), 256);
	ck_assert_uint_eq(tones_n(list, 255), 1);
	json_decref(list);
}
END_TEST

START_TEST(none_without_tones)
{
	json_t *list = kept(8, 0);

	ck_assert_uint_eq(json_array_size(list), 0);
	json_decref(list);
}
END_TEST

/* The oldest moment makes room for the newest. */
START_TEST(ten_minutes)
{
	struct figures f = { .status = json_pack("{s:{}}", "memory"),
			     .streams = json_array() };
	struct history h = { .next = 0 };
	json_t *all;
	char *text;

	for (int i = 0; i < HISTORY_MOST + 5; i++) {
		h.at = 0;
		history_step(&h, &f);
	}
	/* The next one is not due. */
	history_step(&h, &f);
	text = history_text(&h);
	all = json_loads(text, 0, NULL);
	ck_assert_uint_eq(json_array_size(all), HISTORY_MOST);
	for (size_t i = 1; i < HISTORY_MOST; i++)
		ck_assert_double_ge(json_number_value(json_object_get(
					json_array_get(all, i), "at")),
				    json_number_value(json_object_get(
					json_array_get(all, i - 1), "at")));
	json_decref(all);
	free(text);
	history_clear(&h);
	json_decref(f.status);
	json_decref(f.streams);
}
END_TEST

SUITE("history", all_tones_of_a_few_channels, some_of_many, none_without_tones,
      ten_minutes)
