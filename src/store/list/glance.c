/* SPDX-License-Identifier: MIT */
/*
 * Three seconds are looked at, each around a block: the first block with data,
 * the one in the middle of all numbers, and the last.  They are chosen by
 * number and not by time, so that a clock that leapt cannot hide a second.
 * Little is read: some packets at three places of each second, the lengths of
 * the chunks these are in, and the length of the last chunk of each disk, which
 * is the chunk that a disk that went away does not have.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/list/glance_priv.h"

enum {
	LOOK_BYTES = 256 << 10, /* least bytes to read at a place */
	LOOK_ROUNDS = 2,	/* rounds of all threads to read, but */
	LOOK_MOST = 8 << 20,	/* bytes to read at a place, at most */
};

static void
say(struct look *l, void (*to)(void *, const char *), const char *format,
    va_list args)
{
	char sentence[512];

	vsnprintf(sentence, sizeof sentence, format, args);
	if (to)
		to(l->hooks->arg, sentence);
}

void
glance_wrong(struct look *l, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(l, l->hooks->wrong, format, args);
	va_end(args);
}

void
glance_remark(struct look *l, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(l, l->hooks->remark, format, args);
	va_end(args);
}

const char *
glance_name(unsigned second)
{
	static const char *const names[] = { "first", "middle", "last" };

	return names[second];
}

/* ---- lengths --------------------------------------------------------- */

static void
hold_length(struct look *l, const struct recording_block *b)
{
	const char *path = l->rec->disks->disk[b->disk].path;
	uint64_t number = b->record.number;
	int64_t bytes = recording_chunk_bytes(l->rec, b);

	if (bytes == -ENOENT)
		glance_wrong(l,
			     "chunk %" PRIu64 " is not on %s, though the index "
			     "there names it",
			     number, path);
	else if (bytes < 0)
		glance_wrong(l,
			     "chunk %" PRIu64 " on %s cannot be looked at: %s",
			     number, path, strerror((int)-bytes));
	else if ((uint64_t)bytes != b->record.bytes)
		glance_wrong(l,
			     "chunk %" PRIu64 " on %s has %" PRId64
			     " bytes, the index says %" PRIu64,
			     number, path, bytes, b->record.bytes);
}

static void
hold_disks(struct look *l)
{
	const struct recording *rec = l->rec;
	bool *seen = calloc(rec->disks->n + 1, sizeof *seen);
	unsigned left = rec->disks->n;

	for (size_t i = rec->blocks; seen && left && i--;) {
		const struct recording_block *b = &rec->block[i];

		if (b->disk < 0 || seen[b->disk])
			continue;
		seen[b->disk] = true;
		left--;
		hold_length(l, b);
	}
	free(seen);
}

/* ---- the seconds ----------------------------------------------------- */

static bool
has_data(const struct recording *rec, size_t i)
{
	return rec->block[i].record.kind == INDEX_BLOCK;
}

/* The block with data nearest to a position.  False if no block has data. */
static bool
nearest(const struct recording *rec, size_t place, size_t *found)
{
	for (size_t away = 0; away <= rec->blocks; away++) {
		if (place + away < rec->blocks && has_data(rec, place + away)) {
			*found = place + away;
			return true;
		}
		if (away <= place && place - away < rec->blocks &&
		    has_data(rec, place - away)) {
			*found = place - away;
			return true;
		}
	}
	return false;
}

static bool
look_seconds(struct look *l)
{
	size_t n = l->rec->blocks, block;
	const size_t place[GLANCE_SECONDS] = { 0, n / 2, n ? n - 1 : 0 };

	for (unsigned i = 0; i < GLANCE_SECONDS; i++) {
		if (!nearest(l->rec, place[i], &block))
			return false;
		glance_find(l, i, block);
		glance_read(l, i);
	}
	return true;
}

/* ---- the whole ------------------------------------------------------- */

static void
look_state(struct look *l)
{
	const struct recording_facts *f = &l->rec->facts;

	if (f->failed && f->state == RECORDING_COMPLETE)
		glance_wrong(l, "it failed: %s", f->reason);
	if (f->state == RECORDING_INTERRUPTED)
		glance_wrong(l,
			     "it has no end: its recorder died; spate recover "
			     "%s closes it",
			     l->rec->name);
	if (f->state != RECORDING_LIVE && f->torn)
		glance_remark(l,
			      "%" PRIu64 " bytes of its indexes are no record; "
			      "spate recover %s cuts them off",
			      f->torn, l->rec->name);
	if (f->absent)
		glance_wrong(l,
			     "%u of %zu blocks are on none of the disks that "
			     "are there",
			     f->absent, l->rec->blocks);
	if (f->left_out)
		glance_wrong(l,
			     "%" PRIu64 " bytes are in chunks that are missing "
			     "or short",
			     f->left_out);
	if (l->rec->duplicates)
		glance_remark(l,
			      "%zu blocks are on two disks; one copy is used",
			      l->rec->duplicates);
}

static void
look_subs(struct look *l)
{
	const struct recording_facts *f = &l->rec->facts;
	const json_t *subs = json_object_get(l->rec->head, "subs");
	unsigned n = f->subs;

	if (json_integer_value(subs) > n)
		n = (unsigned)json_integer_value(subs);
	l->out->silent = n;
	for (unsigned i = 0; i < f->subs; i++)
		l->out->silent -= f->sub[i].chunks > 0;
	if (n > 1 && l->out->silent)
		glance_remark(l, "nothing came of %u of %u substreams",
			      l->out->silent, n);
}

static int
prepare(struct look *l)
{
	const struct format_shape *s = &l->rec->shape;
	uint64_t threads = s->threads_n ? s->threads_n : 1;
	uint64_t frame = (uint64_t)s->payload * s->parts;
	uint64_t bytes = LOOK_ROUNDS * threads * frame;
	struct fault fault;

	if (recording_format(l->rec, &l->format, &fault)) {
		l->format = NULL;
		glance_remark(l, "its packets cannot be looked at: %s: %s",
			      fault.what, fault.why);
	}
	if (bytes < LOOK_BYTES)
		bytes = LOOK_BYTES;
	if (bytes > LOOK_MOST)
		bytes = LOOK_MOST;
	if (bytes < frame)
		bytes = frame;
	l->room = bytes;
	l->data = malloc(bytes);
	l->holes = malloc(GLANCE_SLOTS / 8);
	l->part = malloc(GLANCE_PARTS * sizeof *l->part);
	return l->data && l->holes && l->part ? 0 : -ENOMEM;
}

int
glance(struct recording *rec, const struct glance_hooks *hooks,
       struct glance *out)
{
	struct look l = { .rec = rec, .hooks = hooks, .out = out };
	int err = prepare(&l);

	*out = (struct glance){ .data_time = false };
	if (err)
		goto out;
	look_state(&l);
	look_subs(&l);
	if (look_seconds(&l)) {
		hold_disks(&l);
		glance_threads(&l);
		glance_times(&l);
	} else if (rec->facts.state == RECORDING_LIVE) {
		glance_remark(&l, "nothing of it is durable yet");
	} else {
		glance_wrong(&l, "there is no data in it");
	}
out:
	free(l.data);
	free(l.holes);
	free(l.part);
	return err;
}
