/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_TERMINAL_H
#define SPATE_CLI_SHOW_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Protects the terminal from control characters in names, metadata and reasons,
 * which come from files and peers. stdout and stderr then print each control
 * character but '\n' and '\t' as \u001b or the like, which means the same
 * inside a string of JSON.  Bytes written to the descriptors directly, such as
 * the data of an export, are not changed.  Called before anything is printed.
 */
void terminal_guard(void);

/*
 * Control sequences that spate sends to a terminal itself, behind what was
 * printed before.
 */
#define ERASE_LINE   "\r\033[K"
#define CLEAR_SCREEN "\033[H\033[J"

/* Sends a control sequence, after flushing what was printed to `to`. */
void terminal_do(FILE *to, const char *sequence);

/* Returns the width of the terminal at fd; 80 if it is unknown. */
unsigned terminal_width(int fd);

/*
 * Shows on stderr how far long work is: a bar that is redrawn on a terminal,
 * else a line every ten seconds.
 */
struct progress_bar {
	const char *what; /* "export r4123" */
	uint64_t total;
	bool bytes; /* `total` counts bytes, not things */
	bool quiet; /* shows nothing */

	/* Used by the functions below alone. */
	bool terminal;
	bool drawn; /* a bar stands in the terminal's current line */
	int64_t start_ns, next_ns;
};

/* Starts; the fields down to `quiet` must be set. */
void progress_start(struct progress_bar *p);

/* Draws if it is time to; cheap otherwise. */
void progress_show(struct progress_bar *p, uint64_t done);

/* Clears the bar, so that another line may be printed. */
void progress_hide(struct progress_bar *p);

/* Writes "[=====>   ]", n characters and a 0; `filled` is from 0 to 1. */
void progress_draw(char *to, size_t n, double filled);

/* Writes the text of a bar: at most `width` characters and a 0. */
void progress_line(const struct progress_bar *p, uint64_t done,
		   int64_t elapsed_ns, char *line, size_t width);

#endif
