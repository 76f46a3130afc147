/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_INTAKE_H
#define SPATE_FLOW_INTAKE_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/receive.h"
#include "flow/counts.h"
#include "flow/learn.h"
#include "flow/place.h"

/*
 * An intake is a stream being received: an instance of a receive plugin, and
 * the place where its packets go.
 *
 * The event loop makes and frees it; between receiver_add and the call of
 * `done` it belongs to one receiver thread, except for what says otherwise.
 */
struct intake;

struct intake_source {
	struct intake *intake;
	unsigned number; /* as the plugin counts */
	int fd;
	struct aim aim;
	unsigned want; /* pairs for the next call */
	bool ended;
};

struct intake_args {
	const char *name; /* of the recording, for the log */
	const struct receive_ops *ops;
	struct receive_state *state;
	struct format_shape *shape; /* what is learned is written here */
	struct place_args place;
	/* Everything is out; the last call on the receiver thread. */
	void (*done)(void *arg);
	void *arg;
};

struct intake {
	struct intake_args a;
	struct place *place;
	struct learn *learn; /* NULL: nothing (more) to learn */
	struct intake_source *source;
	unsigned sources;
	unsigned left;	     /* sources that have not ended */
	struct intake *next; /* receiver::intakes */

	/* Any thread may read; see counts.h. */
	struct counts_shown shown;
	_Atomic uint64_t overruns;
	atomic_bool learning;
};

int intake_make(struct intake **intake, const struct intake_args *args);
void intake_free(struct intake *in);

enum { INTAKE_MORE = INT_MAX };

/*
 * Takes at most `batches` batches from a source.  Returns how many bytes came
 * before it was empty, INTAKE_MORE when it was not empty yet, or -errno when
 * the source has ended.
 */
int intake_pass(struct intake_source *s, unsigned batches, int64_t now_ns,
		int64_t now);

/* Ages blocks; shows the counters.  A tenth of a second apart. */
void intake_tick(struct intake *in, int64_t now);

/* The end: takes what has already arrived, and closes every block. */
void intake_flush(struct intake *in, int64_t now_ns, int64_t now);

#endif
