/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SCHEDULE_IMPORT_SNAP_H
#define SPATE_CLI_SCHEDULE_IMPORT_SNAP_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/schedule/import_scans.h"

/*
 * Snap is the language of .snp files, a line at a time: what matters of it to
 * somebody who only wants to know when the recorder runs.
 */
enum { SNAP_LINE = 512 };

/* What switches the recorder, from the weakest to the strongest word. */
enum snap_kind { SNAP_NONE, SNAP_PROCEDURE, SNAP_VALID, SNAP_RECORDER };

/* A line of the file into SNAP_LINE bytes, as far as it fits. */
void snap_line(char *line, const char *text, size_t length);

/* Is it a switch, and whether for on. */
enum snap_kind snap_switch(const char *line, bool *on);

/* Up to n fields of a list behind '='; returns how many there were. */
int snap_split(const char *list, char field[][IMPORT_WORD], int n);

#endif
