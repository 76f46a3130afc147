/* SPDX-License-Identifier: MIT */
#ifndef SPATE_VSI_VSI_RUNTIMES_H
#define SPATE_VSI_VSI_RUNTIMES_H

#include "control/vsi_conf.h"
#include "control/spated.h"
#include "vsi/vsi_line.h"

/*
 * The recorders (vsi) that clients give orders to: one, "default", and those
 * that runtime= makes, as in jive5ab.  Each has settings and jobs of its own,
 * shared by all clients that chose it.
 *
 * spated keeps a copy of the settings, and knows which recordings VSI-S began;
 * so both survive a restart of this program.
 */
struct vsi_runtimes;

/* All arguments outlive the runtimes.  0 or -ENOMEM. */
int vsi_runtimes_open(struct vsi_runtimes **all, const struct vsi_conf *conf,
		      const struct option_texts *inbox, struct spated *spated);
/* Recordings and transfers go on.  NULL is allowed. */
void vsi_runtimes_close(struct vsi_runtimes *all);

/* The program ends: recordings and transfers go on from here on. */
void vsi_runtimes_leave(struct vsi_runtimes *all);

/* Reads from spated what survived, if it is there; else a later command does. */
void vsi_runtimes_restore(struct vsi_runtimes *all);

/* For the server: answers a command, and forgets a client that has gone. */
bool vsi_runtimes_command(void *arg, const struct vsi_command *c,
			  struct vsi_reply *r);
void vsi_runtimes_gone(void *arg, uint32_t client);

#endif
