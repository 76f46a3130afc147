/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_DISKS_KEEPER_H
#define SPATE_DAEMON_DISKS_KEEPER_H

#include "daemon/disks/fleet.h"
#include "store/list/catalogue.h"

/*
 * The keeper is the thread that keeps the catalogue of recordings up to date:
 * one pass at the start, then one every ten seconds and when poked.  It reads
 * disks at the lowest priority, and nobody waits for it.  The event loop's
 * thread calls these functions.
 */
struct keeper;

/* Starts the thread.  Returns 0 or -errno. */
int keeper_start(struct keeper **keeper);

/* Ends the thread.  A thread that hangs on a disk is left behind after 2 s. */
void keeper_stop(struct keeper *keeper);

/* Returns the catalogue, which has its own lock; any thread. */
struct catalogue *keeper_catalogue(struct keeper *keeper);

/* Tells the catalogue which disks joined or left; called every turn. */
void keeper_step(struct keeper *keeper, const struct fleet *fleet);

/* Asks for a pass now, because folders were made. */
void keeper_poke(struct keeper *keeper);

/* Tells the catalogue that this recording changed, and asks for a pass. */
void keeper_touch(struct keeper *keeper, const char *name);

#endif
