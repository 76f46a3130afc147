/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_WATCH_SCREEN_H
#define SPATE_CLI_WATCH_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

struct page;
struct screen;

/*
 * Takes the terminal over: SIGINT, SIGTERM and SIGHUP then only end
 * screen_wait().  One at a time in a process.  0, or -errno with a fault.
 */
int screen_open(struct screen **screen, struct fault *fault);

/* Gives the terminal back as it was. */
void screen_close(struct screen *screen);

/* Tells whether the terminal shows UTF-8. */
bool screen_utf8(const struct screen *screen);

/*
 * Draws the page until that time (clock_steady()), again whenever the terminal
 * changes its size.  Returns false if the user, or a signal, wants it to end.
 */
bool screen_show(struct screen *screen, struct page *page, int64_t until);

#endif
