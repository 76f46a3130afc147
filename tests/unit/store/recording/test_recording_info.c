/* SPDX-License-Identifier: MIT */
/* The keys that programs read. */
#include "config.h"

#include <errno.h>

#include "store/recording/recording.h"
#include "store/recording/recording_info.h"
#include "lib/made_read.h"
#include "lib/suite.h"

static struct made m;
static struct recording *rec;

START_TEST(info)
{
	static const char *const keys[] = {
		"name",
		"state",
		"stream",
		"format",
		"start",
		"end",
		"bytes",
		"payload",
		"packets",
		"packets_lost",
		"packets_reordered",
		"packets_late",
		"packets_duplicate",
		"packets_unreadable",
		"datagrams",
		"drops",
		"overruns",
		"runs",
		"disks",
		"chunks",
		"gaps",
		"fill",
		"subs",
		"store",
		"absent",
		"heaps",
		"heaps_incomplete",
	};
	const char *state, *base, *start;
	json_int_t bytes, late, wrong, chunks;
	json_t *json;

	made_begin(&m);
	made_blocks(&m, 4);
	made_end(&m, 4);
	opened(&m, &rec);
	json = recording_info(rec);
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		ck_assert_msg(json_object_get(json, keys[i]) != NULL, "%s",
			      keys[i]);
	ck_assert_int_eq(
	    json_unpack(json,
			"{s:s, s:s, s:I, s:I, s:{s:I}, s:[{s:s}], s:[{s:I}]}",
			"state", &state, "start", &start, "bytes", &bytes,
			"packets_late", &late, "drops", "wrong_size", &wrong,
			"runs", "base", &base, "disks", "chunks", &chunks),
	    0);
	ck_assert_str_eq(state, "complete");
	ck_assert_str_eq(start, "2025-11-20T10:00:00.000000005Z");
	ck_assert_str_eq(base, "4812800702");
	ck_assert_int_eq(bytes, 4 * MADE_BLOCK);
	ck_assert_int_eq(late, 3);
	ck_assert_int_eq(wrong, 2);
	ck_assert_int_eq(chunks, 2);
	ck_assert(json_is_null(json_object_get(json, "overruns")));
	json_decref(json);
	done(&m, rec);
}
END_TEST

/* Without an end line nobody knows what only the daemon counted. */
START_TEST(counted_by_nobody)
{
	struct made_block mb;
	const json_t *sub;
	json_t *json;

	made_begin(&m);
	made_block(&m, &mb, 0, 0, 10);
	made_write(&m, 0, &mb);
	opened(&m, &rec);
	json = recording_info(rec);
	for (const struct key *key = info_keys; key->name; key++) {
		if (key->groups & INFO_COUNTED)
			ck_assert_msg(
			    json_is_null(json_object_get(json, key->name)),
			    "%s", key->name);
	}
	ck_assert_int_eq(json_integer_value(json_object_get(json, "packets")),
			 10);
	sub = json_array_get(json_object_get(json, "subs"), 0);
	for (const struct key *key = info_sub_keys; key->name; key++)
		ck_assert_msg(json_is_null(json_object_get(sub, key->name)) ==
				  !!(key->groups & INFO_COUNTED),
			      "%s", key->name);
	ck_assert_ptr_null(json_object_get(json, "id"));
	ck_assert_ptr_null(json_object_get(json, "rate"));
	ck_assert_ptr_null(json_object_get(json, "descriptors"));
	json_decref(json);
	done(&m, rec);
}
END_TEST

START_TEST(substreams)
{
	json_int_t packets, lost, bytes, runs, number, sub, descriptors,
	    controls;
	json_t *json,
	    *line = json_pack("{s:s s:i}", "descriptor", "eA==", "id", 7),
	    *stop = json_pack("{s:s s:s}", "control", "stop", "heap", "9");
	static struct made_block mb;

	m.subs = 3;
	m.store = HEAP_CUBE;
	made_begin(&m);
	ck_assert_int_eq(folder_note(m.folder[1], line), 0);
	json_decref(line);
	/* Parity puts it on several disks. */
	ck_assert_int_eq(folder_note(m.folder[0], stop), 0);
	ck_assert_int_eq(folder_note(m.folder[1], stop), 0);
	json_decref(stop);
	m.sub = 2;
	made_block(&m, &mb, 0, 0, 10);
	made_write(&m, 0, &mb);
	made_end(&m, 2);
	opened(&m, &rec);
	json = recording_info(rec);
	ck_assert_int_eq(json_unpack(json,
				     "{s:[{s:n},{},{s:I,s:I,s:I,s:I,s:I}], "
				     "s:[{s:I}], s:I, s:I}",
				     "subs", "start", "sub", &number, "packets",
				     &packets, "packets_lost", &lost, "bytes",
				     &bytes, "runs", &runs, "runs", "sub", &sub,
				     "descriptors", &descriptors, "controls",
				     &controls),
			 0);
	ck_assert_int_eq(number, 2);
	ck_assert_int_eq(packets, 10);
	ck_assert_int_eq(lost, 0);
	ck_assert_int_eq(bytes, 10 * MADE_PAYLOAD);
	ck_assert_int_eq(runs, 1);
	ck_assert_int_eq(sub, 2);
	ck_assert_int_eq(descriptors, 1);
	ck_assert_int_eq(controls, 1);
	ck_assert_int_eq(json_integer_value(json_object_get(json, "absent")),
			 1);
	ck_assert_str_eq(json_string_value(json_object_get(json, "store")),
			 "cube");
	json_decref(json);
	done(&m, rec);
}
END_TEST

SUITE("recording_info", info, counted_by_nobody, substreams)
