/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_DISKS_CATALOGUE_THREAD_H
#define SPATE_DAEMON_DISKS_CATALOGUE_THREAD_H

#include "daemon/disks/disk_set.h"
#include "store/list/catalogue.h"

/*
 * The catalogue thread keeps the catalogue of recordings up to date: one pass
 * at the start, then one every ten seconds and when poked.  It reads disks at
 * the lowest priority, and nobody waits for it.  The event loop's thread calls
 * these functions.
 */
struct catalogue_thread;

/* Starts the thread.  Returns 0 or -errno. */
int catalogue_thread_start(struct catalogue_thread **thread);

/* Ends the thread.  A thread that hangs on a disk is left behind after 2 s. */
void catalogue_thread_stop(struct catalogue_thread *thread);

/* Returns the catalogue, which has its own lock; any thread. */
struct catalogue *catalogue_thread_get(struct catalogue_thread *thread);

/* Tells the catalogue which disks joined or left; called every turn. */
void catalogue_thread_step(struct catalogue_thread *thread,
			   const struct disk_set *set);

/* Asks for a pass now, because folders were made. */
void catalogue_thread_poke(struct catalogue_thread *thread);

/* Tells the catalogue that this recording changed, and asks for a pass. */
void catalogue_thread_touch(struct catalogue_thread *thread, const char *name);

#endif
