/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_WATCH_PAGE_H
#define SPATE_CLI_WATCH_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The page of `spate status --watch`: remembers the last minute of each stream
 * and the last warnings, and writes as much as a screen of any size has room
 * for.  It is told once a second what spated answers.  One thread.
 */
struct page;

/* `utf8`: sparklines may have block elements.  0 or -ENOMEM. */
int page_open(struct page **page, bool utf8);
void page_close(struct page *page);

/*
 * Takes the answer to `status`, and the list of STREAM_KEYS; keeps references.
 * Times are of clock_now().
 */
void page_take(struct page *page, json_t *status, json_t *streams, int64_t now);

/* spated did not answer.  The page goes on showing what it last said. */
void page_away(struct page *page, const char *why, int64_t now);

/*
 * Calls put() for each row but empty ones, from the top.  A line has at most
 * `columns` characters, all one column wide.
 */
void page_draw(struct page *page, unsigned rows, unsigned columns,
	       void (*put)(void *arg, unsigned row, const char *line,
			   bool strong),
	       void *arg);

#endif
