/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_MAIN_DAEMON_H
#define SPATE_DAEMON_MAIN_DAEMON_H

#include "daemon/requests/daemon.h"

/* Starts everything that the file `conf` asks for.  Returns 0, or -errno with a
 * fault.  The caller calls daemon_finish in either case. */
int daemon_start(struct daemon *d, const char *conf, struct fault *fault);

/* Runs the event loop until a signal has ended it and every recording is
 * durable.  Returns 0, or -errno when the loop cannot wait. */
int daemon_run(struct daemon *d);
/* Stops all threads and frees what `d` holds, not `d`.  Returns false if a disk
 * does not answer: its thread still uses memory, so only _exit may end the
 * process. */
bool daemon_finish(struct daemon *d);

#endif
