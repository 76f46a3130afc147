/* SPDX-License-Identifier: MIT */
/*
 * The position of a source on disks, and what comes next.  It knows the blocks
 * that the recording had at its last look; when it has given all of them and
 * the recording grows, it looks again, but not more often than is worth the
 * cost.  A look opens disks that joined since, or that answer again.
 *
 * A transfer that waits sleeps on a timer, which goes off for the reader's
 * data, or for the next look.
 */
#include "flow/source/source_disk.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/read/pool.h"
#include "store/recording/recording_priv.h"

/* The bits of a block, kept as long as a parcel of it is out. */
struct source_bits {
	unsigned users; /* references: the source's and those of parcels */
	uint64_t number;
	uint64_t present[];
};

struct source_disk {
	struct source source;
	struct disks disks; /* a copy of its own */
	char name[LAYOUT_FILE];
	struct source_disk_args a;
	int timer; /* timerfd that goes off when there may be news */
	struct fault fault;
	bool opened;
	int err; /* the error that the source ended with; 0: none */

	struct recording *rec;
	const struct format_ops *format;
	struct pool_reader *reader;
	struct pool_position position;
	struct recording_range range;
	/* Blocks it knows: all that are indexed now, or were when it was
	 * opened. */
	uint64_t end;
	bool growing;	  /* more blocks may come */
	uint64_t settled; /* see source_ops::settled */
	/* The disks were looked at since `settled` was set. */
	bool looked;
	int64_t next_look; /* steady ns: no look at the disks before then */

	/* The position. */
	uint64_t number;
	uint64_t at;   /* bytes of the block's data given so far */
	uint64_t have; /* bytes of an incomplete slot that are in `tail` */
	/* The stretch that is missing before this block was given. */
	bool stretch_told;
	bool gone;	    /* a chunk of the block is not there */
	bool removed_asked; /* for this block: was the recording removed? */
	/* The bytes of the next parcel were compared with the block's
	 * checksums. */
	bool summed;
	uint8_t *tail;
	struct source_bits *bits; /* bits of the current block, or NULL */
	struct source_facts facts;
};

static struct source_disk *
source_disk_of(struct source *s)
{
	return (struct source_disk *)s;
}

#define LOOK (NS_SECOND / 5) /* least ns between two looks */

/* A look may take at most one LOOK_COST-th of the time. */
enum { LOOK_COST = 10 };

/* ---- looking ----------------------------------------------------------- */

static int
removed(struct source_disk *d)
{
	fault_set(&d->fault, -ENOENT, "not-found", "%s was removed", d->name);
	fault_why(&d->fault, "somebody removed it while it was read");
	return -ENOENT;
}

/* Takes over what was found, and protects the recording from removal; while it
 * grows its writer's lock does that, and recording_hold does nothing. */
static int
looked_at(struct source_disk *d)
{
	int err = recording_hold(d->rec, &d->fault);

	if (err == -EIDRM)
		return removed(d);
	d->end = d->rec->blocks;
	d->growing = d->a.follow && d->rec->facts.state == RECORDING_LIVE;
	recording_range(d->rec, &d->range);
	if (d->number < d->range.first)
		d->number = d->range.first;
	return err;
}

static int
look(struct source_disk *d)
{
	int64_t begun = clock_steady(), took;
	int err;

	if (d->a.list)
		disk_list_open(d->a.list, &d->disks);
	if (d->reader)
		pool_reader_watch(d->reader);
	recording_settle(d->rec, d->settled);
	err = recording_refresh(d->rec);
	if (err == -EIDRM || (!err && recording_is_removed(d->rec)))
		return removed(d);
	if (!err)
		err = looked_at(d);
	took = clock_steady() - begun;
	d->next_look =
	    begun + took + (took * LOOK_COST > LOOK ? took * LOOK_COST : LOOK);
	d->looked = true;
	return err;
}

static void
set_timer(struct source_disk *d, int64_t at)
{
	const struct itimerspec when = { .it_value = { at / NS_SECOND,
						       at % NS_SECOND } };

	timerfd_settime(d->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void
clear_timer(struct source_disk *d)
{
	uint64_t times;

	if (read(d->timer, &times, sizeof times) < 0)
		return;
}

/* Waits until the next look at the disks is due, and looks.  0; -ETIMEDOUT; or
 * another -errno. */
static int
wait_look(struct source_disk *d, int64_t until)
{
	struct pollfd fd = { .fd = d->timer, .events = POLLIN };
	int64_t now = clock_steady(), wait;

	if (d->settled && !d->looked)
		return look(d);
	while (now < d->next_look) {
		set_timer(d, d->next_look);
		if (now >= until)
			return -ETIMEDOUT;
		wait = (until < d->next_look ? until : d->next_look) - now;
		ppoll(&fd, 1,
		      &(struct timespec){ wait / NS_SECOND, wait % NS_SECOND },
		      NULL);
		clear_timer(d);
		now = clock_steady();
	}
	return look(d);
}

/* ---- opening ----------------------------------------------------------- */

/*
 * Opening a source on disks touches all of them, so the sender's thread does it
 * at its first read.
 *
 * The reader's pieces become parcels.  A piece is some MiB, so that it has many
 * packets and several pieces of each disk fit in memory; for rows it is the
 * longest block that can come.
 */

enum { PIECE = 4 << 20, SLOTS = 8 /* least slots in a piece */ };

static uint64_t
row_bytes(const struct recording *rec)
{
	json_t *geometry = json_object_get(rec->head, "geometry");
	json_int_t block =
	    json_integer_value(json_object_get(geometry, "block_bytes"));
	uint64_t most = block > 0 ? (uint64_t)block : PIECE;

	for (size_t i = 0; i < rec->blocks; i++) {
		if (rec->block[i].record.bytes > most)
			most = rec->block[i].record.bytes;
	}
	return most;
}

static int
open_reader(struct source_disk *d)
{
	const struct recording *rec = d->rec;
	uint64_t slots = (uint64_t)rec->shape.payload * SLOTS;
	struct pool_reader_args a = {
		.memory = d->a.memory,
		.verify = d->a.verify,
		.patience = d->a.patience,
		.head = rec->shape.payload,
		.piece = slots > PIECE ? slots : PIECE,
		.timer = d->timer,
	};
	int err;

	if (rec->shape.store == HEAP_ROW) {
		a.piece = row_bytes(rec);
		a.head = 0;
	}
	d->tail = malloc(rec->shape.payload);
	if (!d->tail)
		return -ENOMEM;
	err = pool_reader_open(&d->reader, d->rec, &a);
	if (err)
		return err;
	pool_position_begin(&d->position, d->reader, d->a.sub, POOL_SEQUENTIAL);
	return 0;
}

static int
check_sub(struct source_disk *d)
{
	const struct recording_facts *f = &d->rec->facts;

	if (d->a.sub < (int)f->subs)
		return 0;
	fault_set(&d->fault, -EINVAL, "usage", "%s has no substream %d",
		  d->name, d->a.sub);
	fault_why(&d->fault, "it has %u, numbered from 0", f->subs);
	return -EINVAL;
}

static int
open_all(struct source_disk *d)
{
	int err;

	for (unsigned i = 0; i < d->disks.n && !d->a.list; i++)
		disk_open(&d->disks.disk[i]);
	if (d->a.list)
		disk_list_open(d->a.list, &d->disks);
	err = recording_open(&d->rec, &d->disks, d->name, &d->fault);
	if (!err)
		err = check_sub(d);
	if (!err)
		err = recording_format(d->rec, &d->format, &d->fault);
	if (err)
		return err;
	d->range = (struct recording_range){ .from_ns = d->a.from_ns,
					     .to_ns = d->a.to_ns,
					     .from_byte = d->a.from_byte,
					     .to_byte = d->a.to_byte,
					     .sub = d->a.sub };
	err = looked_at(d);
	return err ? err : open_reader(d);
}

static int
open_once(struct source_disk *d)
{
	if (!d->opened)
		d->err = open_all(d);
	d->opened = !d->err;
	return d->err;
}

/* ---- parcels ----------------------------------------------------------- */

/*
 * Makes parcels of a block.  The reader gives pieces of bytes, and a slot may
 * begin in one piece and end in the next: its beginning is copied to `tail`,
 * and from there into the head that the reader leaves free in front of the next
 * piece.
 *
 *   piece      |  slot  |  slot  |  sl|
 *                                  tail
 *                                   |
 *   next piece                    |sl||ot  |  slot  |  slot  | ..
 *                                  head
 *   parcels    `------ one -----' `-------- the next -------'
 *
 * A block of rows is one piece and one parcel.
 */

/* The buffers that a parcel uses until it is put. */
struct parcel_buffers {
	struct pool_stretch view;
	struct source_bits *bits;
};

static const struct recording_block *
block_of(const struct source_disk *d)
{
	return &d->rec->block[d->number];
}

/* ---- bits --------------------------------------------------------------- */

static void
bits_put(struct source_bits *b)
{
	if (b && !--b->users)
		free(b);
}

static struct source_bits *
make_bits(struct source_disk *d, const struct recording_block *b)
{
	uint32_t payload = d->rec->shape.payload;
	uint32_t slots = (uint32_t)(b->record.bytes / payload);
	size_t bytes = ((size_t)slots + 63) / 64 * sizeof(uint64_t);
	struct source_bits *bits = malloc(sizeof *bits + bytes);

	if (!bits)
		return NULL;
	bits->users = 1;
	bits->number = b->record.number;
	memset(bits->present, 0xff, bytes);
	/* If the recording does not know which packets are missing, no bit is
	 * cleared: the slots hold fill, which marks itself as invalid. */
	recording_present(d->rec, b->record.number, 0, slots, bits->present);
	return bits;
}

/* Loads the bits of the block.  Called when its first data have been read: its
 * disk answers then. */
static int
ready_bits(struct source_disk *d, const struct recording_block *b)
{
	enum heap_store store = d->rec->shape.store;

	if (d->bits && d->bits->number == b->record.number)
		return 0;
	bits_put(d->bits);
	d->bits = NULL;
	if (store == HEAP_ROW || (!b->record.missing && store == HEAP_NONE))
		return 0;
	d->bits = make_bits(d, b);
	return d->bits ? 0 : -ENOMEM;
}

/* Error of a view.  A chunk that ends too soon is an I/O error, not a lack of
 * packets. */
static int
err_of(const struct pool_stretch *v)
{
	return v->err == -ENODATA ? -EIO : v->err;
}

/* ---- parcels ----------------------------------------------------------- */

static void
fill_in(struct source_disk *d, const struct recording_block *b,
	struct parcel *p, uint64_t end)
{
	*p = (struct parcel){
		.record = b->record,
		.base = recording_base(d->rec, b->record.sub, b->record.run),
		.at = d->at,
		.bytes = end - d->at,
		.offset = b->offset + d->at,
		.source = &d->source,
	};
	d->at = end;
}

static void
give_lost(struct source_disk *d, struct parcel *p, uint64_t end, int err)
{
	const struct recording_block *b = block_of(d);
	uint32_t unit = d->rec->shape.payload;

	fill_in(d, b, p, end);
	d->gone |= err == -ENOENT;
	p->err = err == -EBADMSG || err == -ENODATA ? err : -EIO;
	d->have = 0;
	if (err != -ENODATA)
		d->facts.unreadable += d->rec->shape.store == HEAP_ROW
					   ? b->record.present
					   : p->bytes / unit;
}

static int
give_view(struct source_disk *d, struct parcel *p, struct pool_stretch *v,
	  uint64_t end)
{
	struct parcel_buffers *g = malloc(sizeof *g);
	const struct recording_block *b = block_of(d);
	int err = g ? ready_bits(d, b) : -ENOMEM;

	if (err) {
		free(g);
		return err;
	}
	g->view = *v;
	g->bits = d->bits;
	if (g->bits)
		g->bits->users++;
	fill_in(d, b, p, end);
	p->data = v->data - d->have;
	p->sums = d->summed ? v->sum : NULL;
	p->present = g->bits ? g->bits->present : NULL;
	p->own = g;
	d->facts.bytes_disk += p->bytes;
	return 0;
}

static void
disk_put(struct source *s, struct parcel *p)
{
	struct source_disk *d = source_disk_of(s);
	struct parcel_buffers *g = p->own;

	if (!g)
		return;
	pool_put(d->reader, &g->view);
	bits_put(g->bits);
	free(g);
	p->own = NULL;
}

/* ---- whole packets ----------------------------------------------------- */

/* Makes a parcel of the whole units of a good view: slots, or one block of
 * rows.  0; -EINTR: no unit ends in it; or another -errno. */
static int
give_units(struct source_disk *d, struct parcel *p, struct pool_stretch *v,
	   uint64_t unit)
{
	uint64_t total = d->have + v->bytes, rest = total % unit;
	bool row = d->rec->shape.store == HEAP_ROW;
	uint8_t *from = (uint8_t *)v->data - d->have;
	int err = -EINTR;

	d->summed = v->sum && (!d->have || d->summed);
	if (total == rest) {
		if (!row) /* of a row the rest turns out to be bad */
			memcpy(d->tail + d->have, v->data, v->bytes);
		d->have = total;
		return err;
	}
	memcpy(from, d->tail, d->have);
	err = give_view(d, p, v, d->at + total - rest);
	if (err)
		return err;
	memcpy(d->tail, from + total - rest, rest);
	d->have = rest;
	d->summed = v->sum;
	return 0;
}

/* Gives the next slots of a block, or a block of rows as a whole, because only
 * one packet's header tells where the next begins. */
static int
give_data(struct source_disk *d, struct parcel *p, int64_t until)
{
	const struct recording_block *b = block_of(d);
	bool row = d->rec->shape.store == HEAP_ROW;
	uint64_t unit = row ? b->bytes : d->rec->shape.payload;
	uint64_t bytes = row ? unit : b->record.bytes / unit * unit, end;
	struct pool_stretch v;
	int err;

	if (row && d->at >= bytes && d->at < b->record.bytes) {
		/* bytes behind its last whole packet */
		give_lost(d, p, b->record.bytes, -EIO);
		return 0;
	}
	do {
		if (d->at >= bytes)
			return -EAGAIN;
		err = pool_get(&d->position, d->number, d->at + d->have,
			       row ? bytes - d->have : 0, &v, until);
		if (err)
			return err == -ENODATA ? -EAGAIN : err;
		if (!v.err && row && d->have)
			v.err = -EIO; /* longer than a piece */
		if (v.err) {
			end = (v.at + v.bytes + unit - 1) / unit * unit;
			give_lost(d, p, end < bytes ? end : bytes, err_of(&v));
		} else {
			err = give_units(d, p, &v, unit);
		}
		if (err || v.err)
			pool_put(d->reader, &v);
	} while (err == -EINTR);
	return err;
}

/* ---- what is in no chunk ----------------------------------------------- */

/* Returns the block before this one in its substream's file if there is a
 * stretch without a number between them, *bytes long; else NULL. */
static const struct recording_block *
lost_before(const struct source_disk *d, uint64_t *bytes)
{
	const struct recording *rec = d->rec;
	const struct recording_block *b = block_of(d), *last;

	for (uint64_t i = d->number; i-- > 0;) {
		last = &rec->block[i];
		if (last->record.sub != b->record.sub ||
		    last->record.kind == RECORDING_ABSENT ||
		    last->record.kind == RECORDING_UNUSED)
			continue;
		*bytes = b->offset - (last->offset + last->bytes);
		return *bytes ? last : NULL;
	}
	return NULL;
}

/* Gives the stretch before the block as a parcel that continues the block
 * before. */
static bool
give_stretch(struct source_disk *d, struct parcel *p)
{
	const struct recording_block *last;
	uint64_t bytes;

	if (d->stretch_told || d->rec->facts.subs == 1 || d->a.sub < 0 ||
	    d->number == d->range.first)
		return false;
	d->stretch_told = true;
	last = lost_before(d, &bytes);
	if (!last)
		return false;
	d->at = last->bytes;
	fill_in(d, last, p, last->bytes + bytes);
	p->err = -ENODATA;
	d->at = 0;
	return true;
}

/* Gives one parcel for a number without data: a gap, or a block that is on no
 * disk. */
static int
give_nothing(struct source_disk *d, struct parcel *p)
{
	const struct recording_block *b = block_of(d);

	if (d->at || (b->record.kind == INDEX_BLOCK))
		return -EAGAIN;
	give_lost(d, p, b->bytes, -ENODATA);
	d->at = UINT64_MAX;
	return 0;
}

static int
give(struct source_disk *d, struct parcel *p, int64_t until)
{
	const struct recording_block *b = block_of(d);

	if (!d->at && !d->have && b->record.kind != RECORDING_ABSENT &&
	    give_stretch(d, p))
		return 0;
	if (b->record.kind != INDEX_BLOCK)
		return give_nothing(d, p);
	return give_data(d, p, until);
}

/* ---- seeking ----------------------------------------------------------- */

/*
 * Seeking in a source on disks.  The blocks are searched from the first one on:
 * runs follow each other, but within a run each substream has its own
 * sequences, so there is nothing to bisect by.  A seek happens after a broken
 * connection, not for each packet.
 */

static void
go(struct source_disk *d, uint64_t number, uint64_t at)
{
	d->number = number < d->range.first ? d->range.first : number;
	d->at = d->number == number ? at : 0;
	d->have = 0;
	d->stretch_told = d->at != 0;
	d->removed_asked = false;
}

static int
disk_seek_number(struct source *s, uint64_t number)
{
	struct source_disk *d = source_disk_of(s);
	int err = d->err ? d->err : open_once(d);

	if (!err)
		go(d, number, 0);
	return err;
}

/* True if the block has the packet, at *at, or lies behind it; false: it lies
 * before it.  A block of rows is one parcel, and only its first packet's
 * sequence is known, so the next block decides. */
static bool
has_packet(const struct source_disk *d, const struct recording_block *b,
	   uint32_t run, uint64_t first, uint64_t *at)
{
	const struct recording_block *next = b + 1;
	bool last = b->record.number + 1 >= d->end;

	*at = 0;
	if (b->record.run != run || b->record.first >= first)
		return b->record.run >= run;
	if (d->rec->shape.store == HEAP_ROW)
		return last || next->record.run != run ||
		       next->record.first > first;
	*at = (first - b->record.first) * d->rec->shape.payload;
	return *at < b->record.bytes;
}

static int
disk_seek(struct source *s, uint32_t run, uint64_t first)
{
	struct source_disk *d = source_disk_of(s);
	int err = d->err ? d->err : open_once(d);
	uint64_t at = 0, passed = 0, i;

	if (err)
		return err;
	for (i = 0; i < d->end; i++) {
		const struct recording_block *b = &d->rec->block[i];

		if (b->record.kind != INDEX_BLOCK ||
		    (d->a.sub >= 0 && b->record.sub != d->a.sub))
			continue;
		if (has_packet(d, b, run, first, &at))
			break;
		passed += i < d->range.first ? 0 : b->record.bytes;
	}
	go(d, i, i < d->end ? at : 0);
	if (!d->facts.bytes_disk)
		d->facts.passed = passed + d->at;
	return 0;
}

static void
step(struct source_disk *d)
{
	d->number++;
	d->at = d->have = 0;
	d->stretch_told = d->removed_asked = d->gone = false;
}

static bool
is_skipped(const struct source_disk *d)
{
	const struct index_record *k = &d->rec->block[d->number].record;

	if (k->kind == RECORDING_UNUSED)
		return true;
	if (k->kind == RECORDING_ABSENT) /* its substream is not known */
		return d->a.sub >= 0 && d->rec->facts.subs > 1;
	return d->a.sub >= 0 && k->sub != d->a.sub;
}

/* True if the block was absent at the last look, and a look since it became
 * settled might find it. */
static bool
is_doubtful(const struct source_disk *d)
{
	return d->number < d->settled && !d->looked &&
	       d->rec->block[d->number].record.kind == RECORDING_ABSENT;
}

/* Gives a parcel for a number that no disk will ever have. */
static void
give_settled(struct source_disk *d, struct parcel *p)
{
	*p = (struct parcel){ .record = { .number = d->number },
			      .err = -ENODATA,
			      .source = &d->source };
	step(d);
}

/* True if a chunk is missing because the whole recording was removed. */
static bool
is_removed(struct source_disk *d, const struct parcel *p)
{
	if (!p->err || !d->gone || d->removed_asked)
		return false;
	d->removed_asked = true;
	return recording_is_removed(d->rec);
}

static int
next_block(struct source_disk *d, struct parcel *p, int64_t until)
{
	int err = give(d, p, until);

	if (err == -EAGAIN)
		step(d);
	if (!err && is_removed(d, p))
		return removed(d);
	return err;
}

/* Goes on after the last known block.  0: *p says that a number is on no disk;
 * -EAGAIN: there may be more now; -ENODATA: the end; or another -errno. */
static int
next_unknown(struct source_disk *d, struct parcel *p, int64_t until)
{
	int err;

	if (d->range.over || (!d->growing && d->number >= d->settled))
		return -ENODATA;
	if (d->number < d->end)
		d->number = d->end; /* the rest is outside of the range */
	if (d->number < d->settled && d->looked) {
		give_settled(d, p);
		return 0;
	}
	err = wait_look(d, until);
	return err ? err : -EAGAIN;
}

static int
disk_next(struct source *s, struct parcel *p, int64_t until)
{
	struct source_disk *d = source_disk_of(s);
	int err = d->err ? d->err : open_once(d);

	clear_timer(d);
	while (!err) {
		if (d->number < d->end && is_doubtful(d)) {
			err = look(d);
			continue;
		}
		if (d->number < d->end && d->number < d->range.end &&
		    is_skipped(d)) {
			step(d);
			continue;
		}
		err = d->number < d->end && d->number < d->range.end
			  ? next_block(d, p, until)
			  : next_unknown(d, p, until);
		if (!err)
			return 0;
		if (err == -EAGAIN)
			err = 0;
	}
	if (err != -ETIMEDOUT && err != -ENODATA && err != -ENOMEM)
		d->err = err;
	return err;
}

/* ---- what it says of itself -------------------------------------------- */

static int
disk_about(struct source *s, struct source_about *about)
{
	const struct source_disk *d = source_disk_of(s);
	const char *fill;

	if (!d->opened)
		return -EAGAIN;
	fill = json_string_value(json_object_get(d->rec->head, "fill"));
	*about = (struct source_about){
		.format = d->format,
		.shape = &d->rec->shape,
		.subs = d->rec->facts.subs,
		.extension = d->rec->facts.extension,
		.start_ns = d->rec->facts.start_ns,
		.zero_fill = (fill && !strcmp(fill, "zero")) ||
			     d->rec->shape.store != HEAP_NONE,
	};
	return 0;
}

static void
disk_facts(struct source *s, struct source_facts *f)
{
	const struct source_disk *d = source_disk_of(s);
	struct pool_reader_facts read;

	*f = d->facts;
	f->number = d->number;
	if (!d->opened)
		return;
	pool_reader_facts(d->reader, &read);
	f->healed = read.healed;
	f->end = d->end;
	f->live = d->growing;
	for (unsigned i = 0; i < d->rec->facts.subs; i++) {
		if (d->a.sub < 0 || d->a.sub == (int)i)
			f->total += d->rec->sub[i].bytes;
	}
}

static int
disk_fill(struct source *s, const struct parcel *p, uint64_t at, uint64_t bytes,
	  uint8_t *data)
{
	struct source_disk *d = source_disk_of(s);

	if (!d->opened || at > p->bytes || bytes > p->bytes - at)
		return -EINVAL;
	recording_select(d->rec, p->record.sub);
	return recording_fill_bytes(d->rec, data, bytes, p->offset + at);
}

static int
disk_fd(struct source *s)
{
	return source_disk_of(s)->timer;
}

static bool
disk_wanted(struct source *s)
{
	(void)s;
	return false;
}

static void
disk_settled(struct source *s, uint64_t end)
{
	struct source_disk *d = source_disk_of(s);

	d->looked = false;
	if (end > d->settled)
		d->settled = end;
}

static const struct fault *
disk_fault(const struct source *s)
{
	return &((const struct source_disk *)s)->fault;
}

static void
finish(struct source *s)
{
	struct source_disk *d = source_disk_of(s);

	if (d->reader)
		pool_position_end(&d->position);
	pool_reader_close(d->reader);
	bits_put(d->bits);
	if (d->rec)
		recording_close(d->rec);
	disks_clear(&d->disks);
	if (d->a.list)
		disk_list_drop(d->a.list);
	if (d->timer > 0)
		close(d->timer);
	free(d->tail);
	free(d);
}

static const struct source_ops ops = {
	.next = disk_next,
	.put = disk_put,
	.seek = disk_seek,
	.seek_number = disk_seek_number,
	.fault = disk_fault,
	.wanted = disk_wanted,
	.fd = disk_fd,
	.facts = disk_facts,
	.close = finish,
	.about = disk_about,
	.fill = disk_fill,
	.settled = disk_settled,
};

int
source_disk_make(struct source **source, const struct source_disk_args *a)
{
	struct source_disk *d = calloc(1, sizeof *d);
	int err;

	if (!d)
		return -ENOMEM;
	d->source.ops = &ops;
	d->a = *a;
	snprintf(d->name, sizeof d->name, "%s", a->name);
	if (a->list)
		disk_list_share(a->list);
	err = disks_copy(&d->disks, a->disks, a->list ? DISK_LIST_MOST : 0);
	d->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (!err && d->timer < 0)
		err = -errno;
	if (err)
		finish(&d->source);
	else
		*source = &d->source;
	return err;
}
