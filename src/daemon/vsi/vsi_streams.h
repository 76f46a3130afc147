/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_VSI_VSI_STREAMS_H
#define SPATE_DAEMON_VSI_VSI_STREAMS_H

#include "daemon/conf/setup.h"
#include "daemon/vsi/vsi.h"

/*
 * The streams that a VSI-S recording is made of: those of `vsi.streams`, or,
 * where a Field System set something else, others like them.  All held.
 */
enum { VSI_STREAMS = 64 };

struct vsi_streams {
	struct stream *stream[VSI_STREAMS];
	char *text[VSI_STREAMS]; /* what it was made of; NULL: as it is */
	unsigned n;
	struct conf *conf; /* held: all of them come from it */
};

/*
 * Those for `set`; the same ones as in `was` where nothing became of them, so
 * that one which is still being flushed is shared.  `disks` as there are.  0
 * or -errno with a fault, and nothing to clear.
 */
int vsi_streams_make(struct vsi_streams *s, const struct vsi_streams *was,
		     struct setup *setup, const struct vsi_settings *set,
		     unsigned disks, struct fault *fault);
/* A line in the log for each that is not as configured: if nothing fits, that
 * is why. */
void vsi_streams_tell(const struct vsi_streams *s, const char *name);
void vsi_streams_clear(struct vsi_streams *s);

#endif
