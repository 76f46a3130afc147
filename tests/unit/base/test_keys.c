/* SPDX-License-Identifier: MIT */
/* A struct becomes an object and is read from it again; unknown is null. */
#include "config.h"

#include "base/keys.h"
#include "lib/suite.h"

enum { ALWAYS = 1, SOMETIMES = 2, UNITS = 4 };

#define THING_KEYS(X)                                                          \
	X(TEXT, name, ALWAYS, "")                                              \
	X(COUNT, count, ALWAYS, "")                                            \
	X(DECIMAL, base, ALWAYS, "")                                           \
	X(REAL, rate, ALWAYS, "")                                              \
	X(TIME, start, ALWAYS, "")                                             \
	X(BOOL, good, ALWAYS, "")                                              \
	X(JSON, list, ALWAYS, "")                                              \
	X(BOOL, odd, ALWAYS | KEY_OPTIONAL, "")                                \
	X(TEXT, why, SOMETIMES | KEY_OPTIONAL, "")                             \
	X(JSON, more, SOMETIMES, "")                                           \
	X(BYTES, size, UNITS, "", "the size")                                  \
	X(INTEGER, rank, UNITS, "")                                            \
	X(SECONDS, left_s, UNITS, "")                                          \
	X(BITS_S, in, UNITS, "")                                               \
	X(BYTES_S, out, UNITS, "")                                             \
	X(MS, wait_ms, UNITS, "")

struct thing {
	THING_KEYS(KEY_MEMBER)
};

#define X(...) KEY_ENTRY(struct thing, __VA_ARGS__)
static const struct key keys[] = { THING_KEYS(X){ .name = NULL } };
#undef X

static void
is(struct thing thing, unsigned groups, const char *text)
{
	json_t *json = keys_json(keys, &thing, groups);
	char *dump;

	ck_assert_ptr_nonnull(json);
	dump = json_dumps(json, JSON_COMPACT);
	ck_assert_str_eq(dump, text);
	free(dump);
	json_decref(json);
}

static const struct thing unknown = { .count = KEY_UNKNOWN,
				      .base = KEY_UNKNOWN,
				      .rate = NAN };

START_TEST(known)
{
	is((struct thing){ .name = "a\xff",
			   .count = 7,
			   .base = UINT64_MAX - 1,
			   .rate = 0.5,
			   .start = 1500000001,
			   .good = true,
			   .list = json_pack("[i]", 1),
			   .more = json_array() },
	   ALWAYS,
	   "{\"name\":\"a\ufffd\",\"count\":7,"
	   "\"base\":\"18446744073709551614\",\"rate\":0.5,"
	   "\"start\":\"1970-01-01T00:00:01.500000001Z\",\"good\":true,"
	   "\"list\":[1]}");
	is((struct thing){ .why = "so", .odd = true, .list = json_array() },
	   SOMETIMES, "{\"why\":\"so\",\"more\":null}");
}
END_TEST

START_TEST(unknown_is_null)
{
	is(unknown, ALWAYS | SOMETIMES,
	   "{\"name\":null,\"count\":null,\"base\":null,\"rate\":null,"
	   "\"start\":null,\"good\":false,\"list\":null,\"more\":null}");
}
END_TEST

/* Reads an object, and makes one of it again. */
static void
read_again(const char *from, const char *text)
{
	json_t *json = json_loads(from, 0, NULL);
	struct thing thing = unknown;

	keys_read(keys, &thing, json, ALWAYS);
	is(thing, ALWAYS, text);
	json_decref(json);
}

START_TEST(reads)
{
	static const char whole[] =
	    "{\"name\":\"x\",\"count\":9007199254740993,"
	    "\"base\":\"18446744073709551614\",\"rate\":2.0,"
	    "\"start\":\"2026-11-23T06:30:00.123456789Z\",\"good\":true,"
	    "\"list\":[1],\"odd\":true}";
	static const char nothing[] =
	    "{\"name\":null,\"count\":null,\"base\":null,\"rate\":null,"
	    "\"start\":null,\"good\":false,\"list\":null}";

	read_again(whole, whole);
	read_again("{}", nothing);
	read_again(nothing, nothing);
	read_again("{\"name\":1,\"count\":\"1\",\"base\":\"-1\",\"rate\":\"2\","
		   "\"start\":\"soon\",\"good\":1,\"list\":null}",
		   nothing);
	read_again("{\"count\":-1,\"base\":\"\"}", nothing);
	read_again("[]", nothing);
}
END_TEST

/* A scan that is late has less than nothing left. */
START_TEST(units)
{
	static const char text[] =
	    "{\"size\":null,\"rank\":-1,\"left_s\":-0.5,\"in\":1.0,\"out\":2.5,"
	    "\"wait_ms\":null}";
	json_t *json = json_loads(text, 0, NULL);
	struct thing thing = unknown;

	keys_read(keys, &thing, json, UNITS);
	json_decref(json);
	ck_assert_uint_eq(key_or_0(thing.size), 0);
	ck_assert(isnan(thing.wait_ms));
	is(thing, UNITS, text);
}
END_TEST

START_TEST(titles)
{
	for (const struct key *key = keys; key->name; key++)
		ck_assert_str_eq(key->title, KEY_IS(key, struct thing, size)
						 ? "the size"
						 : "");
}
END_TEST

START_TEST(drops)
{
	json_t *json = json_pack("{s:[]}", "list");
	json_t *list = json_object_get(json, "list");
	struct thing thing = unknown;

	keys_read(keys, &thing, json, ALWAYS);
	ck_assert_uint_eq(list->refcount, 2);
	keys_drop(keys, &thing, ALWAYS | SOMETIMES);
	ck_assert_uint_eq(list->refcount, 1);
	json_decref(json);
}
END_TEST

START_TEST(leaves_other_groups)
{
	json_t *json = json_pack("{s:s, s:s}", "name", "x", "why", "so");
	struct thing thing = unknown;

	thing.name = "mine";
	keys_read(keys, &thing, json, SOMETIMES);
	ck_assert_str_eq(thing.name, "mine");
	ck_assert_str_eq(thing.why, "so");
	json_decref(json);
}
END_TEST

SUITE("keys", known, unknown_is_null, reads, units, titles, drops,
      leaves_other_groups)
