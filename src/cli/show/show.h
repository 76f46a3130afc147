/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_SHOW_H
#define SPATE_CLI_SHOW_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct cli;

/*
 * Prints JSON of the daemon or the store as text on stdout.  INFO and DISK are
 * objects as daemon/requests/verbs.h lists them.
 */

/*
 * Prints everything about one recording.  Of many substreams only the worst are
 * listed, unless `all`.
 */
void show_info(const json_t *info, bool all);

/*
 * Prints an array of INFO as `spate info NAME` does: everything about each, and
 * their sum; JSON lines with --json.
 */
void show_infos(const struct cli *cli, const char *name, const json_t *infos,
		bool all);

/*
 * Prints a table with one row for each INFO of an array, indented by `indent`
 * blanks.
 */
void show_running(const json_t *infos, unsigned indent);

/*
 * Prints a table of disks: the columns that matter while recording, or `all`.
 */
void show_disks(const json_t *disks, unsigned indent, bool all);

/*
 * Prints one line about the space of all disks together, each file system once.
 */
void show_space(const json_t *space);

/* Prints what is to be done with files of a recording that were renamed. */
void show_renamed(const char *name);

enum { SHOW_PERCENT = 24 };

/* Writes "0.0077 %", or "< 0.0001 %" for a smaller share. */
const char *show_percent(char text[SHOW_PERCENT], uint64_t part,
			 uint64_t whole);

enum { SHOW_DROPS = 256 };

/* Writes "3 late, 12 no_buffer": the reasons that are not 0 and `wanted`. */
void show_drops(char text[SHOW_DROPS], const json_t *drops,
		bool (*wanted)(const char *reason));

enum { SHOW_STATION = 16 };

/* Writes a VDIF station: two letters if it is printable, else a number. */
const char *show_station(char name[SHOW_STATION], uint64_t station);

/* Returns the number of silent substreams; *n gets the number of all. */
size_t subs_silent(const json_t *info, size_t *n);

#endif
