/* SPDX-License-Identifier: MIT */
/* Commands are compared without case, as the Field System does. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/schedule/import_snap.h"

/*
 * Copies a line without blanks, which mean nothing in SNAP; those in a comment
 * stay.
 */
void
snap_line(char *line, const char *text, size_t length)
{
	size_t n = 0;
	bool comment;

	while (length && isspace((unsigned char)*text)) {
		text++;
		length--;
	}
	comment = length && *text == '"';
	for (; length && n < SNAP_LINE - 1; text++, length--)
		if (comment || !isspace((unsigned char)*text))
			line[n++] = *text;
	line[n] = '\0';
}

enum snap_kind
snap_switch(const char *line, bool *on)
{
	static const struct {
		const char *text;
		enum snap_kind kind;
		bool on;
	} all[] = {
		{ "disk_record=on", SNAP_RECORDER, true },
		{ "disk_record=off", SNAP_RECORDER, false },
		{ "mk5=record=on", SNAP_RECORDER, true },
		{ "mk5=record=off", SNAP_RECORDER, false },
		{ "mk6=record=on", SNAP_RECORDER, true },
		{ "mk6=record=off", SNAP_RECORDER, false },
		{ "fb=record=on", SNAP_RECORDER, true },
		{ "fb=record=off", SNAP_RECORDER, false },
		{ "in2net=on", SNAP_RECORDER, true },
		{ "in2net=off", SNAP_RECORDER, false },
		{ "data_valid=on", SNAP_VALID, true },
		{ "data_valid=off", SNAP_VALID, false },
		{ "data_valid1=on", SNAP_VALID, true },
		{ "data_valid1=off", SNAP_VALID, false },
		{ "data_valid2=on", SNAP_VALID, true },
		{ "data_valid2=off", SNAP_VALID, false },
		{ "midob", SNAP_PROCEDURE, true },
		{ "postob", SNAP_PROCEDURE, false },
	};

	for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
		size_t length = strlen(all[i].text);

		if (strncasecmp(line, all[i].text, length) != 0 ||
		    (line[length] && !strchr(":;,@", line[length])))
			continue;
		*on = all[i].on;
		return all[i].kind;
	}
	return SNAP_NONE;
}

int
snap_split(const char *list, char field[][IMPORT_WORD], int n)
{
	int i;

	for (i = 0; i < n; i++) {
		size_t length = strcspn(list, ",");

		snprintf(field[i], IMPORT_WORD, "%.*s", (int)length, list);
		list += length;
		if (!*list++)
			return i + 1;
	}
	return i;
}
