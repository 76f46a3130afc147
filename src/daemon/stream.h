/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_STREAM_H
#define SPATE_DAEMON_STREAM_H

#include "base/conf.h"
#include "contract/format.h"
#include "contract/receive.h"
#include "store/fill.h"
#include "store/geometry.h"

/*
 * A stream is what the configuration says of something that arrives: from
 * where, in which format, and how it is cut into blocks.  It is checked and
 * complete after stream_read, and does not change, except that frames per
 * second and threads that a recording learned are kept for the next one.
 */
struct stream_options {
	const char *receive, *format;
	uint32_t prefix, payload;
	uint64_t block;
	uint32_t blocks; /* 0: by the number of disks */
	const char *sequence;
	uint64_t rate;
	uint32_t fps;
	struct option_counts threads;
	const char *layout, *fill;
	uint64_t max_gap;
	int64_t max_age;
};

struct session;

struct stream {
	const char *name;
	struct stream_options o;
	const struct receive_ops *receive;
	const struct format_ops *format;
	void *receive_options, *format_options; /* filled by their tables */
	struct option_texts listen;		/* as configured, for people */
	struct format_shape shape;
	uint32_t *threads; /* learned; shape.threads points here */
	struct geometry geometry;
	enum fill_kind fill;
	uint32_t blocks;
	struct session *session; /* that records it now, or NULL */
};

/* The keys of a stream that are not a plugin's; for `spated --help`. */
extern const struct option stream_options[];

/* 0, or -errno with a fault that has file:line and the stream's name. */
int stream_read(struct stream *s, struct conf *conf, config_setting_t *group,
		unsigned disks, struct fault *fault);
void stream_clear(struct stream *s);

/* Bytes of memory that a recording of it borrows. */
uint64_t stream_memory(const struct stream *s);

/* Keeps what a recording learned. */
void stream_learned(struct stream *s, const struct format_shape *shape);

#endif
