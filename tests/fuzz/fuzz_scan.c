/* SPDX-License-Identifier: MIT */
/*
 * Feeds the schedule with foreign text.  Whatever it says, a scan that is
 * taken has a name that a recording can have, times that can be counted with,
 * and streams; and one that is refused says why, in its file and line.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/schedule/scan.h"
#include "store/disk/layout.h"

static void
require(bool truth)
{
	if (!truth)
		abort();
}

static void
look_at(const struct scan *s)
{
	const int64_t year = INT64_C(365) * 86400 * 1000000000;
	json_t *json = scan_json(s, 0);

	require(json != NULL);
	json_decref(json);
	require(s->name[0] && !strcmp(s->file, "f.conf") && s->line);
	if (s->wrong) {
		require(s->state == SCAN_REFUSED);
		require(!strncmp(s->why, "f.conf:", 7));
		return;
	}
	require(layout_name_good(s->name));
	require(s->start >= 0 && s->stop > s->start);
	require(s->stop < INT64_MAX || s->action == SCAN_SEND);
	require(s->action == SCAN_RECORD ? !s->to : s->to && !s->send);
	require(s->action == SCAN_RECORD || (!s->data && !s->backlog));
	require(s->action != SCAN_RELAY || s->streams == 1);
	require(s->arm >= 0 && s->arm <= year);
	require(s->backlog >= 0 && s->backlog <= year);
	require(s->action == SCAN_SEND ? !s->streams : s->streams > 0);
	require(s->state == SCAN_WAITING && s->priority >= 0);
	for (unsigned i = 0; i < s->streams; i++)
		require(strlen(s->stream[i]) < 1 << 20);
}

const char *__lsan_default_suppressions(void);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* libconfig 1.5 forgets the strings it just read when it meets an error. */
const char *
__lsan_default_suppressions(void)
{
	return "leak:strbuf_append\nleak:libconfig_yylex\n";
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1), name[SCAN_NAME];
	struct fault fault = { 0 };
	struct scan_list list;

	require(text != NULL);
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	if (scan_read(&list, "f.conf", text, bytes % 2 ? "Mh" : NULL, &fault) <
	    0)
		require(fault.code && fault.what[0] && !list.n);
	for (unsigned i = 0; i < list.n; i++)
		look_at(list.scan[i]);
	scan_list_clear(&list);
	scan_name_mend(name, text);
	require(!name[0] || layout_name_good(name));
	free(text);
	return 0;
}
