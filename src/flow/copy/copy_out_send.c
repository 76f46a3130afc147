/* SPDX-License-Identifier: MIT */
/*
 * Sends the blocks.  A piece is copied out of what the source gives into the
 * buffer of an idle connection, and its checksum is computed there.  So the
 * source's memory is held no longer than that takes, and is returned when it is
 * wanted even while all connections are busy.
 *
 * One thread serves all connections, which are non-blocking.
 */
#include "flow/copy/copy_out_priv.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/log.h"

#define CATCH INT64_C(5000000) /* ns of the rate that are made up for */
enum { WAIT_MS = 50, NAP_MS = 2 };

void
copy_out_parcel_put(struct copy_out *c)
{
	if (c->have_parcel)
		source_put(&c->parcel);
	c->have_parcel = false;
	c->sought = UINT64_MAX;
}

int
copy_out_leave(struct copy_out *c, uint64_t number, int err)
{
	const struct recording_block *b;
	size_t n;

	b = recording_blocks(c->rec, &n);
	if (c->left[number])
		return 0;
	log_line(LEVEL_WARN, c->a.name, "chunk %llu is not copied: %s",
		 (unsigned long long)number,
		 err == -EBADMSG ? "its checksum is wrong" : strerror(-err));
	c->left[number] = 1;
	c->left_n++;
	pthread_mutex_lock(&c->lock);
	c->facts.unreadable += b[number].record.present;
	pthread_mutex_unlock(&c->lock);
	return 0;
}

static const struct index_record *
record_of(const struct copy_out *c, uint64_t number)
{
	size_t n;

	return &recording_blocks(c->rec, &n)[number].record;
}

/* ---- the source --------------------------------------------------------- */

static bool
parcel_has(const struct copy_out *c, uint64_t number, uint64_t at)
{
	const struct parcel *p = &c->parcel;

	return c->have_parcel && p->record.kind == INDEX_BLOCK &&
	       p->record.number == number && p->at <= at &&
	       at < p->at + p->bytes;
}

/* True if the parcel lies behind that byte, so that no parcel has it. */
static bool
parcel_passed(const struct copy_out *c, uint64_t number, uint64_t at)
{
	const struct parcel *p = &c->parcel;

	return p->record.number > number ||
	       (p->record.number == number && p->at > at);
}

/* Gets the parcel that has byte `at` of a block.  0; -ETIMEDOUT: not yet;
 * -ENODATA: no parcel has it; -errno: it cannot be read. */
static int
parcel_find(struct copy_out *c, uint64_t number, uint64_t at, int64_t until)
{
	const struct source_ops *ops = c->a.source->ops;
	int err = 0;

	if (parcel_has(c, number, at))
		return c->parcel.err;
	if (c->sought != number) {
		copy_out_parcel_put(c);
		err = ops->seek_number(c->a.source, number);
		if (err)
			return err;
		c->sought = number;
	}
	for (;;) {
		if (c->have_parcel)
			source_put(&c->parcel);
		c->have_parcel = false;
		err = source_next(c->a.source, &c->parcel, until);
		if (err)
			return err;
		c->have_parcel = true;
		if (parcel_has(c, number, at))
			return c->parcel.err;
		if (parcel_passed(c, number, at))
			return -ENODATA;
	}
}

/* ---- a piece ------------------------------------------------------------ */

static void
want_skip(struct copy_out *c, uint64_t number)
{
	while (c->want_at < c->wants && c->want[c->want_at].number == number)
		c->want_at++;
}

static bool
fill_begin(struct copy_out *c, struct copy_lane *l)
{
	struct copy_want *w = &c->want[c->want_at];
	const struct index_record *r;
	uint64_t left;

	while (c->want_at < c->wants && (!w->pieces || c->left[w->number])) {
		c->want_at++;
		w = &c->want[c->want_at];
	}
	if (c->want_at == c->wants)
		return false;
	r = record_of(c, w->number);
	left = r->bytes - (uint64_t)w->first * COPY_PIECE;
	c->fill = (struct copy_fill){
		.lane = l,
		.number = w->number,
		.piece = w->first,
		.bytes = left < COPY_PIECE ? (uint32_t)left : COPY_PIECE,
	};
	w->first++;
	w->pieces--;
	return true;
}

/* Copies what there is of the piece.  0: it is whole; -ETIMEDOUT: not yet; or
 * another -errno. */
static int
fill_go(struct copy_out *c, int64_t until)
{
	struct copy_fill *f = &c->fill;
	uint8_t *to = f->lane->buffer + WIRE_HEADER;

	while (f->have < f->bytes) {
		uint64_t at = (uint64_t)f->piece * COPY_PIECE + f->have, n;
		const struct parcel *p = &c->parcel;
		int err = parcel_find(c, f->number, at, until);

		if (err)
			return err;
		n = p->at + p->bytes - at;
		if (n > f->bytes - f->have)
			n = f->bytes - f->have;
		memcpy(to + f->have, p->data + (at - p->at), n);
		f->have += (uint32_t)n;
	}
	return 0;
}

/* Computes the checksum of the block while its pieces go in order.  False: the
 * block is complete, and its checksum differs from the record's. */
static bool
crc_go(struct copy_out *c, uint32_t crc)
{
	const struct copy_fill *f = &c->fill;
	const struct index_record *r = record_of(c, f->number);
	uint64_t at = (uint64_t)f->piece * COPY_PIECE;

	if (!at)
		c->crc = crc;
	else if (c->crc_bytes == at)
		c->crc = crc32c_join(crc32c_shift(f->bytes), c->crc, crc);
	if (at && c->crc_bytes != at)
		return true;
	c->crc_bytes = at + f->bytes;
	return c->crc_bytes != r->bytes || !(r->flags & INDEX_SUMMED) ||
	       c->crc == r->crc;
}

static uint64_t
rate_of(const struct copy_out *c, uint64_t rate)
{
	const struct recording_facts *f = recording_facts(c->rec);
	double seconds = (double)(f->end_ns - f->start_ns) / 1e9;

	if (rate != SEND_RATE_DATA)
		return rate;
	return seconds > 0 ? (uint64_t)((double)f->bytes * 8 / seconds) : 0;
}

static void
counts_go(struct copy_out *c)
{
	const struct copy_fill *f = &c->fill;
	const struct index_record *r = record_of(c, f->number);
	bool last = (uint64_t)f->piece * COPY_PIECE + f->bytes == r->bytes;
	int64_t now = clock_steady();
	uint64_t rate;

	pthread_mutex_lock(&c->lock);
	rate = c->rate;
	c->facts.bytes += f->bytes;
	c->facts.send.bytes += f->bytes;
	c->facts.packets += last ? r->present : 0;
	c->facts.missing += last ? r->missing : 0;
	c->facts.time_ns = r->last_ns;
	pthread_mutex_unlock(&c->lock);
	rate = rate_of(c, rate);
	if (c->due < now - CATCH)
		c->due = now - CATCH;
	if (rate)
		c->due += (int64_t)((double)f->bytes * 8e9 / (double)rate);
}

/* Hands a whole piece to its connection; a block with a wrong checksum is left
 * out. */
static void
fill_end(struct copy_out *c)
{
	struct copy_fill *f = &c->fill;
	struct copy_lane *l = f->lane;
	struct wire_frame frame = { .type = WIRE_PIECE,
				    .payload_bytes = f->bytes,
				    .run = f->piece,
				    .first = f->number };

	frame.payload_crc = crc32c(0, l->buffer + WIRE_HEADER, f->bytes);
	if (crc_go(c, frame.payload_crc)) {
		wire_pack(&frame, l->buffer, crc32c);
		l->bytes = WIRE_HEADER + f->bytes;
		l->sent = 0;
		counts_go(c);
	} else {
		copy_out_leave(c, f->number, -EBADMSG);
		want_skip(c, f->number);
	}
	f->lane = NULL;
}

/* ---- connections -------------------------------------------------------- */

static struct copy_lane *
lane_idle(struct copy_out *c)
{
	for (unsigned i = 0; i < c->lanes; i++) {
		if (c->lane[i].sent == c->lane[i].bytes)
			return &c->lane[i];
	}
	return NULL;
}

static bool
lanes_busy(const struct copy_out *c)
{
	for (unsigned i = 0; i < c->lanes; i++) {
		if (c->lane[i].sent < c->lane[i].bytes)
			return true;
	}
	return false;
}

static int
lane_push(struct copy_out *c, struct copy_lane *l)
{
	while (l->sent < l->bytes) {
		ssize_t put = send(l->link.fd, l->buffer + l->sent,
				   l->bytes - l->sent, MSG_NOSIGNAL);

		if (put < 0 && errno == EAGAIN)
			return 0;
		if (put < 0 && errno != EINTR)
			return copy_out_broke(c, -errno);
		if (put > 0) {
			l->sent += (uint32_t)put;
			c->contact = clock_steady();
		}
	}
	return 0;
}

/* Handles a frame on a connection other than 0: only a REFUSE may come there,
 * and ends the attempt. */
static int
lane_hear(struct copy_out *c, struct copy_lane *l)
{
	struct wire_frame f;
	const char *why;
	int err = link_frame(&l->link, &f, clock_steady() + NS_SECOND, &why);

	if (!err && f.type == WIRE_REFUSE)
		err = link_payload(&l->link, &f, c->buffer);
	else if (!err)
		err = -EPROTO;
	return err ? copy_out_broke(c, err)
		   : copy_out_refused(c, c->buffer, f.payload_bytes);
}

/* Waits until a connection can be written to or has a frame, and handles
 * both. */
static int
lanes_wait(struct copy_out *c, int ms)
{
	struct pollfd p[COPY_OUT_LANES + 1];
	unsigned n = c->lanes;
	int err = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct copy_lane *l = &c->lane[i];

		p[i] = (struct pollfd){ .fd = l->link.fd, .events = POLLIN };
		if (l->sent < l->bytes)
			p[i].events |= POLLOUT;
	}
	p[n] = (struct pollfd){ .fd = c->stop, .events = POLLIN };
	if (poll(p, n + 1, ms) < 0 && errno != EINTR)
		return copy_out_broke(c, -errno);
	if (p[n].revents)
		return -ECANCELED;
	for (unsigned i = 0; i < n && !err; i++) {
		if (p[i].revents & ~POLLOUT)
			err =
			    i ? lane_hear(c, &c->lane[i]) : copy_out_listen(c);
		if (!err)
			err = lane_push(c, &c->lane[i]);
	}
	return err;
}

/* Once a second: checks that all peers are there, and that there is patience
 * left. */
static int
lanes_look(struct copy_out *c)
{
	int64_t now = clock_steady();

	if (now - c->lanes_looked < NS_SECOND)
		return 0;
	c->lanes_looked = now;
	for (unsigned i = 0; i < c->lanes; i++) {
		if (link_gone(c->lane[i].link.fd))
			return copy_out_broke(c, -ETIMEDOUT);
	}
	return copy_out_listen(c);
}

/* ---- all of it ---------------------------------------------------------- */

static bool
is_paused(struct copy_out *c)
{
	bool pause;

	pthread_mutex_lock(&c->lock);
	pause = c->pause;
	pthread_mutex_unlock(&c->lock);
	if (pause)
		c->due = 0;
	return pause;
}

/* Fills and sends a piece, as far as possible now.  *busy: there was something
 * to do. */
static int
piece_go(struct copy_out *c, bool *busy)
{
	struct copy_lane *l = lane_idle(c);
	int err;

	*busy = false;
	if (!c->fill.lane && (!l || is_paused(c) || clock_steady() < c->due ||
			      c->waiting || !fill_begin(c, l)))
		return 0;
	err = fill_go(c, lanes_busy(c) ? 0 : clock_steady() + NS_SECOND / 50);
	if (err == -ETIMEDOUT)
		return 0;
	*busy = true;
	if (!err) {
		fill_end(c);
		return 0;
	}
	if (err == -ENOENT)
		return copy_out_fail(c, "%s was removed", c->a.name);
	if (err == -ENOMEM)
		return copy_out_fail(c, "out of memory");
	copy_out_leave(c, c->fill.number, err);
	want_skip(c, c->fill.number);
	c->fill.lane = NULL;
	return 0;
}

/* Returns the source's memory if the recorder wants it; the block is read from
 * disk then. */
static void
wanted_look(struct copy_out *c)
{
	if (c->have_parcel && c->a.source->ops->wanted &&
	    c->a.source->ops->wanted(c->a.source))
		copy_out_parcel_put(c);
}

static int
wait_ms(const struct copy_out *c)
{
	int64_t left = c->due - clock_steady();

	if (left <= 0)
		return NAP_MS;
	left = (left + 999999) / 1000000;
	return left < WAIT_MS ? (int)left : WAIT_MS;
}

int
copy_out_send(struct copy_out *c)
{
	bool busy;
	int err = 0;

	c->fill.lane = NULL;
	c->crc_bytes = 0;
	if (!c->waiting)
		copy_out_say(c, SENDER_SENDING, "");
	while (!err &&
	       (c->want_at < c->wants || c->fill.lane || lanes_busy(c))) {
		wanted_look(c);
		err = piece_go(c, &busy);
		if (!err)
			err = lanes_wait(c, busy ? 0 : wait_ms(c));
		if (!err)
			err = lanes_look(c);
		copy_out_sample(c);
	}
	return err;
}
