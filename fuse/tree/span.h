/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_SPAN_H
#define SPATE_FUSE_TREE_SPAN_H

#include <stdint.h>

/*
 * A span of time is asked for behind the name of a file: T1..T2, of which one
 * may be left out.  Times are as people write them everywhere (base/units.h),
 * and +30s is counted from the beginning of the recording.
 *
 * 0; -EINVAL: it is none, or has nothing in it.  `to` 0: no end.
 */
int span_parse(const char *text, int64_t begin_ns, int64_t *from_ns,
	       int64_t *to_ns);

/* Where it begins in a file's name, behind the last '@'; NULL: nowhere. */
const char *span_in(const char *file);

#endif
