/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_PROGRESS_H
#define SPATE_CLI_SHOW_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Progress tells somebody who waits how far long work is, on stderr: a bar
 * that is redrawn where that is a terminal, else a line every ten seconds.
 */
struct progress {
	const char *what; /* "export r4123" */
	uint64_t total;
	bool bytes; /* what is counted; else things */
	bool quiet; /* says nothing at all */

	/* Its own. */
	bool terminal;
	bool drawn; /* a bar stands in the terminal's line */
	int64_t start_ns, next_ns;
};

/* With the fields down to `quiet` set. */
void progress_start(struct progress *p);
/* Cheap: draws only when it is time. */
void progress_show(struct progress *p, uint64_t done);
/* Clears the bar: another line may be printed now. */
void progress_hide(struct progress *p);

/* The text of a bar: at most `width` letters and a 0. */
void progress_line(const struct progress *p, uint64_t done, int64_t elapsed_ns,
		   char *line, size_t width);

#endif
