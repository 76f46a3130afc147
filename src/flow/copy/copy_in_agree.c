/* SPDX-License-Identifier: MIT */
/*
 * The end of a copy.  The receiver says what it wants until it has the same
 * blocks as the sender, durable, and then ends the recording here.  It looks at
 * the disks once more before it says that all is there: that is the only way to
 * learn of a folder that could not be closed.
 */
#include "flow/copy/copy_in.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "store/recording/recording.h"

enum { WANTS = 4096, LOOK_MS = 5 };

/* ---- what is wanted ----------------------------------------------------- */

static int
wants_send(struct copy_in_link *l, const struct copy_want *w, unsigned n,
	   uint64_t there)
{
	const struct wire_frame f = { .type = WIRE_WANT,
				      .packets = n,
				      .first = there };

	for (unsigned i = 0; i < n; i++)
		copy_want_pack(&w[i], l->buffer + i * COPY_WANT_BYTES);
	return link_send(&l->link, &f, l->buffer, n * COPY_WANT_BYTES);
}

int
copy_in_want(struct copy_in *c, struct copy_in_link *l)
{
	struct copy_want w[WANTS];
	struct ledger_facts facts;
	size_t at = 0;
	unsigned n;
	int err = 0;

	ledger_facts(c->ledger, &facts);
	/* Nothing is taken in state THERE, so nothing is wanted. */
	while (!err && copy_in_is(c) == COPY_IN_TAKING &&
	       (n = ledger_wants(c->ledger, &at, w, WANTS)))
		err = wants_send(l, w, n, facts.there_bytes);
	return err ? err : wants_send(l, w, 0, facts.there_bytes);
}

/* ---- agreeing ----------------------------------------------------------- */

/* 0: on all connections, everything that was sent before this AGREE has come;
 * -EAGAIN: not yet; -ECONNRESET: a connection has ended. */
static int
flushed(struct copy_in *c, unsigned round)
{
	int err = 0;

	pthread_mutex_lock(&c->lock);
	if (c->gone)
		err = -ECONNRESET;
	else if (c->links < c->connections)
		err = -EAGAIN;
	for (unsigned i = 1; i < COPY_IN_LINKS && !err; i++) {
		if (c->link[i] && c->link[i]->flushed != round)
			err = -EAGAIN;
	}
	pthread_mutex_unlock(&c->lock);
	return err;
}

/* 0: in addition no block is on its way to a disk any more; each is durable, or
 * on no disk. */
static int
settled(struct copy_in *c, unsigned round)
{
	struct ledger_facts facts;
	int err = flushed(c, round);

	if (err)
		return err;
	ledger_left(c->ledger);
	ledger_facts(c->ledger, &facts);
	return facts.writing ? -EAGAIN : 0;
}

static int
await_settled(struct copy_in *c, struct copy_in_link *l, unsigned round)
{
	int err;

	while ((err = settled(c, round)) == -EAGAIN) {
		err = copy_in_state(c, l);
		if (!err)
			err = link_pause(&l->link, LOOK_MS);
		if (err)
			break;
	}
	return err;
}

static int
lacks(const struct copy_in *c, const struct copy_digest *own,
      const struct copy_digest *theirs, struct fault *fault)
{
	fault_set(fault, -EEXIST, "exists", "cannot copy to %.80s", c->name);
	fault_why(fault,
		  "it is there, is not to be changed, and has %llu good chunks "
		  "where there are %llu",
		  (unsigned long long)own->blocks,
		  (unsigned long long)theirs->blocks);
	fault_hint(fault, "give the copy another name (--as)");
	return -EEXIST;
}

int
copy_in_agree(struct copy_in *c, struct copy_in_link *l,
	      const struct wire_frame *f, struct fault *fault)
{
	const struct wire_frame answer = { .type = WIRE_AGREE, .run = f->run };
	struct copy_digest own, theirs;
	uint8_t raw[COPY_DIGEST_BYTES];
	int err;

	copy_digest_unpack(&theirs, l->buffer);
	err = await_settled(c, l, (unsigned)f->run);
	if (err)
		return err;
	ledger_digest(c->ledger, &own);
	if (!copy_digest_same(&own, &theirs)) {
		if (copy_in_is(c) == COPY_IN_THERE)
			return lacks(c, &own, &theirs, fault);
		err = copy_in_want(c, l);
	}
	copy_digest_pack(&own, raw);
	return err ? err : link_send(&l->link, &answer, raw, sizeof raw);
}

/* ---- the end ------------------------------------------------------------ */

/* True if these are lines that every disk repeats: how the recording ended, and
 * who resumed it. */
static bool
closing_good(const char *at, size_t bytes)
{
	const char *end = at + bytes, *newline;
	bool good = true;
	json_t *line;

	while (good && at < end) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline)
			return false;
		line = json_loadb(at, (size_t)(newline - at), 0, NULL);
		good = json_is_object(json_object_get(line, "end")) ||
		       json_is_string(json_object_get(line, "resumed"));
		good = good && !json_object_get(line, "shape");
		json_decref(line);
		at = newline + 1;
	}
	return good;
}

static int
close_check(struct copy_in *c, const struct copy_in_link *l,
	    const struct wire_frame *f, struct fault *fault)
{
	uint32_t skip = f->packets * COPY_RECORD;
	struct ledger_facts facts;

	ledger_facts(c->ledger, &facts);
	if (facts.durable + facts.left != facts.told)
		return copy_in_lie(fault, "an end before all of it came");
	if (skip &&
	    (index_unpack(&c->end, l->buffer) || c->end.kind != INDEX_END))
		return copy_in_lie(fault, "an end that is none");
	if (!closing_good((char *)l->buffer + skip, f->payload_bytes - skip))
		return copy_in_lie(fault, "an end with other lines");
	return 0;
}

/* Compares what the disks have, when all folders are closed, with the
 * ledger. */
static int
look_back(struct copy_in *c, struct fault *fault)
{
	struct copy_digest own, there = { 0 };
	const struct recording_block *b;
	struct recording *rec;
	bool complete;
	size_t n;
	int err =
	    recording_open_by_index(&rec, &c->here->disks, c->name, fault);

	if (err)
		return err;
	b = recording_blocks(rec, &n);
	for (size_t i = 0; i < n; i++) {
		if (b[i].record.kind == INDEX_BLOCK && b[i].disk >= 0)
			copy_digest_add(&there, b[i].record.number,
					b[i].record.bytes, b[i].record.crc,
					crc32c);
	}
	complete = recording_facts(rec)->state == RECORDING_COMPLETE;
	recording_close(rec);
	ledger_digest(c->ledger, &own);
	if (copy_digest_same(&own, &there) && complete == c->ended)
		return 0;
	fault_set(fault, -EIO, "io", "%.80s could not be closed on every disk",
		  c->name);
	return -EIO;
}

static int
end_make(struct copy_in *c, struct copy_in_link *l, const struct wire_frame *f,
	 struct fault *fault)
{
	uint32_t skip = f->packets * COPY_RECORD;
	int err;

	c->output->closing =
	    strndup((char *)l->buffer + skip, f->payload_bytes - skip);
	pthread_mutex_lock(&c->lock);
	c->ended = f->packets;
	pthread_mutex_unlock(&c->lock);
	copy_in_move(c, COPY_IN_CLOSING);
	err = copy_in_await(c, l, COPY_IN_CLOSED, fault);
	if (!err)
		err = look_back(c, fault);
	if (err)
		return err;
	pthread_mutex_lock(&c->lock);
	c->whole = true;
	pthread_mutex_unlock(&c->lock);
	return 0;
}

/* Ends a copy in state THERE: nothing was written, and nothing is to be. */
static void
there_end(struct copy_in *c, const struct wire_frame *f)
{
	pthread_mutex_lock(&c->lock);
	c->ended = f->packets;
	c->whole = true;
	pthread_mutex_unlock(&c->lock);
	copy_in_move(c, COPY_IN_CLOSED);
}

int
copy_in_close(struct copy_in *c, struct copy_in_link *l,
	      const struct wire_frame *f, struct fault *fault)
{
	const struct wire_frame answer = { .type = WIRE_CLOSE };
	int err = close_check(c, l, f, fault);

	if (!err && copy_in_is(c) == COPY_IN_TAKING)
		err = end_make(c, l, f, fault);
	else if (!err)
		there_end(c, f);
	return err ? err : link_send(&l->link, &answer, NULL, 0);
}
