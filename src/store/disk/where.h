/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_DISK_WHERE_H
#define SPATE_STORE_DISK_WHERE_H

#include "store/disk/disk.h"

/*
 * Where recordings are, and the daemon's socket, for programs that are not
 * the daemon: as somebody says it, or as the daemon's configuration does.
 *
 * `conf` is that file; NULL: the usual one, which need not be there.  Of it
 * only these keys are looked at: whether the rest is right is for the daemon
 * to say.
 */
enum { WHERE_SOCKET = 256 };

/* The usual socket where the configuration names none. */
int where_socket(const char *conf, char socket[WHERE_SOCKET],
		 struct fault *fault);

/* The disks of a list, "/mnt/disk0:/mnt/disk1".  -ENOENT: none; -errno, with
 * a fault. */
int where_listed(const char *list, struct disks *disks, struct fault *fault);

/* The disks of the configuration.  -ENOENT and no fault: there is no usual
 * one. */
int where_configured(const char *conf, struct disks *disks,
		     struct fault *fault);

/* The disks that match so many patterns; -ENOENT where none does. */
int where_matched(const char *const *pattern, unsigned n, struct disks *disks,
		  struct fault *fault);

#endif
