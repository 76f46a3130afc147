/* SPDX-License-Identifier: MIT */
#ifndef SPATE_VSI_VSI_DAEMON_H
#define SPATE_VSI_VSI_DAEMON_H

#include "base/fault.h"

/*
 * The VSI-S part of the daemon: the server for commands, and the recorders
 * (vsi) that answer them, with the daemon as their host.  It exists if `vsi` is
 * configured.  Only the event loop's thread uses it.
 */
struct daemon;
struct vsi_daemon;

/*
 * Listens, and adds itself to the event loop; *vsi stays NULL if none is
 * configured.  0, or -errno with a fault.
 */
int vsi_daemon_open(struct vsi_daemon **vsi, struct daemon *d,
		    struct fault *fault);
void vsi_daemon_close(struct vsi_daemon *vsi); /* NULL is allowed */

#endif
