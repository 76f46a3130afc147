/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_SCRIBE_H
#define SPATE_DAEMON_SCHEDULE_SCRIBE_H

#include <stdbool.h>

/*
 * The scribe keeps a text in a file, which is whole at any time: it is written
 * beside, made durable, and renamed.  That takes as long as the disk likes, so
 * a thread does it; of texts that come meanwhile, the last one is written.
 * One thread calls these.
 */
struct scribe;

/* The folder is made when there is something to write.  0 or -errno. */
int scribe_start(struct scribe **scribe, const char *folder, const char *file);

/* `text` is taken over; NULL: nothing. */
void scribe_write(struct scribe *s, char *text);

/* Writes what is left, and ends.  False: the disk does not answer, and what
 * the thread has is left to it.  NULL: true. */
bool scribe_stop(struct scribe *s);

#endif
