/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_VSI_VSI_FACTS_H
#define SPATE_DAEMON_VSI_VSI_FACTS_H

#include "daemon/main/daemon.h"
#include "daemon/vsi/vsi.h"

/*
 * What is known of a recording, all of its parts together, wherever that is
 * known: of what runs, of what ended since the daemon began, and else from the
 * catalogue.  What was told a moment ago is told again, so that who asks all
 * the time costs little.
 */
struct vsi_facts_kept {
	char name[VSI_NAME];
	int64_t until; /* steady */
	struct vsi_facts f;
};

void vsi_facts_take(struct vsi_facts_kept *kept, struct daemon *d,
		    const char *name, struct vsi_facts *f);

#endif
