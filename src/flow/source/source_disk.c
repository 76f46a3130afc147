/* SPDX-License-Identifier: MIT */
/*
 * The position of a source on disks, and what comes next.  It knows the blocks
 * that the recording had at its last look; when it has given all of them and
 * the recording grows, it looks again, but not more often than is worth the
 * cost.
 *
 * A transfer that waits sleeps on a timer, which goes off for the reader's
 * data, or for the next look.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "flow/source/source_disk_priv.h"
#include "store/recording/recording_priv.h"

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
int
source_disk_looked(struct source_disk *d)
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

	if (d->reader)
		reader_watch(d->reader);
	recording_settle(d->rec, d->settled);
	err = recording_refresh(d->rec);
	if (err == -EIDRM || (!err && recording_is_removed(d->rec)))
		return removed(d);
	if (!err)
		err = source_disk_looked(d);
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

/* ---- next -------------------------------------------------------------- */

void
source_disk_step(struct source_disk *d)
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
	source_disk_step(d);
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
	int err = source_disk_give(d, p, until);

	if (err == -EAGAIN)
		source_disk_step(d);
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
	int err = d->err ? d->err : source_disk_open(d);

	clear_timer(d);
	while (!err) {
		if (d->number < d->end && is_doubtful(d)) {
			err = look(d);
			continue;
		}
		if (d->number < d->end && d->number < d->range.end &&
		    is_skipped(d)) {
			source_disk_step(d);
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

	*f = d->facts;
	f->number = d->number;
	if (!d->opened)
		return;
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

const struct fault *
source_disk_fault(const struct source *s)
{
	return &((const struct source_disk *)s)->fault;
}

static void
finish(struct source *s)
{
	struct source_disk *d = source_disk_of(s);

	if (d->reader)
		reader_way_end(&d->way);
	reader_close(d->reader);
	source_disk_bits_put(d->bits);
	if (d->rec)
		recording_close(d->rec);
	disks_clear(&d->disks);
	if (d->timer > 0)
		close(d->timer);
	free(d->tail);
	free(d);
}

static const struct source_ops ops = {
	.next = disk_next,
	.put = source_disk_put,
	.seek = source_disk_seek,
	.seek_number = source_disk_seek_number,
	.fault = source_disk_fault,
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
	err = disks_copy(&d->disks, a->disks);
	d->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (!err && d->timer < 0)
		err = -errno;
	if (err)
		finish(&d->source);
	else
		*source = &d->source;
	return err;
}
