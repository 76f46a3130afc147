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
#include "flow/source/source_live_priv.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"

#define PATIENCE (50 * NS_MS)	  /* wait before the first sync is asked for */
#define AGAIN	 (2 * NS_MS)	  /* wait before the next one */
#define REST	 (10 * NS_SECOND) /* from one catching up to the next */
enum { HURRIES = 8 };

static struct source_live *
live_of(struct source *source)
{
	return (struct source_live *)source;
}

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

int
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
void
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

bool
live_wanted(struct source *source)
{
	struct source_live *s = live_of(source);

	return tap_wanted(s->tap) || (s->wants_back && s->reads);
}
