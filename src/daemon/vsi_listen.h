/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_VSI_LISTEN_H
#define SPATE_DAEMON_VSI_LISTEN_H

#include "base/fault.h"

/* A socket that listens on "127.0.0.1:2620" or "[::1]:2620" and does not
 * block.  0, or -errno with a fault. */
int vsi_listen(int *fd, const char *text, struct fault *fault);

#endif
