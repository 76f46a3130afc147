/* SPDX-License-Identifier: MIT */
/*
 * Handles the frames of a connection, one after the other.  Pieces are read
 * straight into their block, and their checksum is computed while they are in
 * the CPU's cache.  While no block is free, or no disk takes blocks, the
 * connection is not read: so TCP holds the sender up.
 */
#include "flow/copy/copy_in.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "store/recording/recording.h"
#include "store/write/copy_origin.h"

enum { KICK_TRIES = 500, KICK_MS = 10 };

int
copy_in_lie(struct fault *fault, const char *why)
{
	fault_set(fault, -EBADMSG, "bad", "the sender sent %s", why);
	return -EBADMSG;
}

/* Makes a fault of bytes that were damaged on the way: the sender connects
 * again (channel.c), and sends them once more. */
static int
damaged(struct fault *fault, const char *why)
{
	fault_set(fault, -EBADMSG, "broken", "the sender sent %s", why);
	return -EBADMSG;
}

/* ---- coming and going --------------------------------------------------- */

static int
busy(const struct copy_in *c, const char *why, struct fault *fault)
{
	fault_set(fault, -EBUSY, "busy", "%.80s is not free just now", c->name);
	fault_why(fault, "%s", why);
	return -EBUSY;
}

static int
may_attach(const struct copy_in *c, const struct copy_in_hello *h,
	   struct fault *fault)
{
	bool again = c->transfer == h->transfer;

	if (c->stopping || c->state >= COPY_IN_CLOSING)
		return busy(c, "what came of it before is being closed", fault);
	if (!again && c->links)
		return busy(c, "another sender is copying to it", fault);
	if (again && h->attempt < c->attempt)
		return busy(c, "another connection took its place", fault);
	return 0;
}

static bool
is_newer(const struct copy_in *c, const struct copy_in_hello *h)
{
	return c->transfer != h->transfer || h->attempt > c->attempt;
}

/* Tells connections of an earlier attempt to stop, and waits until they have.
 * Caller holds the lock, which is released meanwhile: the state may have
 * changed afterwards. */
static int
kick(struct copy_in *c, const struct copy_in_link *l,
     const struct copy_in_hello *h, struct fault *fault)
{
	int err = may_attach(c, h, fault);

	for (unsigned try = 0; !err && c->links && is_newer(c, h); try++) {
		if (try == KICK_TRIES)
			return busy(c, "what is here of it is being read",
				    fault);
		for (unsigned i = 0; i < COPY_IN_LINKS; i++) {
			if (c->link[i])
				eventfd_write(c->link[i]->link.stop, 1);
		}
		pthread_mutex_unlock(&c->lock);
		link_pause(&l->link, KICK_MS);
		pthread_mutex_lock(&c->lock);
		err = may_attach(c, h, fault);
	}
	return err;
}

static int
attach(struct copy_in *c, struct copy_in_link *l, const struct copy_in_hello *h,
       struct fault *fault)
{
	int err = kick(c, l, h, fault);

	if (err)
		return err;
	if (is_newer(c, h)) {
		c->transfer = h->transfer;
		c->attempt = h->attempt;
		c->connections = h->connections;
		c->gone = false;
	}
	if (h->connection >= COPY_IN_LINKS || c->link[h->connection])
		return busy(c, "it has that connection", fault);
	c->link[h->connection] = l;
	l->number = h->connection;
	c->links++;
	c->idle = 0;
	return 0;
}

int
copy_in_attach(struct copy_in *c, struct copy_in_link *l,
	       const struct copy_in_hello *h, struct fault *fault)
{
	int err;

	pthread_mutex_lock(&c->lock);
	err = attach(c, l, h, fault);
	pthread_mutex_unlock(&c->lock);
	return err;
}

void
copy_in_detach(struct copy_in *c, struct copy_in_link *l)
{
	/* Without its last link the copy may be freed when the lock is
	 * released. */
	const struct copy_in_host *host = c->host;

	pthread_mutex_lock(&c->lock);
	c->link[l->number] = NULL;
	c->gone = true;
	if (!--c->links)
		c->idle = clock_steady();
	pthread_cond_broadcast(&c->moved);
	pthread_mutex_unlock(&c->lock);
	host->wake(host->arg);
}

/* ---- waiting ------------------------------------------------------------ */

/* Waits until the state is `least` or a later one.  0; -ECANCELED or
 * -ECONNRESET; or in state FAILED -EIO with the fault. */
static int
state_await(struct copy_in *c, struct copy_in_link *l, enum copy_in_state least,
	    struct fault *fault)
{
	enum copy_in_state state;
	int err = 0;

	do {
		pthread_mutex_lock(&c->lock);
		state = c->state;
		if (state == COPY_IN_FAILED)
			*fault = c->fault;
		pthread_mutex_unlock(&c->lock);
		if (state < least)
			err = link_pause(&l->link, KICK_MS);
	} while (state < least && !err);
	return state == COPY_IN_FAILED ? -EIO : err;
}

static int
say(const struct copy_in_link *l, const char *state, const char *why)
{
	const struct wire_frame f = { .type = WIRE_STATE };
	json_t *told = json_pack("{s:s, s:s}", "state", state, "why", why);
	char *text = told ? json_dumps(told, JSON_COMPACT) : NULL;
	int err = text ? link_send(&l->link, &f, text, (uint32_t)strlen(text))
		       : -ENOMEM;

	free(text);
	json_decref(told);
	return err;
}

/* Tells the sender when disks have become full, or take blocks again;
 * connection 0 only. */
static int
state_tell(struct copy_in *c, struct copy_in_link *l)
{
	bool full;

	pthread_mutex_lock(&c->lock);
	full = c->full;
	pthread_mutex_unlock(&c->lock);
	if (l->number || full == l->said_full)
		return 0;
	l->said_full = full;
	return full ? say(l, "waiting", "no disk there takes any more")
		    : say(l, "ready", "");
}

/* ---- pieces ------------------------------------------------------------- */

static bool
is_full(struct copy_in *c)
{
	bool full;

	pthread_mutex_lock(&c->lock);
	full = c->full;
	pthread_mutex_unlock(&c->lock);
	return full;
}

static int
block_wait(struct copy_in *c, struct copy_in_link *l, uint64_t number,
	   struct block **b)
{
	int err = 0;

	*b = NULL;
	while (!err && !*b) {
		bool full = is_full(c);

		if (!full)
			*b = block_pool_take(c->pool, 0);
		if (!*b)
			err = state_tell(c, l);
		if (!err && !*b)
			err = link_pause(&l->link, full ? 100 : 1);
		if (!err && !*b && !full)
			copy_blocks_yield(c->blocks, number);
	}
	return err;
}

static int
piece_place(struct copy_in *c, struct copy_in_link *l, struct copy_piece *p,
	    struct fault *fault)
{
	const char *why;
	struct block *b;
	int err;

	while ((err = copy_blocks_piece(c->blocks, p, &why)) == -EAGAIN) {
		err = block_wait(c, l, p->number, &b);
		if (err)
			return err;
		err = copy_blocks_lend(c->blocks, p->number, b);
		if (err)
			block_pool_put(b);
		if (err == -ENOMEM && (err = link_pause(&l->link, 100)))
			return err;
	}
	return err ? copy_in_lie(fault, why) : 0;
}

static int
piece_take(struct copy_in *c, struct copy_in_link *l,
	   const struct wire_frame *f, struct fault *fault)
{
	struct copy_piece p = { .number = f->first,
				.piece = (uint32_t)f->run,
				.bytes = f->payload_bytes };
	struct block *whole;
	uint32_t crc;
	int err, made;

	if (copy_in_is(c) != COPY_IN_TAKING)
		return copy_in_lie(fault, "a piece that nobody asked for");
	err = piece_place(c, l, &p, fault);
	if (err)
		return err;
	err = link_piece(&l->link, f, p.to);
	if (err == -EBADMSG)
		err = damaged(fault, "a payload that is not its frame's");
	/* The block of this piece gave its memory up, and is sent again. */
	if (!p.to)
		return err;
	crc = err ? 0 : crc32c(0, p.to, p.bytes);
	if (!err && crc != f->payload_crc)
		err = damaged(fault, "a piece with a wrong checksum");
	made = copy_blocks_landed(c->blocks, &p, err ? NULL : &crc, &whole);
	if (whole)
		output_put(c->output, whole);
	if (made == -EBADMSG)
		return copy_in_lie(fault, "pieces that do not make the block "
					  "that was told");
	return err ? err : made;
}

/* ---- what is told ------------------------------------------------------- */

static void
looks(void *arg)
{
	struct copy_in_link *l = arg;

	/* An error shows again with the next frame. */
	if (say(l, "looking", "it reads what it has already"))
		return;
}

/* Acts on the first HEAD of the copy: asks for the disks and reads what they
 * have. */
static int
head_first(struct copy_in *c, struct copy_in_link *l, struct fault *fault)
{
	int err;

	c->host->wake(c->host->arg);
	err = state_await(c, l, COPY_IN_LOOKING, fault);
	if (err)
		return err;
	looks(l);
	err = copy_in_look(c, looks, l, fault);
	if (err)
		copy_in_fail(c, fault);
	return err;
}

static int
head_take(struct copy_in *c, struct copy_in_link *l, const struct wire_frame *f,
	  struct fault *fault)
{
	json_t *head = json_loadb((char *)l->buffer, f->payload_bytes, 0, NULL);
	uint64_t identity;
	bool first, other;
	int err = 0;

	if (!json_is_object(head)) {
		json_decref(head);
		return copy_in_lie(fault, "a head that is no JSON");
	}
	identity = copy_origin_identity(head);
	pthread_mutex_lock(&c->lock);
	first = c->state == COPY_IN_GREETED;
	other = !first && c->identity != identity;
	if (first) {
		c->told_head = head;
		c->identity = identity;
		c->state = COPY_IN_ASKED;
	}
	pthread_mutex_unlock(&c->lock);
	if (!first)
		json_decref(head);
	if (other) {
		fault_set(fault, -EEXIST, "exists", "cannot copy to %.80s",
			  c->name);
		fault_why(fault, "another recording is being copied to it");
		return -EEXIST;
	}
	if (first)
		err = head_first(c, l, fault);
	return err ? err : state_await(c, l, COPY_IN_TAKING, fault);
}

static int
index_take(struct copy_in *c, const struct copy_in_link *l,
	   const struct wire_frame *f, struct fault *fault)
{
	uint32_t at = 0, n;
	struct copy_told t;
	const char *why;
	int err;

	for (uint32_t i = 0; i < f->packets; i++) {
		n = copy_told_unpack(&t, l->buffer + at, f->payload_bytes - at);
		if (!n)
			return copy_in_lie(
			    fault, "an index that ends before its records");
		err = copy_blocks_tell(c->blocks, &t, &why);
		if (err == -EBADMSG)
			return copy_in_lie(fault, why);
		if (err)
			return fault_set(fault, err, "no-memory",
					 "out of memory");
		at += n;
	}
	if (at != f->payload_bytes)
		return copy_in_lie(fault,
				   "an index that is longer than its records");
	return 0;
}

/* ---- agreeing, and the end --------------------------------------------- */

/*
 * The end of a copy.  The receiver says what it wants until it has the same
 * blocks as the sender, durable, and then ends the recording here.  It looks at
 * the disks once more before it says that all is there: that is the only way to
 * learn of a folder that could not be closed.
 */

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

static int
wants_tell(struct copy_in *c, struct copy_in_link *l)
{
	struct copy_want w[WANTS];
	struct copy_blocks_facts facts;
	size_t at = 0;
	unsigned n;
	int err = 0;

	copy_blocks_facts(c->blocks, &facts);
	/* Nothing is taken in state THERE, so nothing is wanted. */
	while (!err && copy_in_is(c) == COPY_IN_TAKING &&
	       (n = copy_blocks_wants(c->blocks, &at, w, WANTS)))
		err = wants_send(l, w, n, facts.there_bytes);
	return err ? err : wants_send(l, w, 0, facts.there_bytes);
}

/* ---- agreeing ----------------------------------------------------------- */

/* 0: on all connections, everything that was sent before this ASK or AGREE has come;
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
	struct copy_blocks_facts facts;
	int err = flushed(c, round);

	if (err)
		return err;
	copy_blocks_left(c->blocks);
	copy_blocks_facts(c->blocks, &facts);
	return facts.writing ? -EAGAIN : 0;
}

/* Waits until `is` (flushed, settled) is 0. */
static int
await(struct copy_in *c, struct copy_in_link *l, unsigned round,
      int (*is)(struct copy_in *c, unsigned round))
{
	int err;

	while ((err = is(c, round)) == -EAGAIN) {
		err = state_tell(c, l);
		if (!err)
			err = link_pause(&l->link, LOOK_MS);
		if (err)
			break;
	}
	return err;
}

/* Says what is wanted.  Pieces that are still on their way on other connections
 * would be wanted once more, and come twice. */
static int
ask_take(struct copy_in *c, struct copy_in_link *l, const struct wire_frame *f)
{
	int err = await(c, l, (unsigned)f->run, flushed);

	return err ? err : wants_tell(c, l);
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

static int
agree(struct copy_in *c, struct copy_in_link *l, const struct wire_frame *f,
      struct fault *fault)
{
	const struct wire_frame answer = { .type = WIRE_AGREE, .run = f->run };
	struct copy_digest own, theirs;
	uint8_t raw[COPY_DIGEST_BYTES];
	int err;

	copy_digest_unpack(&theirs, l->buffer);
	err = await(c, l, (unsigned)f->run, settled);
	if (err)
		return err;
	copy_blocks_digest(c->blocks, &own);
	if (!copy_digest_same(&own, &theirs)) {
		if (copy_in_is(c) == COPY_IN_THERE)
			return lacks(c, &own, &theirs, fault);
		err = wants_tell(c, l);
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
	struct copy_blocks_facts facts;

	copy_blocks_facts(c->blocks, &facts);
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
 * list of blocks. */
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
	copy_blocks_digest(c->blocks, &own);
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
	err = state_await(c, l, COPY_IN_CLOSED, fault);
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

static int
close_copy(struct copy_in *c, struct copy_in_link *l,
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

/* Handles a control frame, which only connection 0 has. */
static int
control_take(struct copy_in *c, struct copy_in_link *l,
	     const struct wire_frame *f, struct fault *fault)
{
	const char *why = NULL;
	int err = 0;

	if (f->type == WIRE_HEAD)
		return head_take(c, l, f, fault);
	if (copy_in_is(c) < COPY_IN_TAKING)
		return copy_in_lie(fault, "a frame before the head");
	switch (f->type) {
	case WIRE_INDEX: return index_take(c, l, f, fault);
	case WIRE_ASK: return ask_take(c, l, f);
	case WIRE_LEFT: why = copy_blocks_leave(c->blocks, f->first); break;
	case WIRE_AGREE: return agree(c, l, f, fault);
	case WIRE_CLOSE: return close_copy(c, l, f, fault);
	default: why = "a frame that is out of place";
	}
	if (why)
		err = copy_in_lie(fault, why);
	return err;
}

static int
frame_take(struct copy_in *c, struct copy_in_link *l,
	   const struct wire_frame *f, struct fault *fault)
{
	int err;

	if (f->type == WIRE_PIECE)
		return piece_take(c, l, f, fault);
	if (l->number) {
		if (f->type != WIRE_ASK)
			return copy_in_lie(fault,
					   "a frame that is out of place");
		pthread_mutex_lock(&c->lock);
		l->flushed = (unsigned)f->run;
		pthread_mutex_unlock(&c->lock);
		return 0;
	}
	err = link_payload(&l->link, f, l->buffer);
	if (err == -EBADMSG)
		return damaged(fault, "a frame with a wrong checksum");
	return err ? err : control_take(c, l, f, fault);
}

int
copy_in_serve(struct copy_in *c, struct copy_in_link *l, struct fault *fault)
{
	struct wire_frame f;
	const char *why;
	int err = 0;

	while (!err) {
		err =
		    link_frame(&l->link, &f, clock_steady() + NS_SECOND, &why);
		if (err == -ETIMEDOUT)
			err = state_tell(c, l);
		else if (err == -EBADMSG)
			err = damaged(fault, why);
		else if (err == -EPROTO)
			err = copy_in_lie(fault, why);
		else if (!err)
			err = frame_take(c, l, &f, fault);
	}
	return err;
}
