/* SPDX-License-Identifier: MIT */
/*
 * A stream's group holds the keys of three tables at once: the stream's own,
 * the receive plugin's and the format's.  So it is read twice: first for the
 * names of the plugins, then, with their tables, for everything, and a key
 * that none of the three knows is an error.
 */
#include "daemon/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/module.h"
#include "base/shape.h"
#include "flow/pool.h"

enum { DATAGRAM_MOST = 65507 }; /* bytes in a UDP packet */

#define AT(member) offsetof(struct stream_options, member)

const struct option stream_options[] = {
	{ .name = "receive",
	  .type = OPTION_TEXT,
	  .offset = AT(receive),
	  .fallback = "udp",
	  .help = "receive plugin" },
	{ .name = "format",
	  .type = OPTION_TEXT,
	  .offset = AT(format),
	  .fallback = "vdif",
	  .help = "format plugin" },
	{ .name = "prefix",
	  .type = OPTION_COUNT,
	  .offset = AT(prefix),
	  .max = 4096,
	  .help = "bytes of each datagram before the payload; not stored" },
	{ .name = "payload",
	  .type = OPTION_COUNT,
	  .offset = AT(payload),
	  .min = 8,
	  .max = DATAGRAM_MOST,
	  .fallback = "8032",
	  .help = "bytes of each datagram that are stored" },
	{ .name = "block",
	  .type = OPTION_BYTES,
	  .offset = AT(block),
	  .min = 4096,
	  .max = 1ull << 32,
	  .fallback = "64M",
	  .help = "size of a block, and so of a chunk" },
	{ .name = "blocks",
	  .type = OPTION_COUNT,
	  .offset = AT(blocks),
	  .max = 100000,
	  .help = "blocks of memory to record with; "
		  "none: 2 x disks + 6" },
	{ .name = "sequence",
	  .type = OPTION_TEXT,
	  .offset = AT(sequence),
	  .help = "where the sequence number is: le64@0, le32@4, be64@0, "
		  "be32@0, edv2, time or arrival; none: by the format" },
	{ .name = "rate",
	  .type = OPTION_RATE,
	  .offset = AT(rate),
	  .help = "the stream's rate, for forecasts and frames per second" },
	{ .name = "fps",
	  .type = OPTION_COUNT,
	  .offset = AT(fps),
	  .help = "frames per second of one thread; none: learned" },
	{ .name = "threads",
	  .type = OPTION_COUNTS,
	  .offset = AT(threads),
	  .max = 1023,
	  .help = "threads in the order they are sent; "
		  "none: learned" },
	{ .name = "layout",
	  .type = OPTION_CHOICE,
	  .offset = AT(layout),
	  .choices = "vbs",
	  .fallback = "vbs",
	  .help = "how recordings lie on disks" },
	{ .name = "fill",
	  .type = OPTION_CHOICE,
	  .offset = AT(fill),
	  .choices = "invalid|zero",
	  .fallback = "invalid",
	  .help = "what stands where a packet is missing" },
	/* At most 2^31 slots of 8 bytes: an index record counts to 2^32. */
	{ .name = "max_gap",
	  .type = OPTION_BYTES,
	  .offset = AT(max_gap),
	  .fallback = "256M",
	  .max = 1ull << 34,
	  .help = "a longer step of the sequence begins a new run" },
	{ .name = "max_age",
	  .type = OPTION_SPAN,
	  .offset = AT(max_age),
	  .fallback = "2s",
	  .min = 1000000,
	  .help = "a block is written at the latest this long after its "
		  "first packet" },
	{ .name = NULL },
};

/* ---- the two readings ------------------------------------------------ */

static int
plugins_load(struct stream *s, struct conf *conf, config_setting_t *group,
	     struct fault *fault)
{
	config_setting_t *receive = config_setting_get_member(group, "receive");
	config_setting_t *format = config_setting_get_member(group, "format");
	const char *name = receive ? config_setting_get_string(receive) : "udp";
	int err;

	if (name) {
		err = module_receive(name, &s->receive, fault);
		if (err)
			goto out;
	}
	receive = format;
	name = format ? config_setting_get_string(format) : "vdif";
	if (!name)
		return 0; /* of a wrong type: conf_fill will say so */
	err = module_format(name, &s->format, fault);
out:
	return err && receive ? conf_blame(conf, receive, err, fault) : err;
}

static int
options_make(const struct plugin *head, void **out)
{
	*out = calloc(1, head->options_bytes + 1);
	return *out ? 0 : -ENOMEM;
}

static int
options_fill(struct stream *s, struct conf *conf, config_setting_t *group,
	     struct fault *fault)
{
	struct conf_part part[3] = { { stream_options, &s->o } };
	unsigned n = 1;

	if (s->receive) {
		if (options_make(&s->receive->head, &s->receive_options) < 0)
			goto no_memory;
		part[n++] = (struct conf_part){ s->receive->head.options,
						s->receive_options };
	}
	if (s->format) {
		if (options_make(&s->format->head, &s->format_options) < 0)
			goto no_memory;
		part[n++] = (struct conf_part){ s->format->head.options,
						s->format_options };
	}
	return conf_fill(conf, group, part, n, NULL, fault);

no_memory:
	return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
}

/* ---- what follows from them ------------------------------------------ */

/* What fits each key alone, but not together. */
static int
sizes_check(const struct stream *s, const char *where, struct fault *fault)
{
	const struct option_counts *t = &s->o.threads;

	if (s->o.prefix + s->o.payload > DATAGRAM_MOST)
		return fault_set(fault, -EINVAL, "conf",
				 "%s: stream %s: prefix %u + payload %u is "
				 "more than the %u bytes of any datagram",
				 where, s->name, s->o.prefix, s->o.payload,
				 DATAGRAM_MOST);
	for (unsigned i = 0; i < t->n; i++)
		for (unsigned k = 0; k < i; k++)
			if (t->count[i] == t->count[k])
				return fault_set(fault, -EINVAL, "conf",
						 "%s: stream %s: thread %u is "
						 "in threads twice",
						 where, s->name, t->count[i]);
	return 0;
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
	if (s->o.sequence && shape_sequence_parse(shape, s->o.sequence) < 0)
		return fault_set(fault, -EINVAL, "conf",
				 "%s: stream %s: sequence '%s' is not one of "
				 "le64@0, le32@4, be64@0, be32@0, edv2, time, "
				 "arrival",
				 where, s->name, s->o.sequence);
	err = s->format->shape(shape, why, sizeof why);
	if (err)
		fault_set(fault, err, "conf", "%s: stream %s: %s", where,
			  s->name, why);
	return err;
}

static int
geometry_fit(struct stream *s, const char *where, unsigned disks,
	     struct fault *fault)
{
	int err = geometry_make(&s->geometry, s->o.payload, s->shape.parts,
				s->o.block);

	if (err) {
		fault_set(fault, err, "conf",
			  "%s: stream %s: no block can be made of packets of "
			  "%u bytes",
			  where, s->name, s->o.payload);
		fault_hint(fault, "a block holds whole packets and whole 4096 "
				  "bytes, at most 4 GiB");
		return err;
	}
	s->fill = strcmp(s->o.fill, "zero") ? FILL_INVALID : FILL_ZERO;
	s->blocks = s->o.blocks ? s->o.blocks : 2 * disks + 6;
	if (s->blocks >= 4)
		return 0;
	fault_set(fault, -EINVAL, "conf",
		  "%s: stream %s: blocks = %u is too "
		  "few",
		  where, s->name, s->blocks);
	fault_hint(fault, "three are open at a time, and one is written: use "
			  "at least 4, better 2 x disks + 6");
	return -EINVAL;
}

/* A receive plugin that can listen has to be told where. */
static int
listen_find(struct stream *s, const char *where, struct fault *fault)
{
	const struct option *o = s->receive->head.options;

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

int
stream_read(struct stream *s, struct conf *conf, config_setting_t *group,
	    unsigned disks, struct fault *fault)
{
	char where[256];
	int err;

	snprintf(where, sizeof where, "%s", conf_where(conf, group));
	s->name = config_setting_name(group);
	if (!config_setting_is_group(group)) {
		fault_set(fault, -EINVAL, "conf", "%s: stream %s is no group",
			  where, s->name);
		fault_hint(fault,
			   "write it as %s : { format = \"vdif\"; ... "
			   "};",
			   s->name);
		return -EINVAL;
	}
	err = plugins_load(s, conf, group, fault);
	if (!err)
		err = options_fill(s, conf, group, fault);
	if (!err)
		err = sizes_check(s, where, fault);
	if (!err)
		err = shape_make(s, where, fault);
	if (!err)
		err = geometry_fit(s, where, disks, fault);
	if (!err)
		err = listen_find(s, where, fault);
	return err;
}

void
stream_clear(struct stream *s)
{
	free(s->receive_options);
	free(s->format_options);
	free(s->threads);
}

uint64_t
stream_memory(const struct stream *s)
{
	struct stock_args blocks = { .blocks = s->blocks,
				     .slots = s->geometry.slots,
				     .slot_bytes = s->geometry.payload };

	return pool_need(&blocks);
}

void
stream_learned(struct stream *s, const struct format_shape *shape)
{
	size_t bytes = shape->threads_n * sizeof *shape->threads;
	uint32_t *threads;

	if (!shape->fps || !shape->threads_n || s->shape.threads_n)
		return;
	threads = malloc(bytes);
	if (!threads)
		return; /* it will be learned again */
	memcpy(threads, shape->threads, bytes);
	free(s->threads);
	s->threads = threads;
	s->shape.threads = threads;
	s->shape.threads_n = shape->threads_n;
	s->shape.fps = shape->fps;
}
