/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_SPAN_H
#define SPATE_FUSE_TREE_SPAN_H

#include <stdint.h>

/*
 * Reads a range of time, T1..T2, as it stands behind the name of a file; one of
 * the two may be left out.  Times are written as in base/units.h, and +30s
 * counts from the beginning of the recording.  Returns 0; -EINVAL: it is no
 * range, or an empty one.  `to` 0: no end.
 */
int span_parse(const char *text, int64_t begin_ns, int64_t *from_ns,
	       int64_t *to_ns);

/*
 * Returns where the range begins in a file's name, behind the last '@'; NULL:
 * there is none.
 */
const char *span_in(const char *file);

#endif
