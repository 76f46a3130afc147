/* SPDX-License-Identifier: MIT */
/* The keys that programs read. */
#include "config.h"

#include <errno.h>

#include "store/recording.h"
#include "unit/made_read.h"
#include "unit/suite.h"

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
	};
	const char *state, *base, *start;
	json_int_t bytes, late, wrong, chunks;
	json_t *json;

	made_begin(&m);
	made_blocks(&m, 4);
	made_end(&m, 4);
	opened();
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
	done();
}
END_TEST

SUITE("recording_info", info)
