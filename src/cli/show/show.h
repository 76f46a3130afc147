/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_SHOW_H
#define SPATE_CLI_SHOW_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Show prints what the daemon or the store says in JSON as text for people,
 * on stdout.  INFO and DISK are as daemon/requests/verbs.h lists them.
 */

/* Everything about one recording; of hundreds of substreams the worst, unless
 * `all` of them are asked for. */
void show_info(const json_t *info, bool all);

/* Several streams that were recorded as one: their sum. */
void show_sum(const char *name, const json_t *infos);

/* A row for each of an array's INFO or DISK, behind `indent` blanks. */
void show_running(const json_t *infos, unsigned indent);

/* Of disks what one looks for while recording, or `all` there is to know. */
void show_disks(const json_t *disks, unsigned indent, bool all);

/* A line: of all disks together, file systems counted once. */
void show_space(const json_t *space);

enum { SHOW_PERCENT = 24 };

/* "0.0077 %"; "< 0.0001 %" where that is less than can be shown. */
const char *show_percent(char text[SHOW_PERCENT], uint64_t part,
			 uint64_t whole);

enum { SHOW_DROPS = 256 };

/* "3 late, 12 no_buffer": those that there are, and that are wanted. */
void show_drops(char text[SHOW_DROPS], const json_t *drops,
		bool (*wanted)(const char *reason));

enum { SHOW_STATION = 16 };

/* A VDIF station is two letters, mostly. */
const char *show_station(char name[SHOW_STATION], uint64_t station);

#endif
