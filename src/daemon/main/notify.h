/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_MAIN_NOTIFY_H
#define SPATE_DAEMON_MAIN_NOTIFY_H

#include <stdint.h>

/*
 * The way to the service manager, if one started us: notify.c goes by
 * libsystemd, notify_none.c leads nowhere.  What is said, and when, is in
 * service.c.  The event loop's thread.
 */

/* Lines as of sd_notify(3).  Nobody to hear them is no error. */
void notify_say(const char *lines);

/* How long the manager waits for a sign of life, in ns; 0: it does not. */
int64_t notify_patience(void);

#endif
