/* SPDX-License-Identifier: MIT */
/*
 * Decides if a stream can be recorded in its layout (vbs, mark6, file).
 *
 * In the layouts mark6 and file all blocks on a disk share one file, which
 * other programs can read only if it is one sequence of packets: several
 * substreams would be mixed.  Heaps in one file would be useful, too, but after
 * a crash they cannot be told apart without files of their own.
 *
 * Readers of a Mark6 file tell packets apart, so bytes without any header or
 * number are refused there.
 */
#include <errno.h>

#include "daemon/conf/stream.h"
#include "store/disk/layout.h"

static int
refuse(const struct stream *s, const char *where, const char *why,
       struct fault *fault)
{
	fault_set(fault, -EINVAL, "conf",
		  "%s: stream %s cannot be recorded with layout = \"%s\"",
		  where, s->name, s->o.layout);
	fault_why(fault, "%s", why);
	fault_hint(fault, "layout = \"vbs\" takes any stream");
	return -EINVAL;
}

/* Checks vbs_cfg: a .cfg holds one packet size and one number of packets for
 * all chunks. */
static int
cfg_check(const struct stream *s, const char *where, struct fault *fault)
{
	const char *why = s->layout != LAYOUT_VBS
			      ? "that is beside chunks, of layout = \"vbs\""
			  : s->shape.store != HEAP_NONE
			      ? "its chunks are heaps, not packets of one size"
			  : s->plan.subs > 1
			      ? "it tells of one sequence of chunks, and each "
				"substream is one"
			      : NULL;

	if (!s->o.vbs_cfg || !why)
		return 0;
	fault_set(fault, -EINVAL, "conf",
		  "%s: stream %s cannot have vbs_cfg = true", where, s->name);
	fault_why(fault, "%s", why);
	fault_hint(fault, "leave vbs_cfg out");
	return -EINVAL;
}

int
stream_layout(struct stream *s, const char *where, struct fault *fault)
{
	if (!layout_parse(s->o.layout, &s->layout))
		return refuse(s, where, "there is no such layout", fault);
	if (cfg_check(s, where, fault))
		return -EINVAL;
	if (s->layout == LAYOUT_VBS)
		return 0;
	if (s->shape.store != HEAP_NONE)
		return refuse(s, where, "it is made of heaps, not of packets",
			      fault);
	if (s->plan.subs > 1)
		return refuse(s, where,
			      "its substreams would lie mixed in one file; a "
			      "stream for each port would do",
			      fault);
	if (s->layout == LAYOUT_MARK6 && !s->shape.header &&
	    !s->plan.sequence && s->shape.sequence == SEQUENCE_ARRIVAL)
		return refuse(s, where,
			      "a Mark6 file is made of packets, and nothing in "
			      "these bytes says what is one; layout = \"file\" "
			      "would do",
			      fault);
	return 0;
}

int
stream_layout_fit(struct stream *s, const char *where, struct fault *fault)
{
	uint64_t most = LAYOUT_SG_MOST - SG_BLOCK;
	uint64_t bytes = s->o.block < most ? s->o.block : most;
	uint64_t frame = (uint64_t)s->shape.payload * s->shape.parts;

	if (bytes < frame)
		bytes = frame;
	if (bytes > most)
		return refuse(s, where,
			      "its blocks are at most 10000000 bytes, and no "
			      "frame fits there",
			      fault);
	return geometry_frames(&s->geometry, s->shape.payload, s->shape.parts,
			       bytes);
}
