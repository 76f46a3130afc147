/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_STATE_FILE_H
#define SPATE_DAEMON_SCHEDULE_STATE_FILE_H

#include <stdbool.h>

/*
 * The state file keeps a text that is complete at any time: a new text is
 * written beside it, made durable, and renamed.  That takes as long as the disk
 * likes, hence a thread; of several texts that come meanwhile, only the last is
 * written.  One thread calls these
 * functions.
 */
struct state_file;

/*
 * Starts the thread.  The folder is made when there is something to write.  0
 * or -errno.
 */
int state_file_start(struct state_file **state, const char *folder,
		     const char *file);

/* Queues a text, and takes it over; NULL is ignored. */
void state_file_write(struct state_file *s, char *text);

/*
 * Writes a text that is still queued, and ends the thread.  False if the disk
 * does not answer: the thread and its memory are left behind.  NULL: true.
 */
bool state_file_stop(struct state_file *s);

#endif
