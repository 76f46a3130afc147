/* SPDX-License-Identifier: MIT */
/*
 * Packets go out in bursts of a millisecond's worth, which are cut into
 * trains.  A burst begins at the time that its first packet has in the ideal
 * stream, counted from the start, so that errors of sleeping do not add up.
 * Lost packets take their time too: the sender loses none, the network does.
 *
 * Who was kept from running catches up, but no more than a tenth of a
 * second: what is later than that makes the stream late for good.  A longer
 * catch-up is a burst that no switch and no receiver would be asked to bear.
 */
#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "cli/gen_sender.h"

#define SECOND	 1000000000
#define BURST	 (SECOND / 1000)
#define CATCH_UP (SECOND / 10)

static int64_t
due_ns(const struct gen_sender *s, uint64_t packet)
{
	return s->start_ns + (int64_t)((double)packet * s->packet_ns);
}

static void
wait_until(const struct gen_sender *s, int64_t ns)
{
	const struct timespec t = { ns / SECOND, ns % SECOND };

	while (!*s->stop && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t,
					    NULL) == EINTR)
		;
}

static void
burst_begin(struct gen_sender *s)
{
	uint64_t packet = s->plan->next;
	int64_t due = due_ns(s, packet);
	int64_t late = clock_steady() - due;

	if (late < 0)
		wait_until(s, due);
	else if (late > CATCH_UP)
		s->start_ns += late;
	s->burst_end = packet + s->burst;
}

/* Frames lie in a ring: packets of one train are less than it apart. */
static bool
fits(const struct gen_sender *s, uint64_t packet, uint64_t *low, uint64_t *high)
{
	uint64_t from = packet < *low ? packet : *low;
	uint64_t to = packet > *high ? packet : *high;

	if (to - from >= s->frames->ready)
		return false;
	*low = from;
	*high = to;
	return true;
}

static bool
packet_take(struct gen_sender *s, uint64_t *packet)
{
	if (!s->waits)
		return gen_plan_next(s->plan, packet);
	s->waits = false;
	*packet = s->waiting;
	return true;
}

/* At least one packet, unless the plan has ended. */
static unsigned
train_make(struct gen_sender *s, struct iovec *iov)
{
	uint64_t packet, low = 0, high = 0;
	unsigned n = 0;

	while (n < s->socket->train && packet_take(s, &packet)) {
		if (!n)
			low = high = packet;
		if (!fits(s, packet, &low, &high)) {
			s->waits = true;
			s->waiting = packet;
			break;
		}
		iov[n].iov_base = gen_frames_make(s->frames, packet);
		iov[n++].iov_len = s->frames->bytes;
		if (s->rate && s->plan->next >= s->burst_end)
			break;
	}
	return n;
}

static void
start(struct gen_sender *s)
{
	double bits = 8.0 * s->frames->bytes;

	s->bytes = 0;
	s->waits = false;
	s->burst_end = 0;
	s->packet_ns = s->rate ? bits * SECOND / (double)s->rate : 0;
	s->burst = s->rate ? (uint64_t)(BURST / s->packet_ns) : 0;
	if (!s->burst)
		s->burst = 1;
	s->start_ns = clock_steady();
}

static bool
is_over(const struct gen_sender *s, int64_t since)
{
	return *s->stop || (s->most_ns && clock_steady() - since >= s->most_ns);
}

int
gen_sender_run(struct gen_sender *s)
{
	struct iovec iov[GEN_TRAIN];
	int64_t since;
	unsigned n;
	int err = 0;

	start(s);
	since = s->start_ns;
	while (!err) {
		if (s->rate && s->plan->next >= s->burst_end)
			burst_begin(s);
		n = train_make(s, iov);
		if (!n)
			break;
		err = gen_socket_send(s->socket, iov, n);
		if (!err)
			s->bytes += (uint64_t)n * s->frames->bytes;
		if (is_over(s, since))
			gen_plan_end(s->plan);
	}
	s->elapsed_ns = clock_steady() - since;
	return err;
}
