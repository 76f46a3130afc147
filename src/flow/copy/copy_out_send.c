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
#include <jansson.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/log.h"

/* ---- frames of connection 0 -------------------------------------------- */

/* The control frames of a copy: what it says about its recording, and what the
 * receiver answers.  They use connection 0, which is read in between while
 * pieces are sent. */

static int
tell(struct copy_out *c, const struct wire_frame *f, const void *payload,
     uint32_t bytes)
{
	int err = link_send(&c->lane[0].link, f, payload, bytes);

	return err ? copy_out_broke(c, err) : 0;
}

/* ---- hearing ------------------------------------------------------------ */

/* Takes the receiver's STATE: it looks what it has, has no room, or is
 * ready. */
static void
state_take(struct copy_out *c, uint32_t bytes)
{
	json_t *told = json_loadb((char *)c->buffer, bytes, 0, NULL);
	const char *state = json_string_value(json_object_get(told, "state"));
	const char *why = json_string_value(json_object_get(told, "why"));
	bool waits = state && strcmp(state, "ready") != 0;
	bool full = state && !strcmp(state, "waiting");

	if (full && !c->waiting)
		c->waiting = clock_steady();
	if (!full)
		c->waiting = 0;
	copy_out_say(c, waits ? SENDER_WAITING : SENDER_SENDING,
		     why ? why : "");
	json_decref(told);
}

/* Takes a frame; *heard is false if it was a STATE. */
static int
frame_take(struct copy_out *c, struct wire_frame *f, bool *heard)
{
	int err = link_payload(&c->lane[0].link, f, c->buffer);

	*heard = false;
	if (err == -EBADMSG)
		return copy_out_fail(c, "%s sent a damaged frame", c->a.to);
	if (err)
		return copy_out_broke(c, err);
	if (f->type == WIRE_REFUSE)
		return copy_out_refused(c, c->buffer, f->payload_bytes);
	*heard = f->type != WIRE_STATE;
	if (!*heard)
		state_take(c, f->payload_bytes);
	return 0;
}

static int
patience_check(struct copy_out *c)
{
	if (!c->waiting || clock_steady() - c->waiting < c->a.patience)
		return 0;
	return copy_out_fail(c, "%s had no room for it for too long", c->a.to);
}

/* Reads frames of connection 0 up to one that is not STATE, and handles those;
 * the payload is in c->buffer. */
static int
hear(struct copy_out *c, struct wire_frame *f)
{
	const char *why;
	bool heard = false;
	int err;

	while (!heard) {
		err = link_frame(&c->lane[0].link, f,
				 clock_steady() + NS_SECOND, &why);
		if (err == -ETIMEDOUT && !link_gone(c->lane[0].link.fd))
			err = patience_check(c);
		else if (err == -EBADMSG)
			err = copy_out_fail(c, "%s sent %s", c->a.to, why);
		else if (err)
			err = copy_out_broke(c, err);
		else
			err = frame_take(c, f, &heard);
		if (err)
			return err;
	}
	c->contact = clock_steady();
	return 0;
}

int
copy_out_listen(struct copy_out *c)
{
	struct pollfd p = { .fd = c->lane[0].link.fd, .events = POLLIN };
	struct wire_frame f;
	const char *why;
	bool heard;
	int err = 0;

	while (!err && poll(&p, 1, 0) > 0) {
		err = link_frame(&c->lane[0].link, &f, INT64_MAX, &why);
		if (err == -EBADMSG)
			return copy_out_fail(c, "%s sent %s", c->a.to, why);
		if (err)
			return copy_out_broke(c, err);
		err = frame_take(c, &f, &heard);
		if (!err && heard)
			return copy_out_fail(
			    c, "%s sent a frame that is out of place", c->a.to);
	}
	return err ? err : patience_check(c);
}

/* ---- telling ------------------------------------------------------------ */

int
copy_out_head(struct copy_out *c)
{
	const struct wire_frame f = { .type = WIRE_HEAD };
	char *text = json_dumps(recording_facts(c->rec)->head, JSON_COMPACT);
	int err;

	if (!text)
		return copy_out_fail(c, "out of memory");
	err = strlen(text) <= COPY_HEAD_MOST
		  ? tell(c, &f, text, (uint32_t)strlen(text))
		  : copy_out_fail(c, "its metadata begins with too long a "
				     "line");
	free(text);
	return err;
}

/* An INDEX frame that is being put together in c->buffer. */
struct index_frame {
	uint32_t bytes, n;
};

static int
index_flush(struct copy_out *c, struct index_frame *to)
{
	const struct wire_frame f = { .type = WIRE_INDEX, .packets = to->n };
	int err = to->n ? tell(c, &f, c->buffer, to->bytes) : 0;

	*to = (struct index_frame){ 0 };
	return err;
}

static int
block_tell(struct copy_out *c, struct index_frame *to,
	   const struct index_record *r)
{
	uint8_t raw[INDEX_BYTES];
	struct copy_lines_block b;
	struct copy_told t;
	uint32_t n;
	int err = copy_lines_block(c->lines, r, &b);

	/* The block is copied even if its lines of metadata cannot be read. */
	if (err)
		log_line(LEVEL_WARN, c->a.name,
			 "what the metadata says of chunk %llu cannot be "
			 "read: %s",
			 (unsigned long long)r->number, strerror(-err));
	if (b.bytes > WIRE_PAYLOAD_MOST / 2)
		b.bytes = 0;
	index_pack(raw, r);
	t = (struct copy_told){ .record = raw,
				.base = b.base,
				.arrival_ns = b.arrival_ns,
				.gap = b.gap,
				.lines_bytes = (uint32_t)b.bytes,
				.lines = b.lines };
	err = 0;
	if (to->bytes + COPY_TOLD_BYTES + t.lines_bytes > WIRE_PAYLOAD_MOST)
		err = index_flush(c, to);
	n = copy_told_pack(&t, c->buffer + to->bytes,
			   WIRE_PAYLOAD_MOST - to->bytes);
	to->bytes += n;
	to->n += n != 0;
	free(b.lines);
	return err;
}

static int
left_grow(struct copy_out *c, uint64_t n)
{
	uint8_t *grown = realloc(c->left, n + 1);

	if (!grown)
		return copy_out_fail(c, "out of memory");
	if (n > c->left_room)
		memset(grown + c->left_room, 0, n - c->left_room);
	c->left = grown;
	c->left_room = n > c->left_room ? n : c->left_room;
	return 0;
}

static int
index_tell(struct copy_out *c)
{
	const struct recording_block *b;
	struct index_frame to = { 0 };
	uint64_t bytes = 0;
	size_t n;
	int err;

	b = recording_blocks(c->rec, &n);
	err = left_grow(c, n);
	for (; !err && c->told < n; c->told++) {
		if (b[c->told].record.kind == INDEX_BLOCK)
			err = block_tell(c, &to, &b[c->told].record);
	}
	if (!err)
		err = index_flush(c, &to);
	for (size_t i = 0; i < n; i++)
		bytes +=
		    b[i].record.kind == INDEX_BLOCK ? b[i].record.bytes : 0;
	c->base.facts.total = bytes;
	return err;
}

/* ---- asking ------------------------------------------------------------- */

static int
want_add(struct copy_out *c, const uint8_t *raw)
{
	struct copy_want *grown = c->want, w;
	uint64_t pieces;

	if (c->wants == c->want_room) {
		size_t room = c->want_room ? 2 * c->want_room : 256;

		grown = realloc(grown, room * sizeof *grown);
		if (!grown)
			return copy_out_fail(c, "out of memory");
		c->want = grown;
		c->want_room = room;
	}
	copy_want_unpack(&w, raw);
	if (w.number < c->told) {
		const struct recording_block *b;
		size_t n;

		b = recording_blocks(c->rec, &n);
		pieces =
		    (b[w.number].record.bytes + COPY_PIECE - 1) / COPY_PIECE;
		if (b[w.number].record.kind == INDEX_BLOCK && w.pieces &&
		    w.first < pieces && w.pieces <= pieces - w.first) {
			c->want[c->wants++] = w;
			return 0;
		}
	}
	return copy_out_fail(c, "%s asks for a block that it was not told of",
			     c->a.to);
}

/* Bytes of wanted pieces; the last one of a block may be shorter. */
static uint64_t
want_bytes(const struct copy_want *w, const struct index_record *r)
{
	uint64_t from = (uint64_t)w->first * COPY_PIECE;
	uint64_t to = from + (uint64_t)w->pieces * COPY_PIECE;

	return (to < r->bytes ? to : r->bytes) - from;
}

static int
wants_take(struct copy_out *c, const struct wire_frame *f)
{
	int err = 0;

	if (c->wants + f->packets > 4 * (c->told + 1) + (1u << 20))
		return copy_out_fail(c, "%s asks for more than there is",
				     c->a.to);
	for (uint32_t i = 0; i < f->packets && !err; i++)
		err = want_add(c, c->buffer + i * COPY_WANT_BYTES);
	return err;
}

/* Reads WANT frames into c->want, up to the empty one that ends the list, or to
 * a frame of another type. */
static int
wants_hear(struct copy_out *c, struct wire_frame *f)
{
	int err;

	c->wants = c->want_at = 0;
	do {
		err = hear(c, f);
		if (!err && f->type == WIRE_WANT)
			err = wants_take(c, f);
	} while (!err && f->type == WIRE_WANT && f->packets);
	return err;
}

/* Counts as already there what the peer did not want of the first index. */
static void
there_look(struct copy_out *c)
{
	const struct recording_block *b;
	uint64_t there = 0;
	size_t n;

	b = recording_blocks(c->rec, &n);
	for (size_t i = 0; i < n && i < c->told; i++)
		there +=
		    b[i].record.kind == INDEX_BLOCK ? b[i].record.bytes : 0;
	for (size_t i = 0; i < c->wants; i++)
		there -= want_bytes(&c->want[i], &b[c->want[i].number].record);
	c->asked = true;
	c->base.facts.there = there;
}

int
copy_out_ask(struct copy_out *c)
{
	const struct wire_frame ask = { .type = WIRE_ASK };
	struct wire_frame f;
	int err = index_tell(c);

	if (!err)
		err = tell(c, &ask, NULL, 0);
	if (!err)
		err = wants_hear(c, &f);
	if (!err && f.type != WIRE_WANT)
		err =
		    copy_out_fail(c, "%s does not say what it wants", c->a.to);
	if (!err && !c->asked)
		there_look(c);
	return err;
}

/* ---- agreeing ----------------------------------------------------------- */

static void
digest(const struct copy_out *c, struct copy_digest *d)
{
	const struct recording_block *b;
	size_t n;

	*d = (struct copy_digest){ 0 };
	b = recording_blocks(c->rec, &n);
	for (size_t i = 0; i < n && i < c->told; i++) {
		if (b[i].record.kind == INDEX_BLOCK && !c->left[i])
			copy_digest_add(d, b[i].record.number,
					b[i].record.bytes, b[i].record.crc,
					crc32c);
	}
}

/* Sends an ASK on every other connection, behind all pieces that were sent
 * there. */
static int
flush(struct copy_out *c, unsigned round)
{
	const struct wire_frame ask = { .type = WIRE_ASK, .run = round };
	int err = 0;

	for (unsigned i = 1; i < c->lanes && !err; i++)
		err = link_send(&c->lane[i].link, &ask, NULL, 0);
	return err ? copy_out_broke(c, err) : 0;
}

static int
left_tell(struct copy_out *c)
{
	struct wire_frame f = { .type = WIRE_LEFT };
	int err = 0;

	for (f.first = 0; f.first < c->told && c->left_n && !err; f.first++) {
		if (c->left[f.first])
			err = tell(c, &f, NULL, 0);
	}
	return err;
}

int
copy_out_agree(struct copy_out *c, bool *same)
{
	struct wire_frame f = { .type = WIRE_AGREE, .run = ++c->rounds };
	struct copy_digest own, theirs;
	uint8_t raw[COPY_DIGEST_BYTES];
	int err = flush(c, c->rounds);

	if (!err)
		err = left_tell(c);
	digest(c, &own);
	copy_digest_pack(&own, raw);
	if (!err)
		err = tell(c, &f, raw, sizeof raw);
	if (!err)
		err = wants_hear(c, &f);
	if (!err && f.type == WIRE_WANT)
		err = hear(c, &f);
	if (err)
		return err;
	if (f.type != WIRE_AGREE)
		return copy_out_fail(c, "%s does not say what it has", c->a.to);
	copy_digest_unpack(&theirs, c->buffer);
	*same = copy_digest_same(&own, &theirs);
	return 0;
}

int
copy_out_close(struct copy_out *c)
{
	struct wire_frame f = { .type = WIRE_CLOSE };
	struct index_record end;
	size_t n;
	char *lines;
	int err;

	f.packets = copy_lines_end(c->lines, &end, &lines);
	n = lines ? strlen(lines) : 0;
	if (!lines || n > WIRE_PAYLOAD_MOST - COPY_RECORD) {
		free(lines);
		return copy_out_fail(
		    c, "the end of its metadata does not fit into a "
		       "frame");
	}
	if (f.packets)
		index_pack(c->buffer, &end);
	memcpy(c->buffer + f.packets * COPY_RECORD, lines, n);
	free(lines);
	err = tell(c, &f, c->buffer, f.packets * COPY_RECORD + (uint32_t)n);
	if (!err)
		err = hear(c, &f);
	if (!err && f.type != WIRE_CLOSE)
		err = copy_out_fail(c, "%s does not say that it is closed",
				    c->a.to);
	return err;
}

/* ---- blocks ----------------------------------------------------------- */

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

/* Marks a block as left out, since it cannot be read. */
static int
leave_out(struct copy_out *c, uint64_t number, int err)
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
	c->base.facts.unreadable += b[number].record.present;
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
		sender_into(&c->base);
		err = ops->seek_number(c->a.source, number);
		sender_out(&c->base);
		if (err)
			return err;
		c->sought = number;
	}
	for (;;) {
		if (c->have_parcel)
			source_put(&c->parcel);
		c->have_parcel = false;
		sender_into(&c->base);
		err = source_next(c->a.source, &c->parcel, until);
		sender_out(&c->base);
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
	uint64_t rate =
	    atomic_load_explicit(&c->base.rate, memory_order_relaxed);

	c->base.facts.bytes += f->bytes;
	c->base.facts.send.bytes += f->bytes;
	c->base.facts.packets += last ? r->present : 0;
	c->base.facts.missing += last ? r->missing : 0;
	c->base.facts.time_ns = r->last_ns;
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
		leave_out(c, f->number, -EBADMSG);
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
	bool pause = atomic_load_explicit(&c->base.pause, memory_order_relaxed);

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
	leave_out(c, c->fill.number, err);
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
		copy_out_show(c);
	}
	return err;
}
