/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SCHEDULE_IMPORT_SNAP_H
#define SPATE_CLI_SCHEDULE_IMPORT_SNAP_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/schedule/import_scans.h"

/*
 * Reads lines of SNAP, the language of .snp files, as far as they tell when the
 * recorder runs.
 */
enum { SNAP_LINE = 512 };

/*
 * Kinds of commands that switch a recorder, from the weakest evidence to the
 * strongest.
 */
enum snap_kind { SNAP_NONE, SNAP_PROCEDURE, SNAP_VALID, SNAP_RECORDER };

/* Copies a line of the file into SNAP_LINE bytes, as far as it fits. */
void snap_line(char *line, const char *text, size_t length);

/* Returns which kind of switch a line is; *on: it switches on. */
enum snap_kind snap_switch(const char *line, bool *on);

/*
 * Splits the list behind '=' into at most n fields; returns how many there
 * were.
 */
int snap_split(const char *list, char field[][IMPORT_WORD], int n);

#endif
