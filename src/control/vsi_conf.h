/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTROL_VSI_CONF_H
#define SPATE_CONTROL_VSI_CONF_H

#include "base/conf.h"

/*
 * The group `vsi` of the configuration: spated checks it, spate-vsi does what
 * it says.  Without `listen` there is no VSI-S.
 */
struct vsi_conf {
	struct option_texts listen, streams, allow, files;
	const char *version; /* text of version?; NULL: spate's own */
	const char *only;    /* the default of `streams`, which points here */
};
enum { VSI_CONF_STREAMS = 64 };

extern const struct option_key vsi_conf_options[];

/*
 * Reads and checks the group; leaves *c as it is if there is none.  The struct
 * must not be moved afterwards.  0, or -errno with a fault.
 */
int vsi_conf_read(struct vsi_conf *c, struct conf *conf, struct fault *fault);

#endif
