/* SPDX-License-Identifier: MIT */
#ifndef SPATE_VSI_VSI_STREAMS_H
#define SPATE_VSI_VSI_STREAMS_H

#include <jansson.h>

#include "control/vsi_conf.h"
#include "vsi/vsi.h"

/*
 * Writes the streams of a VSI-S recording, as `record` and `streams` of the
 * control socket take them: those of `vsi.streams`, or variants of them (VARY)
 * if a Field System set something else.  `configured` is what spated answers to
 * `streams`.  0 and a new reference in *list, or -errno with a fault.
 */
int vsi_streams_list(json_t **list, const struct vsi_conf *conf,
		     const json_t *configured, const struct vsi_settings *set,
		     struct fault *fault);

/* Finds one of the configured streams by its name; NULL: there is none. */
const json_t *vsi_streams_find(const json_t *configured, const char *name);

/*
 * Returns the port of an entry of `listen`, or 0 if it has none; *host is the
 * length of what stands before it: "eth2@0.0.0.0" of "eth2@0.0.0.0:46227".
 */
uint16_t vsi_streams_port(const char *listen, size_t *host);

#endif
