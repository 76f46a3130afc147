/* SPDX-License-Identifier: MIT */
/*
 * Output is cleaned where it leaves the program, not where a name is printed:
 * there are hundreds of such places, and one that was forgotten would be
 * enough.
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"
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
