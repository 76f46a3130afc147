/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_LOOP_CLOSER_H
#define SPATE_DAEMON_LOOP_CLOSER_H

/*
 * A closer closes descriptors that clients handed over, on a thread of its own:
 * the end of a file may wait for its disk or its file server, and one that does
 * not answer must not hold up the event loop.
 */
struct closer;

/* Starts the thread.  Returns 0 or -errno. */
int closer_start(struct closer **closer);

/* Closes a descriptor soon; never waits.  Any thread. */
void closer_close(struct closer *c, int fd);

/* Ends the thread once all is closed; one that hangs is left behind after 2 s,
 * and the descriptors behind it stay open.  NULL is allowed. */
void closer_stop(struct closer *c);

#endif
