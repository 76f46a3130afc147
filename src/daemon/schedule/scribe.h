/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_SCRIBE_H
#define SPATE_DAEMON_SCHEDULE_SCRIBE_H

#include <stdbool.h>

/*
 * The scribe, a thread that writes the state file, keeps a text in a file that
 * is complete at any time: the text is written beside it, made durable, and
 * renamed.  That takes as long as the disk likes, hence the thread; of several
 * texts that come meanwhile, only the last is written.  One thread calls these
 * functions.
 */
struct scribe;

/*
 * Starts the thread.  The folder is made when there is something to write.  0
 * or -errno.
 */
int scribe_start(struct scribe **scribe, const char *folder, const char *file);

/* Queues a text, and takes it over; NULL is ignored. */
void scribe_write(struct scribe *s, char *text);

/*
 * Writes a text that is still queued, and ends the thread.  False if the disk
 * does not answer: the thread and its memory are left behind.  NULL: true.
 */
bool scribe_stop(struct scribe *s);

#endif
