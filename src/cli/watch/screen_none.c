/* SPDX-License-Identifier: MIT */
/* The screen of a spate that was built without ncurses: it says so. */
#include <errno.h>
#include <stddef.h>

#include "cli/watch/screen.h"

int
screen_open(struct screen **screen, struct fault *fault)
{
	*screen = NULL;
	fault_set(fault, -ENOTSUP, "usage", "there is no --watch");
	fault_why(fault, "this spate was built without ncurses "
			 "(libncurses-dev)");
	fault_hint(fault, "--watch --json prints a line each second");
	return -ENOTSUP;
}

void
screen_close(struct screen *screen)
{
	(void)screen;
}

bool
screen_utf8(const struct screen *screen)
{
	(void)screen;
	return false;
}

bool
screen_show(struct screen *screen, struct page *page, int64_t until)
{
	(void)screen;
	(void)page;
	(void)until;
	return false;
}
