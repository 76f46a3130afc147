/* SPDX-License-Identifier: MIT */
/*
 * Output is cleaned where it leaves the program, not where a name is printed:
 * there are hundreds of such places, and one that was forgotten would be
 * enough.
 *
 * A line is "export r4123  [=========>          ]  47 %  1.2 GiB/s  12s left".
 *
 * The bar takes the width that the words leave.  The time left follows from the
 * mean rate since the start, which is the steadier guess for long work.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/show/cli.h"
#include "cli/show/terminal.h"

struct guard {
	int fd;
	/* first bytes of a character that is not complete yet */
	char held[TEXT_CHARACTER];
	size_t held_bytes;
};

static int
put_all(int fd, const char *at, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, at, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static ssize_t
guard_write(void *cookie, const char *data, size_t bytes)
{
	enum { PIECE = 1024 };
	char in[TEXT_CHARACTER + PIECE], out[TEXT_ESCAPED * sizeof in];
	struct guard *g = cookie;
	size_t done = 0;

	while (done < bytes) {
		size_t n = bytes - done < PIECE ? bytes - done : PIECE, put;

		memcpy(in, g->held, g->held_bytes);
		memcpy(in + g->held_bytes, data + done, n);
		done += n;
		n += g->held_bytes;
		put = text_escape(out, in, n, &g->held_bytes);
		memcpy(g->held, in + n - g->held_bytes, g->held_bytes);
		if (put_all(g->fd, out, put) < 0)
			return 0;
	}
	return (ssize_t)bytes;
}

static FILE *
guarded(FILE *from, struct guard *g, int buffering)
{
	const cookie_io_functions_t functions = { .write = guard_write };
	FILE *to = fopencookie(g, "w", functions);

	if (!to)
		return from;
	setvbuf(to, NULL, buffering, 0);
	return to;
}

void
terminal_guard(void)
{
	static struct guard out = { .fd = STDOUT_FILENO };
	static struct guard err = { .fd = STDERR_FILENO };

	stdout = guarded(stdout, &out, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
	stderr = guarded(stderr, &err, _IONBF);
}

void
terminal_do(FILE *to, const char *sequence)
{
	fflush(to);
	put_all(to == stderr ? STDERR_FILENO : STDOUT_FILENO, sequence,
		strlen(sequence));
}

unsigned
terminal_width(int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || !size.ws_col)
		return 80;
	return size.ws_col;
}

enum {
	BAR_LEAST = 8, /* a shorter bar is left out */
	BAR_MOST = 40,
	WORDS = 120,
};

void
progress_start(struct progress_bar *p)
{
	p->terminal = isatty(STDERR_FILENO);
	p->drawn = false;
	p->start_ns = clock_steady();
	p->next_ns =
	    p->start_ns + (p->terminal ? NS_SECOND / 5 : 10 * NS_SECOND);
}

static double
share(const struct progress_bar *p, uint64_t done)
{
	if (!p->total || done >= p->total)
		return 1;
	return (double)done / (double)p->total;
}

/* Writes " 47 %  1.2 GiB/s  12s left". */
static void
words(const struct progress_bar *p, uint64_t done, int64_t elapsed_ns,
      char text[WORDS])
{
	double rate =
	    elapsed_ns > 0 ? (double)done * NS_SECOND / (double)elapsed_ns : 0;
	char part[UNITS_TEXT];
	int n;

	n = snprintf(text, WORDS, "%3d %%", (int)(100 * share(p, done)));
	if (p->bytes && rate >= 1)
		n += snprintf(text + n, (size_t)(WORDS - n), "  %s/s",
			      units_show_bytes(part, (uint64_t)rate));
	if (rate > 0 && done < p->total) {
		double left = (double)(p->total - done) / rate;

		if (left < 1e6)
			snprintf(text + n, (size_t)(WORDS - n), "  %s left",
				 units_show_span(part, ((int64_t)left + 1) *
							   NS_SECOND));
	}
}

void
progress_draw(char *to, size_t n, double filled)
{
	size_t full = (size_t)((double)(n - 2) * filled);

	memset(to, ' ', n);
	to[0] = '[';
	memset(to + 1, '=', full);
	if (full < n - 2)
		to[1 + full] = '>';
	to[n - 1] = ']';
	to[n] = '\0';
}

void
progress_line(const struct progress_bar *p, uint64_t done, int64_t elapsed_ns,
	      char *line, size_t width)
{
	char text[WORDS], drawing[BAR_MOST + 1] = "";
	size_t used;

	words(p, done, elapsed_ns, text);
	used = strlen(p->what) + 2 + strlen(text) + 2;
	if (width >= used + BAR_LEAST)
		progress_draw(drawing,
			      width - used < BAR_MOST ? width - used : BAR_MOST,
			      share(p, done));
	snprintf(line, width + 1, "%s  %s%s%s", p->what, drawing,
		 *drawing ? "  " : "", text);
}

static void
draw(const struct progress_bar *p, uint64_t done, int64_t elapsed_ns)
{
	char line[BAR_MOST + 2 * WORDS];
	size_t width = terminal_width(STDERR_FILENO) - 1;

	if (width >= sizeof line)
		width = sizeof line - 1;
	progress_line(p, done, elapsed_ns, line, width);
	terminal_do(stderr, ERASE_LINE);
	fputs(line, stderr);
}

void
progress_show(struct progress_bar *p, uint64_t done)
{
	int64_t now = p->quiet ? 0 : clock_steady();
	char text[WORDS];

	if (p->quiet || now < p->next_ns)
		return;
	if (p->terminal) {
		draw(p, done, now - p->start_ns);
		p->drawn = true;
		p->next_ns = now + NS_SECOND / 5;
		return;
	}
	words(p, done, now - p->start_ns, text);
	fprintf(stderr, "%s %s\n", p->what, text);
	p->next_ns = now + 10 * NS_SECOND;
}

void
progress_hide(struct progress_bar *p)
{
	if (p->drawn)
		terminal_do(stderr, ERASE_LINE);
	p->drawn = false;
}

/* ---- results and errors of a command ------------------------------------- */

int
cli_fail(const struct fault *fault)
{
	char line[1024];

	fault_line(fault, line, sizeof line);
	fprintf(stderr, "spate: %s\n", line);
	return fault->code && strcmp(fault->code, "usage") == 0 ? CLI_USAGE
								: CLI_FAILED;
}

void
cli_print_json(const json_t *object)
{
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
}
