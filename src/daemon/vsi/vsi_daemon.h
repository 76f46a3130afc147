/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_VSI_VSI_DAEMON_H
#define SPATE_DAEMON_VSI_VSI_DAEMON_H

#include "base/fault.h"

/*
 * The VSI-S part of the daemon: the vsi and its server, with the daemon as
 * their host.  There where `vsi` is configured.  The event loop's thread.
 */
struct daemon;
struct vsi_daemon;

/* Listens, and adds itself to what the event loop waits for; *vsi stays NULL
 * where none is configured.  0 or -errno with a fault. */
int vsi_daemon_open(struct vsi_daemon **vsi, struct daemon *d,
		    struct fault *fault);
void vsi_daemon_close(struct vsi_daemon *vsi); /* NULL: nothing */

#endif
