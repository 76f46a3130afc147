/* SPDX-License-Identifier: MIT */
/*
 * A stream's group holds the keys of three tables: the stream's own, the
 * receive plugin's and the format plugin's.  So it is read twice: first for the
 * names of the plugins, then for everything, with their tables.  A key that
 * none of the three tables knows is an error.
 */
#include "daemon/conf/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/module.h"
#include "flow/heaps/heaps.h"
#include "flow/output/parity_groups.h"
#include "flow/slots/slots.h"

#define AT(member) offsetof(struct stream_options, member)

const struct option_key stream_options[] = {
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
	  .max = 1 << 30,
	  .fallback = "8032",
	  .help = "bytes of each datagram that are stored, at most 65507; of "
		  "cubes: of the item that is" },
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
		  "none: 2 x substreams + 2 x disks + 4" },
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
	{ .name = "split",
	  .type = OPTION_CHOICE,
	  .offset = AT(split),
	  .choices = "none|thread|station",
	  .fallback = "none",
	  .help = "a recording of its own for each of `threads` or "
		  "`stations`" },
	{ .name = "stations",
	  .type = OPTION_TEXTS,
	  .offset = AT(stations),
	  .help = "stations to split by, as in the frame headers: two letters "
		  "or a number" },
	{ .name = "channels_per_file",
	  .type = OPTION_COUNT,
	  .offset = AT(channels_per_file),
	  .fallback = "1",
	  .min = 1,
	  .max = 65536,
	  .help = "substreams that readers put together into one file" },
	{ .name = "layout",
	  .type = OPTION_CHOICE,
	  .offset = AT(layout),
	  .choices = "vbs|mark6|file",
	  .fallback = "vbs",
	  .help = "how recordings lie on disks: a file for each block, Mark6's "
		  "scatter/gather, or one plain file per disk" },
	{ .name = "vbs_cfg",
	  .type = OPTION_FLAG,
	  .offset = AT(vbs_cfg),
	  .help = "write NAME.cfg beside the chunks at the end, by which "
		  "VLBI-streamer's vbs_fs finds a recording" },
	{ .name = "parity",
	  .type = OPTION_COUNT,
	  .offset = AT(parity),
	  .max = 2,
	  .help = "so many disks may die without a packet lost: parity is "
		  "written across disks, from parity + 1 on" },
	{ .name = "hold",
	  .type = OPTION_CHOICE,
	  .offset = AT(hold),
	  .choices = "auto|on|off",
	  .fallback = "auto",
	  .help = "hold blocks in memory, as long as it has room, until they "
		  "are durable, and write them to other disks if theirs dies "
		  "before; auto: if there is parity" },
	{ .name = "fill",
	  .type = OPTION_CHOICE,
	  .offset = AT(fill),
	  .choices = "invalid|zero",
	  .fallback = "invalid",
	  .help = "what stands where a packet is missing" },
	{ .name = "checksum",
	  .type = OPTION_FLAG,
	  .offset = AT(checksum),
	  .fallback = "true",
	  .help = "take CRC32C of all that is written, for spate verify" },
	/* At most 2^31 slots of 8 bytes, since an index record counts slots in
	 * 32 bits. */
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
	{ .name = "max_loss",
	  .type = OPTION_SHARE,
	  .offset = AT(max_loss),
	  .fallback = "0.01",
	  .help = "spate check complains of a recording that lost more than "
		  "this share of its packets" },
	{ .name = "max_clock",
	  .type = OPTION_SPAN,
	  .offset = AT(max_clock),
	  .help = "the log and status complain of data whose time is farther "
		  "from ours; none: 0.75 s" },
	{ .name = "refuse_clock",
	  .type = OPTION_FLAG,
	  .offset = AT(refuse_clock),
	  .help = "end a recording in its first seconds if its data are "
		  "farther from our time than max_clock" },
	{ .name = "quality",
	  .type = OPTION_FLAG,
	  .offset = AT(quality),
	  .fallback = "true",
	  .help = "look at the samples of some frames while they are "
		  "recorded" },
	{ .name = "sample_bits",
	  .type = OPTION_COUNT,
	  .offset = AT(sample_bits),
	  .max = 16,
	  .help = "bits of a sample, where headers do not say it" },
	{ .name = "sample_channels",
	  .type = OPTION_COUNT,
	  .offset = AT(sample_channels),
	  .max = 4096,
	  .help = "channels of a frame, where headers do not say it" },
	{ .name = "sample_rate",
	  .type = OPTION_COUNT,
	  .offset = AT(sample_rate),
	  .help = "samples per second of a channel; none: by the frames per "
		  "second" },
	{ .name = "tones",
	  .type = OPTION_COUNT,
	  .offset = AT(tones),
	  .help = "Hz from one phase-cal tone to the next; none: no tones" },
	{ .name = "tone_offset",
	  .type = OPTION_COUNT,
	  .offset = AT(tone_offset),
	  .help = "Hz of the first tone" },
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
		return 0; /* wrong type, which conf_fill reports */
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
	return fault_no_memory(fault);
}

/* Refuses a payload above one datagram, except for cubes, whose items are
 * larger.  The table of options cannot say this. */
static int
payload_check(struct stream *s, struct conf *conf, config_setting_t *group,
	      struct fault *fault)
{
	config_setting_t *payload = config_setting_get_member(group, "payload");

	s->payload_told = payload;
	if (s->format->piece || s->o.payload <= STREAM_DATAGRAM)
		return 0;
	fault_set(fault, -EINVAL, "conf",
		  "%s: payload = %u is more than the %u bytes of any datagram",
		  conf_where(conf, payload), s->o.payload, STREAM_DATAGRAM);
	return -EINVAL;
}

static int
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
		err = payload_check(s, conf, group, fault);
	return err ? err : stream_plan(s, where, disks, fault);
}

int
stream_make(struct stream **stream, struct conf *conf, config_setting_t *group,
	    unsigned disks, struct fault *fault)
{
	struct stream *s = calloc(1, sizeof *s);
	int err;

	if (!s)
		return fault_no_memory(fault);
	s->refs = 1;
	s->conf = conf_hold(conf);
	s->group = group;
	err = stream_read(s, conf, group, disks, fault);
	if (err)
		stream_drop(s);
	else
		*stream = s;
	return err;
}

struct stream *
stream_hold(struct stream *s)
{
	s->refs++;
	return s;
}

void
stream_drop(struct stream *s)
{
	if (--s->refs)
		return;
	free(s->receive_options);
	free(s->format_options);
	free(s->threads);
	free(s->key);
	conf_close(s->conf);
	free(s);
}

struct block_pool_args
stream_pool_args(const struct stream *s)
{
	return (struct block_pool_args){
		.blocks = s->blocks,
		.slots = s->geometry.slots,
		.slot_bytes = s->geometry.payload,
		.extra = heaps_extra(&s->shape, &s->geometry),
		.side = slots_side(&s->shape, s->geometry.slots),
		.subs = s->plan.subs * s->keys,
		.quantum = s->o.checksum ? BLOCK_QUANTUM : 0
	};
}

bool
stream_holds(const struct stream *s)
{
	return !strcmp(s->o.hold, "on") ||
	       (!strcmp(s->o.hold, "auto") && s->o.parity);
}

struct block_pool_args
stream_parity_args(const struct stream *s)
{
	/* Three groups take members, one waits for its disks, two are written;
	 * and the parts of a split stream have groups of their own. */
	enum { GROUPS = 6 };

	return (struct block_pool_args){
		.blocks = s->o.parity * (s->keys + GROUPS - 1),
		.slots = s->geometry.slots,
		.slot_bytes = s->geometry.payload,
		.extra = parity_groups_extra(),
		.subs = 1,
	};
}

uint64_t
stream_memory(const struct stream *s)
{
	struct block_pool_args blocks = stream_pool_args(s);
	struct block_pool_args parity = stream_parity_args(s);
	uint64_t bytes = block_pool_need(&blocks);

	return parity.blocks ? bytes + block_pool_need(&parity) : bytes;
}

uint32_t
stream_longest(const struct stream *s)
{
	return s->format->piece ? STREAM_DATAGRAM
				: s->shape.prefix + s->shape.payload;
}

void
stream_learned(struct stream *s, const struct format_shape *shape)
{
	size_t bytes = shape->threads_n * sizeof *shape->threads;
	uint32_t *threads;

	if (!shape->fps || !shape->threads_n)
		return;
	s->shape.fps = shape->fps;
	if (s->shape.threads_n)
		return;
	threads = malloc(bytes);
	if (!threads)
		return; /* learned again from the next recording */
	memcpy(threads, shape->threads, bytes);
	free(s->threads);
	s->threads = threads;
	s->shape.threads = threads;
	s->shape.threads_n = shape->threads_n;
}
