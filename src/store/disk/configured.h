/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_DISK_CONFIGURED_H
#define SPATE_STORE_DISK_CONFIGURED_H

#include "base/conf.h"
#include "store/disk/disk.h"

/*
 * Finds the disks and the daemon's control socket for programs that are not the
 * daemon: from a list that the user gives, or from the daemon's configuration.
 *
 * `conf` names the configuration file; NULL is the default one, which need not
 * exist.  Only the keys `disks`, `reserve` and `control.socket` are read: whether the
 * rest is right is for the daemon to say.
 */
enum { CONFIGURED_SOCKET = 256 };

/* The control socket's path; the default one if the configuration names none.
 * 0 or -errno with a fault. */
int configured_socket(const char *conf, char socket[CONFIGURED_SOCKET],
		      struct fault *fault);

/* The disks of a list like "/mnt/disk0:/mnt/disk1".  0; -ENOENT if there is
 * none; or another -errno, with a fault. */
int disks_listed(const char *list, struct disks *disks, struct fault *fault);

/* The disks of the configuration.  0; -ENOENT without a fault if the default
 * configuration does not exist; else -errno with a fault. */
int disks_configured(const char *conf, struct disks *disks,
		     struct fault *fault);

/*
 * Puts the station's name in the place of each "{station}" in the key `disks`,
 * so that recorders with one configuration have a place each.  The station is
 * that of SPATE_STATION, or else of the key `station`.  0, or -errno with a
 * fault.
 */
int disks_station(struct conf *conf, struct fault *fault);

/* Leaves as much of each disk free as the configuration says, if it can be read
 * and says so. */
void disks_reserve(const char *conf, struct disks *disks);

/* The disks that `n` patterns match.  0; -ENOENT if none does; or another
 * -errno, with a fault. */
int disks_matched(const char *const *pattern, unsigned n, struct disks *disks,
		  struct fault *fault);

#endif
