/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_REQUESTS_NOTIFY_H
#define SPATE_DAEMON_REQUESTS_NOTIFY_H

#include <stdint.h>

/*
 * Messages to the service manager that started this process, if one did:
 * notify.c uses libsystemd, notify_none.c does nothing.  service.c decides what
 * to send and when.  The event loop's thread.
 */

/* Sends lines as of sd_notify(3).  Does nothing without a service manager. */
void notify_say(const char *lines);

/* Returns the manager's watchdog period in ns; 0: it has none. */
int64_t notify_patience(void);

#endif
