/* SPDX-License-Identifier: MIT */
/* The functions of a live source that do not give data: how it is made,
 * described, moved and closed. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "flow/source/source_live_priv.h"

static struct source_live *
live_of(struct source *source)
{
	return (struct source_live *)source;
}

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
	err = s->of ? output_tap_open(s->output, a->stock, &s->tap) : -ENOMEM;
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
