/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_CONF_STREAM_H
#define SPATE_DAEMON_CONF_STREAM_H

#include "base/conf.h"
#include "contract/format.h"
#include "contract/receive.h"
#include "flow/memory/block_pool.h"
#include "store/record/fill.h"
#include "store/record/geometry.h"
#include "store/disk/layout.h"

/*
 * A stream is a source of packets as the configuration describes it: where they
 * arrive, in which format, and how they are cut into blocks.  It is complete
 * after stream_make and does not change, but for frames per second and threads
 * learned from one recording and kept for the next.
 *
 * A reload of the configuration may replace a stream by another of the same
 * name, or remove it.  So code that keeps a pointer beyond one turn of the
 * event loop holds a reference, and code that keeps the name calls setup_stream
 * each time.  The event loop's thread makes, holds and drops streams.
 */

/* A stream's own keys; filled by stream_options[]. */
struct stream_options {
	const char *receive, *format;
	uint32_t prefix, payload;
	uint64_t block;
	uint32_t blocks; /* 0: 2 x substreams + 2 x disks + 4 */
	const char *sequence;
	uint64_t rate;
	uint32_t fps;
	struct option_counts threads;
	const char *split;
	struct option_texts stations;
	uint32_t channels_per_file;
	const char *layout, *fill;
	bool vbs_cfg;
	uint32_t parity;  /* parity blocks of a group; 0: none */
	const char *hold; /* auto, on or off: see stream_holds() */
	bool checksum;
	uint64_t max_gap;
	int64_t max_age;
	double max_loss;
	int64_t max_clock; /* ns; 0: 0.75 s */
	bool refuse_clock;
	bool quality;
	uint32_t sample_bits, sample_channels; /* 0: the header says it */
	uint32_t sample_rate;		       /* Hz; 0: by the frames */
	uint32_t tones, tone_offset;	       /* Hz; 0: there are none */
};

/* The key by which a stream is split into recordings of their own. */
enum stream_split { SPLIT_NONE, SPLIT_THREAD, SPLIT_STATION };
enum {
	STREAM_KEYS = 256,	 /* parts of a split stream, at most */
	STREAM_DATAGRAM = 65507, /* bytes of a datagram, at most */
};

struct stream_input;

struct stream {
	unsigned refs;
	struct conf *conf;	 /* held, because all below points into it */
	config_setting_t *group; /* the stream's group in `conf` */
	const char *name;
	struct stream_options o;
	const struct receive_ops *receive;
	const struct format_ops *format;
	/* structs filled by the plugins' tables of options */
	void *receive_options, *format_options;
	struct option_texts listen; /* addresses as configured, for people */
	bool payload_told;	    /* `payload` is set, not the default */
	/* from the plugin: substreams, receiver threads */
	struct receive_plan plan;
	/* one recording per key: VDIF thread or station */
	enum stream_split split;
	uint32_t *key;	/* the VDIF threads or stations of a split */
	unsigned keys;	/* number of keys; 1 without a split */
	unsigned disks; /* number of disks that `blocks` is made for */
	/* packet layout, rate and threads of all keys together */
	struct format_shape shape;
	uint32_t *threads; /* learned list; shape.threads points here */
	struct geometry geometry;
	enum layout layout;
	enum fill_kind fill;
	uint32_t blocks;
	/* open input of its recordings now, or NULL */
	struct stream_input *input;
};

/* The keys of a stream that belong to no plugin. */
extern const struct option_key stream_options[];

/* Makes *stream, with one reference, from a group of the configuration.
 * `disks`: number of disks, for the default of `blocks`.  Returns 0, or -errno
 * with a fault that has file:line and the stream's name. */
int stream_make(struct stream **stream, struct conf *conf,
		config_setting_t *group, unsigned disks, struct fault *fault);
/* Adds a reference and returns `s`. */
struct stream *stream_hold(struct stream *s);
void stream_drop(struct stream *s); /* frees with the last reference */

/* Derives shape, geometry and blocks from the keys; the second half of
 * stream_make. */
int stream_plan(struct stream *s, const char *where, unsigned disks,
		struct fault *fault);

/* Returns the number and size of the blocks that a recording borrows. */
struct block_pool_args stream_pool_args(const struct stream *s);

/* The same of its parity blocks; blocks 0: it has none. */
struct block_pool_args stream_parity_args(const struct stream *s);

/* Tells whether blocks are held in memory until they are durable. */
bool stream_holds(const struct stream *s);

/* Returns the bytes of memory that a recording borrows. */
uint64_t stream_memory(const struct stream *s);

/* Returns the longest datagram, in bytes, that must be received whole.  Pieces
 * of heaps vary in length, so for them it is any datagram. */
uint32_t stream_longest(const struct stream *s);

/* Adds 2 blocks for each disk beyond s->disks, while they fit into `room`
 * bytes.  Does nothing if `blocks` is configured. */
void stream_disks(struct stream *s, unsigned disks, uint64_t room);
/* Removes 2 blocks per disk until the stream fits into `room` bytes or has the
 * blocks for no disk.  Does nothing if `blocks` is configured. */
void stream_shrink(struct stream *s, uint64_t room);

/* Writes the number of blocks for people: "876 blocks (2 x 432 substreams +
 * ...)".  Returns `text`. */
enum { STREAM_BLOCKS_TEXT = 96 };
const char *stream_blocks_show(const struct stream *s,
			       char text[STREAM_BLOCKS_TEXT]);

/* Keeps the frames per second and the threads that a recording learned. */
void stream_learned(struct stream *s, const struct format_shape *shape);

#endif
