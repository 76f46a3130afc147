/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_CONF_STREAM_H
#define SPATE_DAEMON_CONF_STREAM_H

#include "base/conf.h"
#include "contract/format.h"
#include "contract/receive.h"
#include "flow/memory/pool.h"
#include "store/record/fill.h"
#include "store/record/geometry.h"
#include "store/disk/layout.h"

/*
 * A stream is what the configuration says of something that arrives: from
 * where, in which format, and how it is cut into blocks.  It is checked and
 * complete after stream_make, and does not change, except that frames per
 * second and threads that a recording learned are kept for the next one.
 *
 * A reload of the configuration may put another in its place, under the same
 * name, or none.  So whoever keeps a pointer to one over a turn of the event
 * loop holds it; who keeps its name asks setup_stream for it each time.  The
 * event loop's thread makes, holds and drops them.
 */
struct stream_options {
	const char *receive, *format;
	uint32_t prefix, payload;
	uint64_t block;
	uint32_t blocks; /* 0: by substreams and disks */
	const char *sequence;
	uint64_t rate;
	uint32_t fps;
	struct option_counts threads;
	const char *split;
	struct option_texts stations;
	uint32_t channels_per_file;
	const char *layout, *fill;
	bool vbs_cfg;
	bool checksum;
	uint64_t max_gap;
	int64_t max_age;
	double max_loss;
};

enum stream_split { SPLIT_NONE, SPLIT_THREAD, SPLIT_STATION };
enum {
	STREAM_KEYS = 256,	 /* most parts of a split stream */
	STREAM_DATAGRAM = 65507, /* bytes of any datagram, at most */
};

struct reception;

struct stream {
	unsigned refs;
	struct conf *conf;	 /* held: what is below points into it */
	config_setting_t *group; /* of the configuration, that it is made of */
	const char *name;
	struct stream_options o;
	const struct receive_ops *receive;
	const struct format_ops *format;
	void *receive_options, *format_options; /* filled by their tables */
	struct option_texts listen;		/* as configured, for people */
	bool payload_told;			/* and not the default */
	struct receive_plan plan;		/* its substreams */
	enum stream_split split;		/* a recording for each key */
	uint32_t *key;		   /* threads or stations, of a split */
	unsigned keys;		   /* 1 where it is not split */
	unsigned disks;		   /* that `blocks` were made for */
	struct format_shape shape; /* of all keys together */
	uint32_t *threads;	   /* learned; shape.threads points here */
	struct geometry geometry;
	enum layout layout;
	enum fill_kind fill;
	uint32_t blocks;
	struct reception *reception; /* that takes it in now, or NULL */
};

/* The keys of a stream that are not a plugin's; for `spated --help`. */
extern const struct option stream_options[];

/* 0 and one that the caller holds, or -errno with a fault that has file:line
 * and the stream's name. */
int stream_make(struct stream **stream, struct conf *conf,
		config_setting_t *group, unsigned disks, struct fault *fault);
struct stream *stream_hold(struct stream *s);
void stream_drop(struct stream *s); /* the last one's frees it */

/* The second half of stream_make: what follows from the keys. */
int stream_plan(struct stream *s, const char *where, unsigned disks,
		struct fault *fault);

/* Of that, its layout: whether it can be, and the geometry that it asks for. */
int stream_layout(struct stream *s, const char *where, struct fault *fault);
/* The geometry of a layout in which all blocks are of one length. */
int stream_layout_fit(struct stream *s, const char *where, struct fault *fault);

/* The blocks that a recording of it borrows. */
struct stock_args stream_stock(const struct stream *s);

/* Bytes of memory that a recording of it borrows. */
uint64_t stream_memory(const struct stream *s);

/* The longest datagram that is to come whole: pieces of heaps vary. */
uint32_t stream_longest(const struct stream *s);

/* There are so many disks now: as many blocks more as they want and `room`
 * has memory for.  Nothing where the configuration says how many, or has seen
 * so many disks. */
void stream_disks(struct stream *s, unsigned disks, uint64_t room);
/* Fewer blocks, by 2 for each disk, until they fit in `room` or are those for
 * no disk.  Nothing where the configuration says how many. */
void stream_shrink(struct stream *s, uint64_t room);

/* How many blocks that is: "876 blocks (2 x 432 substreams + ...)". */
enum { STREAM_BLOCKS_TEXT = 96 };
const char *stream_blocks_show(const struct stream *s,
			       char text[STREAM_BLOCKS_TEXT]);

/* What `spated -n` prints of it. */
void stream_print(const struct stream *s);

/* Keeps what a recording learned. */
void stream_learned(struct stream *s, const struct format_shape *shape);

#endif
