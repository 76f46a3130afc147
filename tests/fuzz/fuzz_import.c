/* SPDX-License-Identifier: MIT */
/*
 * Reads foreign text as one form of schedule, FUZZ_IMPORT, for the station it
 * has and for Ef.  What becomes of it must be in order: names that recordings
 * can have, scans that end after they begin, and a file that libconfig reads.
 */
#include <stdlib.h>
#include <string.h>

#include "base/conf.h"
#include "cli/schedule/import_scans.h"

static void
require(bool truth)
{
	if (!truth)
		abort();
}

static void
look_at(const struct import *im)
{
	const struct import_order order = { "a,b", "tcp://h:1", 1 };
	struct fault fault = { 0 };
	struct conf *conf = NULL;
	char *text;

	for (unsigned i = 0; i < im->n; i++) {
		require(layout_name_good(im->scan[i].name));
		require(im->scan[i].start < im->scan[i].stop);
		require(im->scan[i].start >= 0);
		require(!i || im->scan[i - 1].start <= im->scan[i].start);
	}
	text = import_conf(im, &order);
	require(text && conf_open_text(&conf, text, "f", &fault) == 0);
	conf_close(conf);
	free(text);
}

static void
read_as(const char *station, const char *text, size_t bytes)
{
	struct import im = { .file = "f", .station = station };
	struct fault fault = { 0 };
	int err = FUZZ_IMPORT(&im, text, bytes, &fault);

	if (!err)
		err = import_finish(&im, &fault);
	if (err)
		require(fault.code && fault.what[0]);
	else
		look_at(&im);
	for (unsigned i = 0; i < im.kept; i++)
		require(im.note[i] && !strchr(im.note[i], '\n'));
	import_clear(&im);
	err = import_text(&im, text, bytes, &fault);
	require(err <= 0);
	import_clear(&im);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1);

	require(text != NULL);
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	read_as(NULL, text, bytes);
	read_as("Ef", text, bytes);
	free(text);
	return 0;
}
