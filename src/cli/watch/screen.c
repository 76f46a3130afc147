/* SPDX-License-Identifier: MIT */
/*
 * ncurses writes to a stream of its own: stdout replaces control characters
 * (show/terminal.c), of which the terminal needs some here.
 *
 * A signal that comes between the look at `ended` and poll() is seen a second
 * later, at the end of the wait.
 */
#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/watch/page.h"
#include "cli/watch/screen.h"

struct screen {
	FILE *to;
	SCREEN *terminal;
	bool utf8;
};

static volatile sig_atomic_t ended; /* a signal came */

static void
end(int signal)
{
	(void)signal;
	ended = 1;
}

/* A signal that the caller of spate ignores stays ignored. */
static void
signals_take(void)
{
	static const int all[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = end }, before;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (sigaction(all[i], NULL, &before) == 0 &&
		    before.sa_handler != SIG_IGN)
			sigaction(all[i], &action, NULL);
	}
}

int
screen_open(struct screen **screen, struct fault *fault)
{
	const char *name = getenv("TERM");
	struct screen *s = calloc(1, sizeof *s);
	int fd = -1;

	if (!s)
		return fault_no_memory(fault);
	setlocale(LC_CTYPE, "");
	s->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	fd = dup(STDOUT_FILENO);
	s->to = fd < 0 ? NULL : fdopen(fd, "w");
	signals_take();
	s->terminal = s->to ? newterm(NULL, s->to, stdin) : NULL;
	if (!s->terminal) {
		if (s->to)
			fclose(s->to);
		else if (fd >= 0)
			close(fd);
		free(s);
		fault_set(fault, -ENOTTY, "usage",
			  "--watch cannot use this terminal");
		fault_why(fault, "TERM=%s", name ? name : "");
		fault_hint(fault, "set TERM to its kind, as TERM=vt100; "
				  "--watch --json needs none");
		return -ENOTTY;
	}
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	*screen = s;
	return 0;
}

void
screen_close(struct screen *s)
{
	if (!s)
		return;
	curs_set(1);
	endwin();
	delscreen(s->terminal);
	fclose(s->to);
	free(s);
}

bool
screen_utf8(const struct screen *s)
{
	return s->utf8;
}

static void
put(void *arg, unsigned row, const char *line, bool strong)
{
	(void)arg;
	if (strong)
		attron(A_BOLD);
	mvaddstr((int)row, 0, line);
	if (strong)
		attroff(A_BOLD);
}

static void
draw(struct page *page)
{
	int rows, columns;

	getmaxyx(stdscr, rows, columns);
	erase();
	if (rows > 0 && columns > 0)
		page_draw(page, (unsigned)rows, (unsigned)columns, put, NULL);
	refresh();
}

/* Takes all keys that were pressed; returns false if one of them is `q`. */
static bool
keys_take(struct page *page)
{
	int key;

	while ((key = getch()) != ERR) {
		if (key == 'q' || key == 'Q')
			return false;
		if (key == KEY_RESIZE)
			draw(page);
	}
	return true;
}

bool
screen_show(struct screen *s, struct page *page, int64_t until)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	int64_t left;

	(void)s;
	draw(page);
	while (!ended && (left = until - clock_steady()) > 0) {
		int n = poll(&in, 1, (int)(left / NS_MS) + 1);

		if (n < 0 && errno != EINTR)
			return false;
		/* the terminal is gone */
		if (n > 0 && !(in.revents & POLLIN))
			return false;
		if (!keys_take(page))
			return false;
	}
	return !ended;
}
