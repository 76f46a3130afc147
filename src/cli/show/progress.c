/* SPDX-License-Identifier: MIT */
/*
 * A line is "export r4123  [=========>          ]  47 %  1.2 GiB/s  12s left".
 *
 * The bar takes the width that the words leave.  The time left follows from the
 * mean rate since the start, which is the steadier guess for long work.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/show/progress.h"
#include "cli/show/terminal.h"

enum {
	BAR_LEAST = 8, /* a shorter bar is left out */
	BAR_MOST = 40,
	WORDS = 120,
};

void
progress_start(struct progress *p)
{
	p->terminal = isatty(STDERR_FILENO);
	p->drawn = false;
	p->start_ns = clock_steady();
	p->next_ns =
	    p->start_ns + (p->terminal ? NS_SECOND / 5 : 10 * NS_SECOND);
}

static double
share(const struct progress *p, uint64_t done)
{
	if (!p->total || done >= p->total)
		return 1;
	return (double)done / (double)p->total;
}

/* Writes " 47 %  1.2 GiB/s  12s left". */
static void
words(const struct progress *p, uint64_t done, int64_t elapsed_ns,
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

/* Writes "[=====>   ]", n characters wide. */
static void
bar(char *to, size_t n, double filled)
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
progress_line(const struct progress *p, uint64_t done, int64_t elapsed_ns,
	      char *line, size_t width)
{
	char text[WORDS], drawing[BAR_MOST + 1] = "";
	size_t used;

	words(p, done, elapsed_ns, text);
	used = strlen(p->what) + 2 + strlen(text) + 2;
	if (width >= used + BAR_LEAST)
		bar(drawing, width - used < BAR_MOST ? width - used : BAR_MOST,
		    share(p, done));
	snprintf(line, width + 1, "%s  %s%s%s", p->what, drawing,
		 *drawing ? "  " : "", text);
}

static void
draw(const struct progress *p, uint64_t done, int64_t elapsed_ns)
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
progress_show(struct progress *p, uint64_t done)
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
progress_hide(struct progress *p)
{
	if (p->drawn)
		terminal_do(stderr, ERASE_LINE);
	p->drawn = false;
}
