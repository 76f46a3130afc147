/* SPDX-License-Identifier: MIT */
/*
 * The source of the next block:
 *
 *   the tap has it                            memory
 *   it is settled: durable, or lost           disk (or it is on none)
 *   it is not settled                         wait: it will be one of the above
 *   there is no such number, and no more      the end
 *
 * So it does not matter why the tap lacks a block: not sealed yet, no room, or
 * revoked.  The recorder signals each change through the tap's descriptor, so
 * nothing is polled.
 *
 * The source never keeps a recording's memory while it waits for a disk, which
 * may take any time: it asks for all blocks of the tap to be put first.
 *
 * Catching up.  A block is durable one sync after it was written (`durable`, 5
 * s or so), and the tap has only the newest few blocks, which may span less.  A
 * transfer that reads from disk would stay that far behind for ever.  So it
 * asks the disks to sync (output_hurry): each time the distance shrinks, until
 * the tap has the next block.  It asks only HURRIES times, since each sync
 * costs the recorder a little; a transfer that is not there by then is too
 * slow, and tries again after REST.
 *
 * When the recorder is short of memory, its disks are busy, and a transfer that
 * reads from them makes that worse: then it reads one block a second.
 */
#include "flow/source/source_live.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "flow/memory/block_record.h"
#include "flow/memory/tap.h"
#include "store/recording/recording.h"

/* Last blocks that a seek finds without asking a disk. */
enum { LIVE_PAST = 1024 };

struct live_block {
	uint64_t number, first, offset;
	uint32_t run;
	uint16_t sub;
};

/* How far a substream was given, and where in its file that is. */
struct live_sub {
	bool known;
	uint32_t run;
	uint64_t next;	 /* relative sequence behind the last slot given */
	uint64_t offset; /* bytes, in the substream's file */
};

struct source_live {
	struct source head;
	struct output *output; /* a reference is held */
	struct tap *tap;
	struct source *disk;
	int64_t start_ns;
	int sub;
	int epoll, timer;
	int watched; /* the descriptor of `disk` that is in epoll; -1: none */
	struct format_shape shape;

	uint64_t number; /* number of the next block */
	uint64_t last;	 /* number of the last parcel that came from memory */
	/* Number that `disk` gives next; UINT64_MAX: not known. */
	uint64_t disk_at;
	uint64_t told; /* what source_ops::settled of `disk` was told last */

	/* A parcel from disk that waits until the hole before it was given. */
	struct parcel held;

	/* Steady ns since when it waits for `number`; 0: it does not wait. */
	int64_t waits;
	int64_t hurried; /* steady ns: when a sync was asked for last */
	/* Steady ns: reads no block from disk before then while the recorder is
	 * short of memory. */
	int64_t yields;
	unsigned hurries; /* syncs asked for while catching up this time */
	unsigned reads;	  /* blocks taken from the tap and not yet put */

	bool shaped, about_told;
	bool holds;  /* `held` is one */
	bool inside; /* the block is read from disk, and a part was given */
	/* Blocks of the tap must be put before a disk is read. */
	bool wants_back;
	bool fresh; /* no other parcel was asked for since `last` */
	/* Since `last`, a block was put that the recorder wants back. */
	bool gives_back;
	/* A number without a block was recorded, but its disk is gone.  Its
	 * substream is not known, so the next hole is taken for it. */
	bool away;

	struct live_sub *of;
	/* Given last, in ascending order; pasts of them in all. */
	struct live_block past[LIVE_PAST];
	uint64_t pasts;

	uint64_t from_memory, from_disk;
	uint64_t passed; /* see source_facts */
};

static struct source_live *
live_of(struct source *source)
{
	return (struct source_live *)source;
}

/* ---- parcels ----------------------------------------------------------- */

/*
 * The facts in a parcel besides its data.
 *
 * A block's offset in its substream's file depends on everything before it,
 * recorded or not.  A number that the recorder lost is known only by the next
 * block of the run, since slots are missing between the two.  They are sent as
 * they would be read (recording.h): as a parcel without data, with the number
 * just before that block.  If the recorder did not lose them but the disk that
 * has them is away, they are packets that cannot be read.
 */

/* ---- what was given --------------------------------------------------- */

static struct live_block *
past(struct source_live *s, uint64_t back)
{
	return &s->past[(s->pasts - 1 - back) % LIVE_PAST];
}

static uint64_t
pasts_known(const struct source_live *s)
{
	return s->pasts < LIVE_PAST ? s->pasts : LIVE_PAST;
}

static void
past_add(struct source_live *s, const struct parcel *p)
{
	const struct index_record *r = &p->record;

	if (s->pasts && past(s, 0)->number == r->number)
		return;
	s->past[s->pasts++ % LIVE_PAST] =
	    (struct live_block){ .number = r->number,
				 .first = r->first,
				 .offset = p->offset,
				 .run = r->run,
				 .sub = r->sub };
}

static void
live_goto(struct source_live *s, uint64_t number)
{
	while (pasts_known(s) && past(s, 0)->number >= number) {
		struct live_block *b = past(s, 0);

		s->of[b->sub].offset = b->offset;
		s->of[b->sub].next = b->first;
		s->of[b->sub].run = b->run;
		s->pasts--;
	}
	if (s->holds)
		source_put(&s->held);
	s->holds = s->inside = s->fresh = false;
	s->number = number;
	s->waits = 0;
	tap_pass(s->tap, number);
}

static bool
live_seek(struct source_live *s, uint32_t run, uint64_t first)
{
	for (uint64_t i = 0; i < pasts_known(s); i++) {
		const struct live_block *b = past(s, i);

		if (b->run > run || (b->run == run && b->first > first))
			continue;
		live_goto(s, b->number);
		return true;
	}
	return false;
}

/* ---- where it lies ---------------------------------------------------- */

/* Bytes of a slot in the file; 0 for rows, which have no slots. */
static uint32_t
slot_bytes(const struct source_live *s)
{
	const struct format_shape *shape = s->output->shape;

	return shape->store == HEAP_ROW ? 0 : shape->payload;
}

static uint64_t
slots_of(const struct source_live *s, const struct parcel *p)
{
	if (p->err && !p->bytes)
		return p->record.missing;
	return slot_bytes(s) ? (p->at + p->bytes) / slot_bytes(s) : 0;
}

/* Turns a parcel of missing packets into one of packets that were recorded and
 * cannot be read. */
static void
unreadable(struct parcel *p)
{
	p->err = -EIO;
	p->record.present += p->record.missing;
	p->record.missing = 0;
}

/* Looks for slots of the run that were not given before this record.  False:
 * there are none; true: *p is a parcel for them. */
static bool
hole(struct source_live *s, const struct index_record *r, uint64_t at,
     struct parcel *p)
{
	struct live_sub *sub = &s->of[r->sub];
	uint64_t slots = r->first - sub->next;

	if (!sub->known || sub->run != r->run || at || !slot_bytes(s) ||
	    r->first <= sub->next || slots > UINT32_MAX)
		return false;
	*p = (struct parcel){ .record = index_gap(r, (uint32_t)slots),
			      .bytes = slots * slot_bytes(s),
			      .offset = sub->offset,
			      .err = -ENODATA,
			      .source = &s->head };
	if (s->away)
		unreadable(p);
	s->away = false;
	past_add(s, p);
	sub->next = r->first;
	sub->offset += p->bytes;
	return true;
}

static void
given(struct source_live *s, const struct parcel *p)
{
	const struct index_record *r = &p->record;
	struct live_sub *sub = &s->of[r->sub];

	/* The substream of such a number is not known. */
	if (p->err && !p->bytes && r->kind != INDEX_GAP)
		return;
	past_add(s, p);
	sub->known = true;
	sub->run = r->run;
	sub->next = r->first + slots_of(s, p);
	sub->offset = p->offset + p->bytes;
}

/* ---- parcels ---------------------------------------------------------- */

static bool
live_give_block(struct source_live *s, const struct block *b, uint64_t number,
		struct parcel *p)
{
	struct index_record r =
	    block_record(s->output->format, s->output->shape, b);
	bool gap = number < b->number;

	if (gap)
		r = index_gap(&r, (uint32_t)b->gap);
	if (hole(s, &r, 0, p)) {
		p->base = b->base;
		return false;
	}
	*p = (struct parcel){ .record = r,
			      .base = b->base,
			      .offset = s->of[r.sub].offset,
			      .source = &s->head };
	if (gap) {
		p->err = -ENODATA;
		p->bytes = b->gap * slot_bytes(s);
	} else {
		p->data = b->data;
		p->bytes = block_bytes(b);
		p->block = b;
		p->own = (void *)b;
		if (slot_bytes(s))
			p->present = b->present;
		s->from_memory += p->bytes;
	}
	given(s, p);
	s->number = number + 1;
	return !gap;
}

static bool
live_give_disk(struct source_live *s, struct parcel *p)
{
	const struct index_record *r = &p->record;
	struct parcel before;

	/* No disk has the block: it was lost, or its disk is gone. */
	if (p->err == -ENODATA && r->kind == RECORDING_ABSENT &&
	    !output_is_lost(s->output, r->number)) {
		s->away = true;
		if (p->bytes)
			unreadable(p);
	}
	if (p->record.sub >= s->output->subs)
		return false;
	if (hole(s, &p->record, p->at, &before)) {
		before.base = p->base;
		s->held = *p;
		s->holds = true;
		*p = before;
		return true;
	}
	if (!p->err)
		s->from_disk += p->bytes;
	given(s, p);
	return false;
}

#define PATIENCE (50 * NS_MS)	  /* wait before the first sync is asked for */
#define AGAIN	 (2 * NS_MS)	  /* wait before the next one */
#define REST	 (10 * NS_SECOND) /* from one catching up to the next */
enum { HURRIES = 8 };

/* ---- waiting ---------------------------------------------------------- */

/* Makes the next poll return at this time (steady ns) at the latest. */
static void
timer_set(struct source_live *s, int64_t at)
{
	struct itimerspec t = { .it_value = { .tv_sec = at / NS_SECOND,
					      .tv_nsec = at % NS_SECOND } };

	timerfd_settime(s->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

static void
timer_clear(struct source_live *s)
{
	uint64_t n;

	if (read(s->timer, &n, sizeof n) < 0 && errno != EAGAIN)
		timer_set(s, clock_steady() + NS_SECOND);
}

/* Puts the disk source's descriptor into epoll; it may change when that source
 * is opened. */
static void
watch(struct source_live *s, int fd)
{
	struct epoll_event e = { .events = EPOLLIN };

	if (s->watched == fd)
		return;
	if (s->watched >= 0)
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->watched, NULL);
	s->watched = -1;
	if (fd >= 0 && epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) == 0)
		s->watched = fd;
}

static void
sleep_until(struct source_live *s, int64_t until)
{
	int64_t left = until - clock_steady();
	struct pollfd p = { .fd = s->epoll, .events = POLLIN };

	if (left > NS_SECOND)
		left = NS_SECOND;
	if (left > 0)
		poll(&p, 1, (int)((left + NS_MS - 1) / NS_MS));
}

/* Asks for a sync if the next block is sealed but neither in memory nor
 * durable.  The count of syncs starts anew when memory was reached, or after
 * REST. */
static void
hurry(struct source_live *s, int64_t now)
{
	struct tap_facts f;
	int64_t patience;

	tap_facts(s->tap, &f);
	if (!s->waits)
		s->waits = now;
	if (now - s->hurried > REST)
		s->hurries = 0;
	patience = s->hurries ? AGAIN : PATIENCE;
	if (f.end <= s->number || s->hurries == HURRIES)
		return;
	if (now - s->waits < patience) {
		timer_set(s, s->waits + patience);
		return;
	}
	/* One sync for each wait. */
	if (s->hurried > s->waits)
		return;
	output_hurry(s->output, now);
	s->hurries++;
	s->hurried = now;
}

/* ---- from disk -------------------------------------------------------- */

static bool
yields(struct source_live *s)
{
	int64_t now = clock_steady();

	if (s->inside || !tap_short(s->tap) || now >= s->yields)
		return false;
	timer_set(s, now + PATIENCE < s->yields ? now + PATIENCE : s->yields);
	return true;
}

static int
disk_goto(struct source_live *s, uint64_t settled)
{
	const struct source_ops *ops = s->disk->ops;
	int err = 0;

	if (!s->inside && s->disk_at != s->number) {
		err = ops->seek_number(s->disk, s->number);
		s->told = 0;
	}
	if (err)
		return err;
	s->disk_at = s->number;
	if (ops->settled && settled > s->told)
		ops->settled(s->disk, settled);
	s->told = settled;
	return 0;
}

static void
disk_gave(struct source_live *s, const struct parcel *p)
{
	const struct index_record *r = &p->record;

	s->inside = p->at + p->bytes < r->bytes;
	s->number = s->disk_at = r->number + !s->inside;
	s->waits = 0;
	s->yields = clock_steady() + NS_SECOND;
	tap_pass(s->tap, s->number);
}

/* Skips numbers that no disk has, and none will. */
static int
disk_lacks(struct source_live *s, uint64_t settled)
{
	if (settled <= s->number)
		return -EAGAIN;
	live_goto(s, settled);
	s->disk_at = UINT64_MAX;
	return -EINTR;
}

/* Called while no disk has a folder of the recording.  Blocks from before the
 * recording was continued exist once a folder is opened, so those are waited
 * for. */
static int
no_folder(struct source_live *s, uint64_t settled, bool over)
{
	if (s->number >= s->output->first_number || over)
		return disk_lacks(s, settled);
	timer_set(s, clock_steady() + PATIENCE);
	return -EAGAIN;
}

static int
disk_next(struct source_live *s, struct parcel *p, uint64_t settled)
{
	int err;

	if (s->reads) {
		s->wants_back = true;
		tap_poke(s->tap);
		return -EAGAIN;
	}
	err = disk_goto(s, settled);
	if (!err)
		err = s->disk->ops->next(s->disk, p, 0);
	watch(s, s->disk->ops->fd(s->disk));
	if (err == -ETIMEDOUT) {
		if (s->watched < 0)
			timer_set(s, clock_steady() + PATIENCE);
		return -EAGAIN;
	}
	if (err)
		return err;
	disk_gave(s, p);
	live_give_disk(s, p);
	return 0;
}

/* ---- from memory ------------------------------------------------------ */

static int
memory_next(struct source_live *s, struct parcel *p)
{
	struct block *b = tap_take(s->tap, s->number);
	bool skip;

	if (!b)
		return -EAGAIN;
	skip = s->sub >= 0 && b->sub != s->sub;
	if (!skip && live_give_block(s, b, s->number, p)) {
		s->reads++;
		b = NULL;
	}
	if (!skip)
		s->last = p->record.number;
	s->fresh = !skip;
	if (skip)
		s->number = b->number + 1;
	if (b)
		tap_put(s->tap, b);
	tap_pass(s->tap, s->number);
	watch(s, -1);
	s->waits = 0;
	s->hurries = 0;
	return skip ? -EINTR : 0;
}

/* ---- the next one ----------------------------------------------------- */

static int
held_give(struct source_live *s, struct parcel *p)
{
	*p = s->held;
	s->holds = false;
	live_give_disk(s, p);
	return 0;
}

/* Looks once for the next parcel.  0; -EAGAIN: none yet; -EINTR: look again;
 * -ENODATA: the end; or another -errno. */
static int
look(struct source_live *s, struct parcel *p)
{
	uint64_t settled, end;
	bool over;
	int err = -EAGAIN;

	if (s->holds)
		return held_give(s, p);
	if (!s->inside)
		err = memory_next(s, p);
	if (err != -EAGAIN)
		return err;
	over = output_over(s->output, &end);
	settled = output_settled(s->output, s->number);
	if (s->number >= end && !s->inside)
		return over ? -ENODATA : -EAGAIN;
	if (settled <= s->number && !s->inside) {
		watch(s, -1);
		hurry(s, clock_steady());
		return -EAGAIN;
	}
	if (!atomic_load(&s->output->folders))
		return no_folder(s, settled, over);
	if (!over && yields(s))
		return -EAGAIN;
	err = disk_next(s, p, settled);
	return err == -ENODATA ? disk_lacks(s, settled) : err;
}

/* True once: when the shape of the data has become known.  The sender then asks
 * about() and opens its connection, and looking up the peer's name may take
 * long: no block may be kept in memory meanwhile. */
static bool
is_news(struct source_live *s)
{
	bool was = s->shaped;

	if (!was)
		s->shaped = output_learned(s->output, &s->shape);
	if (was || !s->shaped || s->about_told)
		return false;
	tap_poke(s->tap);
	return true;
}

static int
live_next(struct source *source, struct parcel *p, int64_t until)
{
	struct source_live *s = live_of(source);
	int err;

	for (;;) {
		tap_clear(s->tap);
		timer_clear(s);
		if (tap_wanted(s->tap) || (s->wants_back && s->reads))
			return -ETIMEDOUT;
		if (is_news(s))
			return -ETIMEDOUT;
		s->fresh = s->wants_back = s->gives_back = false;
		err = look(s, p);
		if (err == -EINTR)
			continue;
		if (err != -EAGAIN || clock_steady() >= until)
			break;
		if (s->wants_back)
			break;
		sleep_until(s, until);
	}
	return err == -EAGAIN ? -ETIMEDOUT : err;
}

/* Puts a parcel.  When the recorder wanted memory back, the last parcel may be
 * put before it was used up; the source then gives that block again. */
static void
live_put(struct source *source, struct parcel *p)
{
	struct source_live *s = live_of(source);
	uint64_t number = p->record.number;

	if (p->own) {
		s->reads--;
		s->gives_back |= tap_put(s->tap, p->own);
	}
	p->own = NULL;
	if (s->gives_back && s->fresh && s->last == number)
		live_goto(s, number);
}

static bool
live_wanted(struct source *source)
{
	struct source_live *s = live_of(source);

	return tap_wanted(s->tap) || (s->wants_back && s->reads);
}

/* ---- making, describing, moving and closing it ------------------------- */

/* The functions of a live source that do not give data: how it is made,
 * described, moved and closed. */

static int
live_fd(struct source *source)
{
	return live_of(source)->epoll;
}

static int
live_seek_number(struct source *source, uint64_t number)
{
	live_goto(live_of(source), number);
	return 0;
}

/* Goes to a packet.  One that was given long ago is found by the disk
 * source. */
static int
live_seek_packet(struct source *source, uint32_t run, uint64_t first)
{
	struct source_live *s = live_of(source);
	struct source_facts f;
	int err;

	if (live_seek(s, run, first))
		return 0;
	err = s->disk->ops->seek(s->disk, run, first);
	if (err)
		return err;
	s->disk->ops->facts(s->disk, &f);
	if (!s->from_memory && !s->from_disk)
		s->passed = f.passed;
	live_goto(s, f.number);
	s->disk_at = UINT64_MAX;
	return 0;
}

static void
live_facts(struct source *source, struct source_facts *f)
{
	struct source_live *s = live_of(source);
	struct source_facts disk = { 0 };
	struct tap_facts tap;

	s->disk->ops->facts(s->disk, &disk);
	tap_facts(s->tap, &tap);
	*f = (struct source_facts){ .bytes_memory = s->from_memory,
				    .bytes_disk = s->from_disk,
				    .number = s->number,
				    .total = atomic_load(&s->output->bytes),
				    .revoked = tap.revoked + tap.skipped,
				    .unreadable = disk.unreadable,
				    .healed = disk.healed,
				    .passed = s->passed };
	f->live = !output_over(s->output, &f->end);
}

static const struct fault *
live_fault(const struct source *source)
{
	const struct source *disk = ((const struct source_live *)source)->disk;

	return disk->ops->fault ? disk->ops->fault(disk) : NULL;
}

/* Asks the disk source.  If the recording ended without a single block, its
 * disks have to be looked at first to know what its data would have been. */
static int
disk_about(struct source_live *s, struct source_about *about)
{
	struct source *disk = s->disk;
	int err = disk->ops->about(disk, about);
	uint64_t end;

	if (err != -EAGAIN || !output_over(s->output, &end))
		return err;
	err = disk->ops->seek_number(disk, 0);
	return err ? err : disk->ops->about(disk, about);
}

static int
live_about(struct source *source, struct source_about *about)
{
	struct source_live *s = live_of(source);
	struct output *o = s->output;
	int err = 0;

	*about = (struct source_about){ 0 };
	if (!s->shaped)
		s->shaped = output_learned(o, &s->shape);
	if (!s->shaped) {
		err = disk_about(s, about);
	} else {
		about->format = o->format;
		about->shape = &s->shape;
		about->extension = o->format->extension;
	}
	about->subs = o->subs;
	about->start_ns = s->start_ns;
	about->zero_fill = o->sub[0].fill.kind == FILL_ZERO;
	about->live = true;
	s->about_told = !err;
	return err;
}

static void
live_close(struct source *source)
{
	struct source_live *s = live_of(source);

	if (s->holds)
		source_put(&s->held);
	source_close(s->disk);
	output_tap_close(s->output, s->tap);
	output_drop(s->output);
	if (s->timer >= 0)
		close(s->timer);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s->of);
	free(s);
}

static const struct source_ops live_ops = {
	.next = live_next,
	.put = live_put,
	.seek = live_seek_packet,
	.seek_number = live_seek_number,
	.wanted = live_wanted,
	.fd = live_fd,
	.facts = live_facts,
	.close = live_close,
	.fault = live_fault,
	.about = live_about,
};

static int
fds_make(struct source_live *s)
{
	struct epoll_event e = { .events = EPOLLIN };

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->epoll < 0 || s->timer < 0 ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->timer, &e) < 0 ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, tap_fd(s->tap), &e) < 0)
		return -errno;
	return 0;
}

static int
refused(int err, struct fault *fault)
{
	if (err == -EMFILE)
		return fault_set(fault, err, "busy",
				 "no file descriptor is left");
	return fault_set(fault, err, "no-memory", "out of memory");
}

int
source_live_make(struct source **source, const struct source_live_args *a,
		 struct fault *fault)
{
	struct source_live *s = calloc(1, sizeof *s);
	int err;

	if (!s) {
		source_close(a->disk);
		return refused(-ENOMEM, fault);
	}
	s->head.ops = &live_ops;
	s->output = a->output;
	output_hold(s->output);
	s->disk = a->disk;
	s->start_ns = a->start_ns;
	s->sub = a->sub;
	s->epoll = s->timer = s->watched = -1;
	s->disk_at = UINT64_MAX;
	s->of = calloc(s->output->subs, sizeof *s->of);
	err = s->of ? output_tap_open(s->output, a->pool, &s->tap) : -ENOMEM;
	if (!err)
		err = fds_make(s);
	if (err) {
		live_close(&s->head);
		return refused(err, fault);
	}
	tap_pass(s->tap, 0);
	*source = &s->head;
	return 0;
}
