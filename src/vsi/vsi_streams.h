/* SPDX-License-Identifier: MIT */
#ifndef SPATE_VSI_VSI_STREAMS_H
#define SPATE_VSI_VSI_STREAMS_H

#include "daemon/conf/setup.h"
#include "vsi/vsi.h"

/*
 * The streams of a VSI-S recording: those of `vsi.streams`; or variants of
 * them, if a Field System set something else.  A reference to each is held.
 */
enum { VSI_STREAMS = 64 };

struct vsi_streams {
	struct stream *stream[VSI_STREAMS];
	char *text[VSI_STREAMS]; /* configuration text of a variant; NULL:
				  * the configured stream */
	unsigned n;
	struct conf *conf; /* held: all streams come from it */
};

/*
 * Makes the streams for `set`.  Takes over unchanged ones from `was`, so that a
 * stream that is still being flushed is shared.  `disks` is the number of
 * disks.  0; or -errno with a fault, and nothing to clear.
 */
int vsi_streams_make(struct vsi_streams *s, const struct vsi_streams *was,
		     struct setup *setup, const struct vsi_settings *set,
		     unsigned disks, struct fault *fault);
/*
 * Logs each stream that is not as configured: if nothing is received, that may
 * be the reason.
 */
void vsi_streams_tell(const struct vsi_streams *s, const char *name);
void vsi_streams_clear(struct vsi_streams *s);

#endif
