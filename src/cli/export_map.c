/* SPDX-License-Identifier: MIT */
/*
 * The map is written while the file is written.  Memory holds one number for
 * each channel, however long the recording is.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/export_map.h"

#define NONE UINT64_MAX

int
map_begin(struct export_map *m, int fd)
{
	int own = dup(fd);

	m->since = malloc(m->channels * sizeof *m->since);
	m->to = own < 0 ? NULL : fdopen(own, "w");
	if (!m->to && own >= 0)
		close(own);
	if (!m->to || !m->since) {
		map_drop(m);
		return -ENOMEM;
	}
	for (unsigned c = 0; c < m->channels; c++)
		m->since[c] = NONE;
	m->between = "\n ";
	m->whole = m->part = m->absent = 0;
	fputs("{\"missing\":[", m->to);
	return 0;
}

void
map_drop(struct export_map *m)
{
	if (m->to)
		fclose(m->to);
	free(m->since);
	m->to = NULL;
	m->since = NULL;
}

static void
entry(struct export_map *m, unsigned channel, uint64_t first, uint64_t last)
{
	fprintf(m->to, "%s{\"channel\":%u,\"times\":[%" PRIu64 ",%" PRIu64 "]",
		m->between, channel, first, last);
	m->between = ",\n ";
}

/* Writes the stretch of absent items that ended before `time`. */
static void
present(struct export_map *m, unsigned channel, uint64_t time)
{
	uint64_t *since = &m->since[channel - m->first];

	if (*since == NONE)
		return;
	entry(m, channel, *since, time - 1);
	putc('}', m->to);
	*since = NONE;
}

void
map_absent(struct export_map *m, unsigned channel, uint64_t time)
{
	uint64_t *since = &m->since[channel - m->first];

	m->absent++;
	if (*since == NONE)
		*since = time;
}

/*
 * Writes the missing ranges of an item; `lacking` bytes at its end are one
 * more.
 */
static void
ranges(struct export_map *m, const struct cube_item *item, uint64_t lacking)
{
	uint64_t there = m->item_bytes - lacking;
	const char *between = "";

	fputs(",\"bytes\":[", m->to);
	for (size_t i = 0; i < item->n; i++) {
		if (item->missing[i].at >= there)
			continue;
		fprintf(m->to, "%s[%" PRIu64 ",%" PRIu64 "]", between,
			item->missing[i].at, item->missing[i].bytes);
		between = ",";
	}
	if (lacking)
		fprintf(m->to, "%s[%" PRIu64 ",%" PRIu64 "]", between, there,
			lacking);
	putc(']', m->to);
}

void
map_item(struct export_map *m, unsigned channel, uint64_t time,
	 const struct cube_item *item, uint64_t lacking)
{
	present(m, channel, time);
	if (item->state == CUBE_WHOLE && !lacking) {
		m->whole++;
		return;
	}
	m->part++;
	entry(m, channel, time, time);
	if (item->state == CUBE_UNKNOWN)
		fputs(",\"unknown\":true", m->to);
	else
		ranges(m, item, lacking);
	putc('}', m->to);
}

int
map_end(struct export_map *m, uint64_t last, json_t *head)
{
	char *text;
	int err = 0;

	for (unsigned c = m->first; c < m->first + m->channels; c++)
		present(m, c, last + 1);
	text = json_dumps(head, JSON_COMPACT);
	json_decref(head);
	if (!text) {
		map_drop(m);
		return -ENOMEM;
	}
	fprintf(m->to, "],\n %s\n", text + 1); /* without the opening brace */
	free(text);
	if (ferror(m->to))
		err = -EIO;
	if (fclose(m->to) != 0 && !err)
		err = -errno;
	m->to = NULL;
	map_drop(m);
	return err;
}
