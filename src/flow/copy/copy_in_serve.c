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
#include "store/write/copy_origin.h"

enum { KICK_TRIES = 500, KICK_MS = 10 };

int
copy_in_lie(struct fault *fault, const char *why)
{
	fault_set(fault, -EBADMSG, "bad", "the sender sent %s", why);
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

int
copy_in_await(struct copy_in *c, struct copy_in_link *l,
	      enum copy_in_state least, struct fault *fault)
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

int
copy_in_state(struct copy_in *c, struct copy_in_link *l)
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
block_wait(struct copy_in *c, struct copy_in_link *l, struct block **b)
{
	int err = 0;

	*b = NULL;
	while (!err && !*b) {
		bool full = is_full(c);

		if (!full)
			*b = stock_take(c->stock, 0);
		if (!*b)
			err = copy_in_state(c, l);
		if (!err && !*b)
			err = link_pause(&l->link, full ? 100 : 1);
	}
	return err;
}

static int
piece_place(struct copy_in *c, struct copy_in_link *l, struct ledger_piece *p,
	    struct fault *fault)
{
	const char *why;
	struct block *b;
	int err;

	while ((err = ledger_piece(c->ledger, p, &why)) == -EAGAIN) {
		err = block_wait(c, l, &b);
		if (err)
			return err;
		if (!ledger_lend(c->ledger, p->number, b))
			stock_put(b);
	}
	return err ? copy_in_lie(fault, why) : 0;
}

static int
piece_take(struct copy_in *c, struct copy_in_link *l,
	   const struct wire_frame *f, struct fault *fault)
{
	struct ledger_piece p = { .number = f->first,
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
	err = link_read(&l->link, p.to, p.bytes, INT64_MAX);
	crc = err ? 0 : crc32c(0, p.to, p.bytes);
	if (!err && crc != f->payload_crc)
		err = copy_in_lie(fault, "a piece with a wrong checksum");
	made = ledger_landed(c->ledger, &p, err ? NULL : &crc, &whole);
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
	err = copy_in_await(c, l, COPY_IN_LOOKING, fault);
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
	return err ? err : copy_in_await(c, l, COPY_IN_TAKING, fault);
}

static int
index_take(struct copy_in *c, const struct copy_in_link *l,
	   const struct wire_frame *f, struct fault *fault)
{
	uint32_t at = 0, n;
	struct copy_told t;
	const char *why = NULL;

	for (uint32_t i = 0; i < f->packets && !why; i++) {
		n = copy_told_unpack(&t, l->buffer + at, f->payload_bytes - at);
		why = n ? ledger_tell(c->ledger, &t)
			: "an index that ends before its records";
		at += n;
	}
	if (!why && at != f->payload_bytes)
		why = "an index that is longer than its records";
	return why ? copy_in_lie(fault, why) : 0;
}

/* ---- frames ------------------------------------------------------------- */

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
	case WIRE_ASK: return copy_in_want(c, l);
	case WIRE_LEFT: why = ledger_leave(c->ledger, f->first); break;
	case WIRE_AGREE: return copy_in_agree(c, l, f, fault);
	case WIRE_CLOSE: return copy_in_close(c, l, f, fault);
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
		return copy_in_lie(fault, "a frame with a wrong checksum");
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
			err = copy_in_state(c, l);
		else if (err == -EBADMSG)
			err = copy_in_lie(fault, why);
		else if (!err)
			err = frame_take(c, l, &f, fault);
	}
	return err;
}
