/* SPDX-License-Identifier: MIT */
/*
 * Derives a stream's plan from its keys, in this order:
 *
 *   listen           -> substreams   (asks the receive plugin)
 *   format           -> shape        (asks the format plugin)
 *   split            -> keys: a recording of its own for each
 *   layout, block, payload -> geometry
 *   substreams, keys, disks -> how many blocks of memory
 *
 * Keys that are good alone but contradict each other are found here.
 *
 * In the layouts mark6 and file all blocks on a disk share one file, which
 * other programs can read only if it is one sequence of packets: several
 * substreams would be mixed.  Heaps in one file would be useful, too, but after
 * a crash they cannot be told apart without files of their own.
 *
 * Readers of a Mark6 file tell packets apart, so bytes without any header or
 * number are refused there.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/shape.h"
#include "daemon/conf/stream.h"
#include "flow/slots/shared.h"
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

/* Checks that the stream can be recorded in its layout; a part of
 * stream_plan. */
static int
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

/* Sets the geometry for LAYOUT_MARK6, whose blocks are all of one length.
 * Returns 0, or -errno with a fault. */
static int
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

/* ---- the plan -------------------------------------------------------- */

/* ---- substreams ------------------------------------------------------ */

/* Finds the option `listen` of the receive plugin, if it has one, and refuses
 * an empty list. */
static int
listen_find(struct stream *s, const char *where, struct fault *fault)
{
	const struct option_key *o = s->receive->head.options;

	while (o && o->name &&
	       (strcmp(o->name, "listen") || o->type != OPTION_TEXTS))
		o++;
	if (!o || !o->name)
		return 0;
	memcpy(&s->listen, (char *)s->receive_options + o->offset,
	       sizeof s->listen);
	if (s->listen.n)
		return 0;
	fault_set(fault, -EINVAL, "conf",
		  "%s: stream %s: `listen` is missing: where do packets come "
		  "in?",
		  where, s->name);
	fault_hint(fault, "listen = [ \"0.0.0.0:46227\" ];");
	return -EINVAL;
}

static int
plan_make(struct stream *s, const char *where, struct fault *fault)
{
	char why[256] = "";
	int err;

	s->plan = (struct receive_plan){ .subs = 1, .threads = 1 };
	if (!s->receive->plan)
		return 0;
	err = s->receive->plan(s->receive_options, &s->plan, why, sizeof why);
	if (err)
		return fault_set(fault, err, "conf", "%s: stream %s: %s", where,
				 s->name, why[0] ? why : strerror(-err));
	if (s->plan.subs > UINT16_MAX + 1u)
		return fault_set(fault, -EINVAL, "conf",
				 "%s: stream %s: %u substreams are more than "
				 "the 65536 that a recording can have",
				 where, s->name, s->plan.subs);
	if (s->plan.sequence && (s->o.sequence || s->o.prefix))
		return fault_set(fault, -EINVAL, "conf",
				 "%s: stream %s: receive = \"%s\" brings the "
				 "number of each packet by itself, and nothing "
				 "before the payload: leave `sequence` and "
				 "`prefix` out",
				 where, s->name, s->o.receive);
	return 0;
}

/* ---- shape ----------------------------------------------------------- */

/* Checks limits that several keys share. */
static int
sizes_check(const struct stream *s, const char *where, struct fault *fault)
{
	const struct option_counts *t = &s->o.threads;

	if (!s->format->piece && s->o.prefix + s->o.payload > STREAM_DATAGRAM)
		return fault_set(fault, -EINVAL, "conf",
				 "%s: stream %s: prefix %u + payload %u is "
				 "more than the %u bytes of any datagram",
				 where, s->name, s->o.prefix, s->o.payload,
				 STREAM_DATAGRAM);
	for (unsigned i = 0; i < t->n; i++)
		for (unsigned k = 0; k < i; k++)
			if (t->count[i] == t->count[k])
				return fault_set(fault, -EINVAL, "conf",
						 "%s: stream %s: thread %u is "
						 "in threads twice",
						 where, s->name, t->count[i]);
	return 0;
}

/* Refuses a cube without `payload`: the default is that of a VDIF frame. */
static int
cube_check(const struct stream *s, const char *where, struct fault *fault)
{
	if (s->shape.store != HEAP_CUBE || s->payload_told)
		return 0;
	fault_set(fault, -EINVAL, "conf",
		  "%s: stream %s: a cube needs to know how many bytes the item "
		  "has in each heap",
		  where, s->name);
	fault_hint(fault,
		   "payload = BYTES; 'spate probe %s' shows the items "
		   "that come",
		   s->name);
	return -EINVAL;
}

static int
shape_make(struct stream *s, const char *where, struct fault *fault)
{
	struct format_shape *shape = &s->shape;
	char why[256] = "";
	int err = 0;

	shape->prefix = s->o.prefix;
	shape->payload = s->o.payload;
	shape->fps = s->o.fps;
	shape->threads = s->o.threads.count;
	shape->threads_n = s->o.threads.n;
	shape->rate = s->o.rate;
	shape->options = s->format_options;
	if (s->plan.sequence)
		shape->sequence = SEQUENCE_ARRIVAL;
	if (s->split)
		shape->sequence = SEQUENCE_TIME;
	if (s->o.sequence && shape_sequence_parse(shape, s->o.sequence) < 0)
		return fault_set(fault, -EINVAL, "conf",
				 "%s: stream %s: sequence '%s' is not one of "
				 "le64@0, le32@4, be64@0, be32@0, edv2, time, "
				 "arrival",
				 where, s->name, s->o.sequence);
	err = s->format->shape(shape, why, sizeof why);
	if (err)
		return fault_set(fault, err, "conf", "%s: stream %s: %s", where,
				 s->name, why);
	return cube_check(s, where, fault);
}

/* ---- split ----------------------------------------------------------- */

/* Reads a station: a number, or two letters with the first in the high byte, as
 * VDIF has them. */
static bool
station_read(const char *text, uint32_t *station)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (isdigit((unsigned char)*text) && !*end) {
		*station = (uint32_t)number;
		return number <= UINT16_MAX;
	}
	if (strlen(text) != 2 || !isalnum((unsigned char)text[0]) ||
	    !isalnum((unsigned char)text[1]))
		return false;
	*station = (uint32_t)text[0] << 8 | (uint32_t)text[1];
	return true;
}

static int
stations_read(struct stream *s, const char *where, struct fault *fault)
{
	for (unsigned i = 0; i < s->keys; i++) {
		const char *text = s->o.stations.text[i];

		if (!station_read(text, &s->key[i]))
			return fault_set(fault, -EINVAL, "conf",
					 "%s: stream %s: station '%s' is "
					 "neither two letters, as \"Ef\", nor "
					 "a number up to 65535",
					 where, s->name, text);
		for (unsigned k = 0; k < i; k++)
			if (s->key[k] == s->key[i])
				return fault_set(fault, -EINVAL, "conf",
						 "%s: stream %s: station '%s' "
						 "is in stations twice",
						 where, s->name, text);
	}
	return 0;
}

static int
split_refuse(const struct stream *s, const char *where, const char *why,
	     const char *hint, struct fault *fault)
{
	fault_set(fault, -EINVAL, "conf",
		  "%s: stream %s cannot be split by %s: %s", where, s->name,
		  s->o.split, why);
	fault_hint(fault, "%s", hint);
	return -EINVAL;
}

/* Refuses a split that cannot work.  Each part is ordered by the time in its
 * frames, which needs the list of threads; frames per second can be learned. */
static int
split_check(const struct stream *s, const char *where, struct fault *fault)
{
	if (s->split == SPLIT_STATION && !s->o.stations.n)
		return split_refuse(s, where, "`stations` is missing",
				    "stations = [ \"Wz\", \"Ef\" ];", fault);
	if (!s->o.threads.n)
		return split_refuse(s, where, "`threads` is missing",
				    "threads = [ 0, 1 ]; 'spate probe' shows "
				    "those that come",
				    fault);
	if (s->plan.sequence)
		return split_refuse(s, where,
				    "its packets come with numbers that count "
				    "all of them",
				    "frames = \"plain\"", fault);
	if (s->plan.subs > 1)
		return split_refuse(s, where, "it has substreams",
				    "use one port, or a stream for each port",
				    fault);
	return 0;
}

static int
split_make(struct stream *s, const char *where, struct fault *fault)
{
	const char *key = s->split == SPLIT_THREAD ? "threads" : "stations";
	int err;

	s->keys = 1;
	if (!s->split && !s->o.stations.n)
		return 0;
	if (s->split != SPLIT_STATION && s->o.stations.n) {
		fault_set(fault, -EINVAL, "conf",
			  "%s: stream %s: `stations` needs split = \"station\"",
			  where, s->name);
		return -EINVAL;
	}
	err = split_check(s, where, fault);
	if (err)
		return err;
	s->keys = s->split == SPLIT_THREAD ? s->o.threads.n : s->o.stations.n;
	s->key = calloc(s->keys + 1, sizeof *s->key);
	if (!s->key)
		return fault_no_memory(fault);
	if (s->keys > STREAM_KEYS)
		return split_refuse(s, where, "there are too many keys",
				    "at most 256", fault);
	if (!strcmp(key, "stations"))
		return stations_read(s, where, fault);
	memcpy(s->key, s->o.threads.count, s->keys * sizeof *s->key);
	return 0;
}

/* Checks that need the finished shape. */
static int
shape_check(const struct stream *s, const char *where, struct fault *fault)
{
	if (s->split && s->shape.sequence != SEQUENCE_TIME)
		return split_refuse(s, where,
				    "the parts are put in order by the time "
				    "in their frames",
				    "leave `sequence` out", fault);
	return 0;
}

/* ---- memory ---------------------------------------------------------- */

static int
geometry_fit(struct stream *s, const char *where, struct fault *fault)
{
	const struct format_shape *shape = &s->shape;
	int err;

	if (s->layout == LAYOUT_MARK6)
		return stream_layout_fit(s, where, fault);
	if (shape->store == HEAP_CUBE)
		err = geometry_items(&s->geometry, shape->payload, s->o.block);
	else
		err = geometry_make(&s->geometry, shape->payload, shape->parts,
				    s->o.block);
	if (!err)
		return 0;
	fault_set(fault, err, "conf",
		  "%s: stream %s: no block can be made of packets of %u bytes",
		  where, s->name, shape->payload);
	fault_hint(fault, "a block holds whole packets and whole 4096 bytes, "
			  "at most 4 GiB");
	return err;
}

/* Sets the number of blocks.  Each sequence has two open; one more waits as a
 * candidate (the start of a possible new run), and one is being written. */
static int
blocks_fit(struct stream *s, const char *where, unsigned disks,
	   struct fault *fault)
{
	unsigned open = 2 * s->plan.subs * s->keys;

	s->disks = disks;
	s->fill = strcmp(s->o.fill, "zero") ? FILL_INVALID : FILL_ZERO;
	s->blocks = s->o.blocks ? s->o.blocks : open + 2 * disks + 4;
	if (s->blocks >= open + 2)
		return 0;
	fault_set(fault, -EINVAL, "conf",
		  "%s: stream %s: blocks = %u is too few", where, s->name,
		  s->blocks);
	if (open > 2)
		fault_why(fault,
			  "two are open for each of its %u %s, and at least "
			  "two go to the disks",
			  open / 2, s->keys > 1 ? "parts" : "substreams");
	else
		fault_why(fault, "three are open at a time, and one is "
				 "written");
	fault_hint(fault,
		   "use at least %u, better %u; `block` may be smaller instead",
		   open + 2, open + 2 * disks + 4);
	return -EINVAL;
}

void
stream_disks(struct stream *s, unsigned disks, uint64_t room)
{
	while (!s->o.blocks && s->disks < disks) {
		s->disks++;
		s->blocks += 2;
		if (stream_memory(s) <= room)
			continue;
		s->disks--;
		s->blocks -= 2;
		return;
	}
}

void
stream_shrink(struct stream *s, uint64_t room)
{
	while (!s->o.blocks && s->disks && stream_memory(s) > room) {
		s->disks--;
		s->blocks -= 2;
	}
}

/* Checks that several receiver threads can put packets of one sequence into the
 * same blocks (`rings` of the fanout plugin). */
static int
shared_fit(const struct stream *s, const char *where, struct fault *fault)
{
	char why[256] = "";
	int err;

	if (s->plan.threads < 2)
		return 0;
	if (s->split)
		return split_refuse(s, where, "several threads take it in",
				    "leave `rings` out", fault);
	err = shared_check(&s->shape, s->geometry.slots, s->plan.threads, why,
			   sizeof why);
	if (err)
		fault_set(fault, err, "conf", "%s: stream %s: %s", where,
			  s->name, why);
	return err;
}

int
stream_plan(struct stream *s, const char *where, unsigned disks,
	    struct fault *fault)
{
	int err = listen_find(s, where, fault);

	s->split = !strcmp(s->o.split, "thread")    ? SPLIT_THREAD
		   : !strcmp(s->o.split, "station") ? SPLIT_STATION
						    : SPLIT_NONE;
	if (!err)
		err = plan_make(s, where, fault);
	if (!err)
		err = sizes_check(s, where, fault);
	if (!err)
		err = split_make(s, where, fault);
	if (!err)
		err = shape_make(s, where, fault);
	if (!err)
		err = shape_check(s, where, fault);
	if (!err)
		err = stream_layout(s, where, fault);
	if (!err)
		err = geometry_fit(s, where, fault);
	if (!err)
		err = shared_fit(s, where, fault);
	if (!err)
		err = blocks_fit(s, where, disks, fault);
	return err;
}
