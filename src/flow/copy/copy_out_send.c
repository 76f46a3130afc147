/* SPDX-License-Identifier: MIT */
/*
 * Sends the blocks.  A piece is copied out of what the source gives into the
 * buffer of an idle connection, and its checksum is computed there.  So the
 * source's memory is held no longer than that takes, and is returned when it is
 * wanted even while all connections are busy.
 *
 * One thread serves all connections; none of their functions waits.
 */
#include "flow/copy/copy_out_priv.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/log.h"

/* ---- frames of connection 0 -------------------------------------------- */

/* The control frames of a copy: what it says about its recording, and what the
 * receiver answers.  They use connection 0.  Answers come in any turn of the
 * connections, also while pieces are sent. */

static int
tell(struct copy_out *c, const struct wire_frame *f, const void *payload,
     uint32_t bytes)
{
	return copy_out_tell(c, &c->lane[0], f, payload, bytes);
}

/* ---- hearing ------------------------------------------------------------ */

/* Takes the receiver's STATE: it looks what it has, has no room, or is
 * ready. */
static void
state_take(struct copy_out *c, const uint8_t *payload, uint32_t bytes)
{
	json_t *told = json_loadb((const char *)payload, bytes, 0, NULL);
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

static int
wants_take(struct copy_out *c, const struct wire_frame *f,
	   const uint8_t *payload)
{
	int err = 0;

	if (c->wants + f->packets > 4 * (c->told + 1) + (1u << 20))
		return copy_out_fail(c, "%s asks for more than there is",
				     c->a.to);
	for (uint32_t i = 0; i < f->packets && !err; i++)
		err = want_add(c, payload + i * COPY_WANT_BYTES);
	return err;
}

int
copy_out_hear(struct channel *lane, const struct wire_frame *f,
	      const uint8_t *payload)
{
	struct copy_out *c = lane->a->hear_arg;
	bool wants = f->type == WIRE_WANT &&
		     (c->awaits == WIRE_WANT || c->awaits == WIRE_AGREE);

	if (lane->number ||
	    (f->type != WIRE_STATE && !wants && f->type != c->awaits))
		return copy_out_fail(c, "%s sent a frame that is out of place",
				     c->a.to);
	if (f->type == WIRE_STATE) {
		state_take(c, payload, f->payload_bytes);
		return 0;
	}
	c->contact = clock_steady();
	if (f->type == WIRE_AGREE)
		copy_digest_unpack(&c->theirs, payload);
	/* An empty WANT ends the list. */
	if (f->type == c->awaits && !(wants && f->packets))
		c->awaits = 0;
	return wants ? wants_take(c, f, payload) : 0;
}

/* Waits for the answer that was announced in c->awaits. */
static int
hear(struct copy_out *c)
{
	int err = 0;

	while (!err && c->awaits)
		err = copy_out_turn(c, clock_steady() + NS_SECOND);
	return err;
}

/* ---- telling ------------------------------------------------------------ */

int
copy_out_head(struct copy_out *c)
{
	const struct wire_frame f = { .type = WIRE_HEAD };
	json_t *head = copy_lines_head(c->lines);
	char *text = head ? json_dumps(head, JSON_COMPACT) : NULL;
	int err;

	json_decref(head);
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
	index_pack(raw, &b.record);
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

/* Bytes of wanted pieces; the last one of a block may be shorter. */
static uint64_t
want_bytes(const struct copy_want *w, const struct index_record *r)
{
	uint64_t from = (uint64_t)w->first * COPY_PIECE;
	uint64_t to = from + (uint64_t)w->pieces * COPY_PIECE;

	return (to < r->bytes ? to : r->bytes) - from;
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

/* Sends an ASK on every other connection, behind all pieces that were sent
 * there. */
static int
flush(struct copy_out *c, unsigned round)
{
	const struct wire_frame ask = { .type = WIRE_ASK, .run = round };
	int err = 0;

	for (unsigned i = 1; i < c->lanes && !err; i++)
		err = copy_out_tell(c, &c->lane[i], &ask, NULL, 0);
	return err;
}

int
copy_out_ask(struct copy_out *c)
{
	const struct wire_frame ask = { .type = WIRE_ASK, .run = ++c->rounds };
	int err = index_tell(c);

	c->wants = c->want_at = 0;
	c->awaits = WIRE_WANT;
	if (!err)
		err = flush(c, c->rounds);
	if (!err)
		err = tell(c, &ask, NULL, 0);
	if (!err)
		err = hear(c);
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
	struct copy_digest own;
	uint8_t raw[COPY_DIGEST_BYTES];
	int err = flush(c, c->rounds);

	if (!err)
		err = left_tell(c);
	digest(c, &own);
	copy_digest_pack(&own, raw);
	c->wants = c->want_at = 0;
	c->awaits = WIRE_AGREE;
	if (!err)
		err = tell(c, &f, raw, sizeof raw);
	if (!err)
		err = hear(c);
	*same = !err && copy_digest_same(&own, &c->theirs);
	return err;
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
	c->awaits = WIRE_CLOSE;
	err = tell(c, &f, c->buffer, f.packets * COPY_RECORD + (uint32_t)n);
	return err ? err : hear(c);
}

/* ---- blocks ----------------------------------------------------------- */

/* Ns: the longest sleep, and that between looks at a source without data. */
enum { WAIT = 50000000, NAP = 2000000 };

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

/* ---- a piece ------------------------------------------------------------ */

static void
want_skip(struct copy_out *c, uint64_t number)
{
	while (c->want_at < c->wants && c->want[c->want_at].number == number)
		c->want_at++;
}

static bool
fill_begin(struct copy_out *c, struct channel *l)
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
	int err;

	sender_into(&c->base);
	err = block_reader_copy(&c->reader, f->number,
				(uint64_t)f->piece * COPY_PIECE, f->bytes,
				channel_stage(f->lane), &f->have, until);
	sender_out(&c->base);
	return err;
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

/* Obeys the rate that was ordered last.  A copy has no clock of the data's own:
 * their pace is the recording's mean rate. */
static void
rate_obey(struct copy_out *c, int64_t now)
{
	const struct recording_facts *f = recording_facts(c->rec);
	double seconds = (double)(f->end_ns - f->start_ns) / 1e9;
	uint64_t rate =
	    atomic_load_explicit(&c->base.rate, memory_order_relaxed);

	if (rate != c->asked_rate)
		pacer_rate(&c->pacer, rate, now);
	c->asked_rate = rate;
	if (rate == SEND_RATE_DATA)
		rate = seconds > 0 ? (uint64_t)((double)f->bytes * 8 / seconds)
				   : SEND_RATE_FREE;
	c->pacer.rate = rate;
}

static void
counts_go(struct copy_out *c)
{
	const struct copy_fill *f = &c->fill;
	const struct index_record *r = record_of(c, f->number);
	bool last = (uint64_t)f->piece * COPY_PIECE + f->bytes == r->bytes;

	c->base.facts.bytes += f->bytes;
	c->base.facts.send.bytes += f->bytes;
	c->base.facts.packets += last ? r->present : 0;
	c->base.facts.missing += last ? r->missing : 0;
	c->base.facts.time_ns = r->last_ns;
	pacer_went(&c->pacer, 1, f->bytes, clock_steady());
}

/* Hands a whole piece to its connection; a block with a wrong checksum is left
 * out. */
static int
fill_end(struct copy_out *c)
{
	const struct copy_fill *f = &c->fill;
	struct channel *l = f->lane;
	const uint8_t *stage = channel_stage(l);
	struct wire_frame frame = { .type = WIRE_PIECE,
				    .payload_bytes = f->bytes,
				    .run = f->piece,
				    .first = f->number };
	int err;

	frame.payload_crc = crc32c(0, stage, f->bytes);
	c->fill.lane = NULL;
	if (!crc_go(c, frame.payload_crc)) {
		leave_out(c, f->number, -EBADMSG);
		want_skip(c, f->number);
		return 0;
	}
	err = channel_put(l, &frame, stage, clock_steady());
	if (err)
		return copy_out_broke(c, err);
	counts_go(c);
	if (!line_is_busy(&l->line))
		c->contact = clock_steady();
	return 0;
}

/* ---- connections -------------------------------------------------------- */

static struct channel *
lane_idle(struct copy_out *c)
{
	for (unsigned i = 0; i < c->lanes; i++) {
		if (channel_is_free(&c->lane[i]))
			return &c->lane[i];
	}
	return NULL;
}

static bool
lanes_busy(const struct copy_out *c)
{
	for (unsigned i = 0; i < c->lanes; i++) {
		if (line_is_busy(&c->lane[i].line))
			return true;
	}
	return false;
}

/* ---- all of it ---------------------------------------------------------- */

static bool
is_paused(struct copy_out *c)
{
	bool pause = atomic_load_explicit(&c->base.pause, memory_order_relaxed);

	if (pause)
		pacer_rest(&c->pacer);
	return pause;
}

/* Tells whether the next piece may begin; else *until is moved to when to ask
 * again. */
static bool
piece_may(struct copy_out *c, int64_t *until)
{
	int64_t now = clock_steady();

	if (is_paused(c) || c->waiting)
		return false;
	rate_obey(c, now);
	if (pacer_may(&c->pacer, COPY_PIECE, 1, 0, now))
		return true;
	if (pacer_wake(&c->pacer, 0, now) < *until)
		*until = pacer_wake(&c->pacer, 0, now);
	return false;
}

/* Fills and sends a piece, as far as possible now.  *until: when to go on, if
 * no connection has news before. */
static int
piece_go(struct copy_out *c, int64_t *until)
{
	int64_t now = clock_steady();
	struct channel *l = lane_idle(c);
	int err;

	*until = now + WAIT;
	if (!c->fill.lane && (!l || !piece_may(c, until) || !fill_begin(c, l)))
		return 0;
	err = fill_go(c, lanes_busy(c) ? 0 : clock_steady() + NS_SECOND / 50);
	*until = err == -ETIMEDOUT ? now + NAP : 0;
	if (err == -ETIMEDOUT)
		return 0;
	if (!err)
		return fill_end(c);
	if (err == -ENOENT)
		return copy_out_fail(c, "%s was removed", c->a.name);
	if (err == -ENOMEM)
		return copy_out_fail(c, "out of memory");
	leave_out(c, c->fill.number, err);
	want_skip(c, c->fill.number);
	c->fill.lane = NULL;
	return 0;
}

int
copy_out_send(struct copy_out *c)
{
	int64_t until;
	int err = 0;

	c->fill.lane = NULL;
	c->crc_bytes = 0;
	if (!c->waiting)
		copy_out_say(c, SENDER_SENDING, "");
	while (!err &&
	       (c->want_at < c->wants || c->fill.lane || lanes_busy(c))) {
		block_reader_yield(&c->reader);
		err = piece_go(c, &until);
		if (!err)
			err = copy_out_turn(c, until);
	}
	return err;
}
