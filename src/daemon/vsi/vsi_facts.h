/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_VSI_VSI_FACTS_H
#define SPATE_DAEMON_VSI_VSI_FACTS_H

#include "daemon/requests/daemon.h"
#include "daemon/vsi/vsi.h"

/*
 * Facts of a recording, all of its parts together, from where they are known: a
 * running session, the list of recordings that ended since the daemon began,
 * else the catalogue.  The last answer is kept for a tenth of a second, so that
 * frequent queries cost little.
 */
struct vsi_facts_kept {
	char name[VSI_NAME];
	int64_t until; /* steady ns */
	struct vsi_facts f;
};

void vsi_facts_take(struct vsi_facts_kept *kept, struct daemon *d,
		    const char *name, struct vsi_facts *f);

#endif
