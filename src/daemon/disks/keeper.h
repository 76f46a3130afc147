/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_DISKS_KEEPER_H
#define SPATE_DAEMON_DISKS_KEEPER_H

#include "daemon/disks/fleet.h"
#include "store/list/catalogue.h"

/*
 * The keeper is the thread that keeps the catalogue: a pass at once, then one
 * every ten seconds and whenever it is poked.  It reads after everybody else,
 * and nobody waits for it.  The event loop's thread calls these.
 */
struct keeper;

/* 0 or -errno. */
int keeper_start(struct keeper **keeper);

/* A thread that hangs on a disk is left behind. */
void keeper_stop(struct keeper *keeper);

struct catalogue *keeper_catalogue(struct keeper *keeper);

/* Once a second: which disks there are. */
void keeper_step(struct keeper *keeper, const struct fleet *fleet);

/* Folders were made: a pass now. */
void keeper_poke(struct keeper *keeper);

/* Something became of this recording. */
void keeper_touch(struct keeper *keeper, const char *name);

#endif
