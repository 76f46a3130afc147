/* SPDX-License-Identifier: MIT */
/*
 * A stage puts one piece of a block.  It holds the piece as parcels of the
 * source until the store has it, and puts it again after an error.  The parcels
 * are copied and returned at once when the recorder wants its memory.  A piece
 * that is only a part of a block, or more than half of the source's memory, is
 * copied from the beginning.
 *
 *   FREE -> FILLS -> READY -> ASKS -> FREE
 *                      ^        |
 *                      +--------+ the request failed, and is asked again
 *
 * One stage fills at a time.  A block that the store may have is asked for
 * first, by a stage that goes to READY with no piece.
 */
#include "flow/upload/upload_thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"

enum { STEP = 1 << 16 /* bytes that are copied and summed in the cache */ };

#define WAIT (NS_SECOND / 20)  /* the longest sleep */
#define NAP  (NS_SECOND / 500) /* while the source has no data */

/* ---- memory of the source ------------------------------------------------ */

void
upload_stage_drop(struct upload_stage *s)
{
	while (s->parcels)
		source_put(&s->parcel[--s->parcels]);
}

/* Makes room for a copy of the piece.  0 or -ENOMEM. */
static int
stage_room(struct upload_stage *s)
{
	if (s->data && s->room >= s->r.bytes)
		return 0;
	free(s->data);
	s->room = s->r.bytes;
	s->data = malloc(s->room + 1);
	if (!s->data)
		s->room = 0;
	return s->data ? 0 : -ENOMEM;
}

/* Copies what a stage has in parcels, and returns them.  0 or -ENOMEM. */
static int
stage_detach(struct upload_stage *s)
{
	uint64_t at = 0;

	if (s->copies)
		return 0;
	if (stage_room(s))
		return -ENOMEM;
	for (unsigned i = 0; i < s->parcels; i++) {
		memcpy(s->data + at, s->of[i].data, s->of[i].bytes);
		at += s->of[i].bytes;
	}
	s->of[0] = (struct object_bytes){ s->data, s->r.bytes };
	s->r.of_n = 1;
	s->copies = true;
	upload_stage_drop(s);
	return 0;
}

int
upload_stages_yield(struct upload *u)
{
	const struct source_ops *ops = u->a.source->ops;
	int err = 0;

	if (!ops->wanted || !ops->wanted(u->a.source))
		return 0;
	block_reader_drop(&u->reader);
	for (unsigned i = 0; i < u->stages && !err; i++) {
		if (u->stage[i].parcels)
			err = stage_detach(&u->stage[i]);
	}
	return err ? upload_fail(u, "out of memory") : 0;
}

int
upload_source_fd(const struct upload *u)
{
	const struct source_ops *ops = u->a.source->ops;

	for (unsigned i = 0; i < u->stages && ops->wanted; i++) {
		if (u->stage[i].parcels)
			return ops->fd(u->a.source);
	}
	return -1;
}

/* ---- blocks -------------------------------------------------------------- */

const struct index_record *
upload_record(const struct upload *u, uint64_t number)
{
	size_t n;

	return &recording_blocks(u->rec, &n)[number].record;
}

int
upload_blocks_grow(struct upload *u)
{
	const struct recording_block *b;
	struct upload_block *grown = u->block;
	uint64_t bytes = 0;
	size_t n;

	b = recording_blocks(u->rec, &n);
	if (n > u->room) {
		grown = realloc(grown, 2 * n * sizeof *grown);
		if (!grown)
			return upload_fail(u, "out of memory");
		memset(grown + u->room, 0, (2 * n - u->room) * sizeof *grown);
		u->block = grown;
		u->room = 2 * n;
	}
	u->blocks = n;
	/* A number that no disk had may be a block now: its disk came back. */
	u->low = 0;
	for (size_t i = 0; i < n; i++)
		bytes +=
		    b[i].record.kind == INDEX_BLOCK ? b[i].record.bytes : 0;
	u->base.facts.total = bytes;
	return 0;
}

/* Marks a block as left out, since it cannot be read; for now, if its disk may
 * come back.  Pieces of it that were put already become no object. */
static void
leave_out(struct upload *u, uint64_t number, int err)
{
	struct upload_block *b = &u->block[number];
	bool late = err != -EBADMSG && !b->tried;

	log_line(LEVEL_WARN, u->a.name, "chunk %llu %s: %s",
		 (unsigned long long)number,
		 late ? "cannot be read, and is tried again at the end"
		      : "is not uploaded",
		 err == -EBADMSG ? "its checksum is wrong" : strerror(-err));
	b->step = late ? BLOCK_LATE : BLOCK_LEFT;
	u->left_n++;
	u->base.facts.unreadable += upload_record(u, number)->present;
	u->piece = u->pieces = 0;
}

void
upload_blocks_again(struct upload *u)
{
	for (size_t i = 0; i < u->blocks; i++) {
		struct upload_block *b = &u->block[i];

		if (b->step != BLOCK_LATE)
			continue;
		b->step = BLOCK_NEW;
		b->tried = true;
		u->done_bytes -= b->put;
		u->left_n--;
		u->base.facts.unreadable -= upload_record(u, i)->present;
	}
	u->low = 0;
}

/* Finds the next block that the store may lack.  False: none. */
static bool
block_next(struct upload *u, uint64_t *number)
{
	for (; u->low < u->blocks; u->low++) {
		if (upload_record(u, u->low)->kind != INDEX_BLOCK ||
		    u->block[u->low].step != BLOCK_NEW)
			continue;
		*number = u->low;
		return true;
	}
	return false;
}

static void
block_done(struct upload *u, uint64_t number)
{
	const struct index_record *r = upload_record(u, number);

	u->block[number].step = BLOCK_DONE;
	u->done_n++;
	u->base.facts.packets += r->present;
	u->base.facts.missing += r->missing;
	u->base.facts.time_ns = r->last_ns;
}

/* ---- stages -------------------------------------------------------------- */

static void
stage_key(struct upload *u, struct upload_stage *s)
{
	char file[LAYOUT_FILE];

	snprintf(s->r.key, sizeof s->r.key, "%s/%s", upload_name(u),
		 layout_chunk(file, upload_name(u), s->number));
}

/* Asks for the checksum of a chunk that is there. */
static void
stat_begin(struct upload *u, struct upload_stage *s, uint64_t number)
{
	s->number = number;
	s->lost = false;
	s->r = (struct object_request){ .verb = OBJECT_STAT };
	stage_key(u, s);
	s->step = STAGE_READY;
	u->block[number].asked = true;
	u->block[number].step = BLOCK_ASKED;
}

/* Begins a block: a piece of it is the next one. */
static int
block_begin(struct upload *u, uint64_t number)
{
	const struct index_record *r = upload_record(u, number);
	struct upload_block *b = &u->block[number];

	b->step = BLOCK_SENT;
	b->crc = 0;
	b->put = 0;
	free(b->sums);
	b->sums = calloc(r->bytes / BLOCK_QUANTUM + 1, sizeof *b->sums);
	if (!b->sums)
		return upload_fail(u, "out of memory");
	u->number = number;
	u->piece = 0;
	u->pieces = (uint32_t)((r->bytes + u->piece_most - 1) / u->piece_most);
	u->pieces += !u->pieces;
	return 0;
}

/* Begins to fill a stage with the next piece. */
static int
piece_begin(struct upload *u, struct upload_stage *s)
{
	const struct index_record *r = upload_record(u, u->number);
	uint64_t at = (uint64_t)u->piece * u->piece_most;
	uint64_t bytes = r->bytes - at;

	if (bytes > u->piece_most)
		bytes = u->piece_most;
	s->number = u->number;
	s->have = 0;
	/* A source gives no more than half of its memory away for one piece;
	 * and a block in several pieces is one parcel in memory. */
	s->copies = bytes != r->bytes || bytes > u->a.memory / 2;
	s->lost = false;
	s->summed = true;
	s->parcels = 0;
	s->r = (struct object_request){ .verb = OBJECT_PUT,
					.of = s->of,
					.of_n = 1,
					.at = at,
					.bytes = (uint32_t)bytes,
					.total = r->bytes,
					.whole_crc = r->crc,
					.summed = r->flags & INDEX_SUMMED };
	if (s->copies && stage_room(s))
		return upload_fail(u, "out of memory");
	s->of[0] = (struct object_bytes){ s->data, bytes };
	stage_key(u, s);
	s->step = STAGE_FILLS;
	u->piece++;
	return 0;
}

/* Gives a free stage something to do, if there is anything. */
static int
stage_begin(struct upload *u, struct upload_stage *s)
{
	const struct index_record *r;
	uint64_t number;
	int err = 0;

	if (u->piece == u->pieces) {
		if (!block_next(u, &number))
			return 0;
		r = upload_record(u, number);
		if (!u->block[number].asked && r->flags & INDEX_SUMMED &&
		    upload_has(u, number, r->bytes)) {
			stat_begin(u, s, number);
			return 0;
		}
		err = block_begin(u, number);
	}
	return err ? err : piece_begin(u, s);
}

/* Computes the checksums of a stretch of the piece from `from` on, which
 * follows on the one before. */
static void
stretch_sum(struct upload *u, struct upload_stage *s, uint64_t from,
	    const uint8_t *data, uint64_t bytes)
{
	uint32_t *sums = u->block[s->number].sums + s->r.at / BLOCK_QUANTUM;

	while (bytes) {
		uint64_t n = BLOCK_QUANTUM - from % BLOCK_QUANTUM;
		uint32_t *sum = &sums[from / BLOCK_QUANTUM];

		if (n > bytes)
			n = bytes;
		*sum = crc32c(from % BLOCK_QUANTUM ? *sum : 0, data, n);
		data += n;
		from += n;
		bytes -= n;
	}
}

/* Computes the checksums of the piece from `from` on. */
static void
stage_compute(struct upload *u, struct upload_stage *s, uint64_t from)
{
	uint64_t at = 0;

	if (s->copies) {
		stretch_sum(u, s, from, s->data + from, s->have - from);
		return;
	}
	for (unsigned i = 0; i < s->parcels; i++) {
		const struct object_bytes *of = &s->of[i];

		if (at >= from)
			stretch_sum(u, s, at, of->data, of->bytes);
		at += of->bytes;
	}
}

/* Takes notice of bytes that came, of the piece from `from` on.  If their
 * checksums are not known, this thread computes all of the piece's. */
static void
stage_sum(struct upload *u, struct upload_stage *s, uint32_t from, bool known)
{
	if (!s->summed || !known)
		stage_compute(u, s, s->summed ? 0 : from);
	s->summed = s->summed && known;
}

/* Makes the checksum of the piece of those of its quanta. */
static void
piece_sum(struct upload *u, struct upload_stage *s)
{
	const uint32_t *sum =
	    u->block[s->number].sums + s->r.at / BLOCK_QUANTUM;
	uint32_t shift = crc32c_shift(BLOCK_QUANTUM), left;

	s->r.crc = 0;
	for (left = s->r.bytes; left > BLOCK_QUANTUM; left -= BLOCK_QUANTUM)
		s->r.crc = crc32c_join(shift, s->r.crc, *sum++);
	s->r.crc = crc32c_join(crc32c_shift(left), s->r.crc, *sum);
}

/* Gets the next bytes of a piece, by parcels, or a part of a BLOCK_QUANTUM that
 * is copied.  0; -ETIMEDOUT: there are none yet; or another -errno. */
static int
stage_more(struct upload *u, struct upload_stage *s, int64_t until)
{
	uint32_t left = s->r.bytes - s->have, from = s->have, step;
	struct parcel *p = &s->parcel[s->parcels];
	uint32_t *sums = u->block[s->number].sums;
	int err = -EXDEV;

	if (!s->copies && s->parcels < UPLOAD_PARCELS)
		err = block_reader_take(&u->reader, s->number,
					s->r.at + s->have, left, p, until);
	if (!err) {
		s->of[s->parcels++] =
		    (struct object_bytes){ p->data, p->bytes };
		s->r.of_n = s->parcels;
		s->have += (uint32_t)p->bytes;
		stage_sum(u, s, from,
			  s->summed && source_sums(p, p->at, p->bytes, sums));
		return 0;
	}
	if (err != -EXDEV)
		return err;
	err = stage_detach(s);
	if (err)
		return err;
	step = STEP - s->have % STEP;
	u->reader.sums = sums;
	u->reader.summed = s->summed;
	err = block_reader_copy(&u->reader, s->number, s->r.at,
				s->have + (left < step ? left : step), s->data,
				&s->have, until);
	stage_sum(u, s, from, u->reader.summed);
	u->reader.summed = false;
	return err;
}

/* Gets what there is of the piece.  0: it is whole; -ETIMEDOUT: not yet; or
 * another -errno. */
static int
stage_fill(struct upload *u, struct upload_stage *s, int64_t until)
{
	int err = 0;

	while (!err && s->have < s->r.bytes) {
		sender_into(&u->base);
		err = stage_more(u, s, until);
		sender_out(&u->base);
	}
	return err;
}

/* The piece is whole.  -EBADMSG: so is the block, and its checksum is wrong. */
static int
stage_filled(struct upload *u, struct upload_stage *s)
{
	const struct index_record *r = upload_record(u, s->number);
	struct upload_block *b = &u->block[s->number];

	piece_sum(u, s);
	b->crc = crc32c_join(crc32c_shift(s->r.bytes), b->crc, s->r.crc);
	if (s->r.at + s->r.bytes == r->bytes && r->flags & INDEX_SUMMED &&
	    b->crc != r->crc)
		return -EBADMSG;
	if (s->r.bytes == r->bytes) {
		s->r.whole_crc = s->r.crc;
		s->r.summed = true;
	}
	s->step = STAGE_READY;
	return 0;
}

/* Fills a stage as far as possible.  *until: when to go on. */
static int
fill_go(struct upload *u, struct upload_stage *s, bool busy, int64_t *until)
{
	int64_t now = clock_steady();
	int err = stage_fill(u, s, busy ? 0 : now + NS_SECOND / 50);

	if (err == -ETIMEDOUT) {
		*until = now + NAP < *until ? now + NAP : *until;
		return 0;
	}
	*until = 0;
	if (!err)
		err = stage_filled(u, s);
	if (!err) {
		pacer_went(&u->pacer, 1, s->r.bytes, clock_steady());
		return 0;
	}
	if (err == -ENOENT)
		return upload_fail(u, "%s was removed", u->a.name);
	if (err == -ENOMEM)
		return upload_fail(u, "out of memory");
	leave_out(u, s->number, err);
	upload_stage_drop(s);
	s->step = STAGE_FREE;
	return 0;
}

static bool
is_of(const struct sums *s, const struct index_record *r)
{
	return s && s->quantum == BLOCK_QUANTUM && s->bytes == r->bytes &&
	       s->crc == r->crc;
}

/* Takes the checksums of a block that was there: those that were there, too, or
 * where an upload ended between the two, those on the recording's disk. */
static void
sums_bring(struct upload *u, uint64_t number)
{
	const struct index_record *r = upload_record(u, number);
	const struct sums *s = sums_find(&u->brought, number);
	uint32_t *sums;
	size_t n;

	if (!is_of(s, r)) {
		sender_into(&u->base);
		s = recording_sums(u->rec,
				   &recording_blocks(u->rec, &n)[number]);
		sender_out(&u->base);
	}
	if (!is_of(s, r))
		return;
	sums = calloc(s->count + 1, sizeof *sums);
	for (uint32_t i = 0; sums && i < s->count; i++)
		sums[i] = sums_at(s, i);
	u->block[number].sums = sums;
}

/* Takes the answer to whether a chunk is there. */
static void
stat_take(struct upload *u, const struct upload_stage *s)
{
	const struct index_record *r = upload_record(u, s->number);

	if (!s->r.err && s->r.total == r->bytes && s->r.summed &&
	    s->r.whole_crc == r->crc) {
		u->base.facts.there += r->bytes;
		sums_bring(u, s->number);
		block_done(u, s->number);
		return;
	}
	u->block[s->number].step = BLOCK_NEW;
	if (s->number < u->low)
		u->low = s->number;
}

/* The store has lost what was put of a block: begins it again.  Pieces that are
 * on their way go to what is lost. */
static int
block_anew(struct upload *u, uint64_t number)
{
	struct upload_block *b = &u->block[number];
	struct send_facts f;

	if (b->step != BLOCK_SENT)
		return 0;
	log_line(LEVEL_WARN, u->a.name, "chunk %llu is sent again: %s",
		 (unsigned long long)number, upload_trouble(u, &f));
	if (b->anew++ == UPLOAD_ANEW)
		return upload_fail(u, "%s", upload_trouble(u, &f));
	u->done_bytes -= b->put;
	b->step = BLOCK_NEW;
	if (number < u->low)
		u->low = number;
	if (u->number == number)
		u->piece = u->pieces = 0;
	for (unsigned i = 0; i < u->stages; i++) {
		struct upload_stage *s = &u->stage[i];

		if (s->step == STAGE_FREE || s->number != number)
			continue;
		s->lost = true;
		if (s->step == STAGE_ASKS)
			continue;
		upload_stage_drop(s);
		s->step = STAGE_FREE;
	}
	return 0;
}

/* Takes an answer. */
static int
stage_take(struct upload *u, struct upload_stage *s)
{
	struct upload_block *b = &u->block[s->number];
	bool put = s->r.verb == OBJECT_PUT;

	if (s->lost || (put && s->r.err == -ESTALE)) {
		upload_stage_drop(s);
		s->step = STAGE_FREE;
		return s->lost ? 0 : block_anew(u, s->number);
	}
	if (s->r.err && (put || s->r.err != -ENOENT)) {
		s->step = STAGE_READY;
		return upload_ill(u, s->r.err);
	}
	upload_well(u);
	s->step = STAGE_FREE;
	if (!put) {
		stat_take(u, s);
		return 0;
	}
	upload_stage_drop(s);
	u->done_bytes += s->r.bytes;
	b->put += s->r.bytes;
	if (b->step == BLOCK_SENT && b->put >= s->r.total)
		block_done(u, s->number);
	return 0;
}

/* ---- all of them --------------------------------------------------------- */

static bool
is_paused(struct upload *u)
{
	bool pause = atomic_load_explicit(&u->base.pause, memory_order_relaxed);

	if (pause)
		pacer_rest(&u->pacer);
	return pause;
}

/* Obeys the rate that was ordered last.  Blocks have no clock of the data's
 * own: their pace is the recording's mean rate. */
static void
rate_obey(struct upload *u, int64_t now)
{
	const struct recording_facts *f = recording_facts(u->rec);
	double seconds = (double)(f->end_ns - f->start_ns) / 1e9;
	uint64_t rate =
	    atomic_load_explicit(&u->base.rate, memory_order_relaxed);

	if (rate != u->asked_rate)
		pacer_rate(&u->pacer, rate, now);
	u->asked_rate = rate;
	if (rate == SEND_RATE_DATA)
		rate = seconds > 0 ? (uint64_t)((double)f->bytes * 8 / seconds)
				   : SEND_RATE_FREE;
	u->pacer.rate = rate;
	u->ops->rate(u->store, rate);
}

/* Tells whether the next piece may begin; else *until is moved to when to ask
 * again. */
static bool
piece_may(struct upload *u, int64_t *until)
{
	int64_t now = clock_steady(), wake;

	if (is_paused(u))
		return false;
	rate_obey(u, now);
	if (pacer_may(&u->pacer, u->piece_most, 1, 0, now))
		return true;
	wake = pacer_wake(&u->pacer, 0, now);
	*until = wake < *until ? wake : *until;
	return false;
}

int
upload_stages_step(struct upload *u, int64_t *until, bool *busy)
{
	struct upload_stage *fills = NULL, *free = NULL;
	int64_t now = clock_steady();
	bool asks = false;
	int err = 0;

	*until = now + WAIT;
	*busy = false;
	for (unsigned i = 0; i < u->stages && !err; i++) {
		struct upload_stage *s = &u->stage[i];

		if (s->step == STAGE_ASKS && s->r.over)
			err = stage_take(u, s);
		if (!err && s->step == STAGE_READY && now >= u->again) {
			s->step = STAGE_ASKS;
			if (u->ops->begin(u->store, &s->r))
				err = upload_fail(u, "out of memory");
		}
		if (s->step == STAGE_FILLS)
			fills = s;
		else if (s->step == STAGE_FREE)
			free = s;
		*busy |= s->step != STAGE_FREE;
		asks |= s->step == STAGE_ASKS;
	}
	/* The block of a stage may have been begun again meanwhile. */
	if (fills && fills->step != STAGE_FILLS) {
		free = fills;
		fills = NULL;
	}
	if (!err && !fills && free && piece_may(u, until)) {
		err = stage_begin(u, free);
		fills = free->step == STAGE_FILLS ? free : NULL;
		*busy |= free->step != STAGE_FREE;
		if (free->step != STAGE_FREE)
			*until = 0;
	}
	return err || !fills ? err : fill_go(u, fills, asks, until);
}

bool
upload_has_more(struct upload *u)
{
	uint64_t number;

	return u->piece != u->pieces || block_next(u, &number);
}
