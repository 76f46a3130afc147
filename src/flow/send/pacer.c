/* SPDX-License-Identifier: MIT */
/*
 * Two points in time, which each packet moves on by its share: `next` at the
 * rate, `peak` at 5/4 of it.  A packet may go when both have passed.  The
 * distance between `next` and now is what is owed, limited to PACER_CATCH; that
 * between `peak` and now is what may leave together, limited to PACER_BURST.
 * So a thread that slept too long makes up for it in bursts that a switch has
 * room for, and a thread that slept much too long does not.
 *
 *        now - CATCH     now - BURST        now
 *   ----------+---------------+--------------+-------> time
 *             |<--- next: within here ------>|  + what is due later
 *                             |<--- peak --->|
 *
 * Nothing here spins.  A sleep of Linux ends some 5 us late if the thread asks
 * for that (PR_SET_TIMERSLACK), else 60 us.  Packets are looked at once in
 * PACER_SLICE, and all that became due go together; so a late wake-up makes a
 * burst longer by that much of the rate (10 us at 8 Gb/s: one packet of 8 kB),
 * and does not change the mean.  Spinning would take a whole core from the
 * recording for that.
 *
 * Times of packets are kept to 2^-32 ns: at 8 Gb/s a packet of 8 kB takes 8000
 * ns and a fraction, which in whole ns is wrong by 1e-4, but a packet of 100
 * bytes at 10 Gb/s would be wrong by 1 %.
 */
#include "flow/send/pacer.h"
#include "flow/send/sender.h"

/* A time in units of 2^-32 ns. */
typedef __int128 fine;

static fine
fine_of(int64_t ns)
{
	return (fine)ns * ((fine)1 << 32);
}

/* The time that one packet takes; 0: the rate is unlimited, or not known
 * yet. */
static fine
cost(const struct pacer *p, uint32_t bytes)
{
	if (p->rate == SEND_RATE_DATA)
		return fine_of(p->every) * (p->brisk ? 15 : 16) / 16;
	if (p->rate == SEND_RATE_FREE)
		return 0;
	return fine_of(8000000000) * bytes / p->rate;
}

void
pacer_init(struct pacer *p, uint64_t rate)
{
	*p = (struct pacer){ .rate = rate };
}

void
pacer_rest(struct pacer *p)
{
	p->begun = p->anchored = false;
}

void
pacer_rate(struct pacer *p, uint64_t rate, int64_t now)
{
	p->rate = rate;
	p->level = 0;
	p->seen = now;
	pacer_rest(p);
}

static void
next_set(struct pacer *p, int64_t ns)
{
	p->next = ns;
	p->part = 0;
}

/* Starts the two points at now, and limits how far they are behind. */
static void
settle(struct pacer *p, int64_t now)
{
	if (!p->begun) {
		p->begun = true;
		p->peak = now;
		next_set(p, now);
	}
	if (p->next < now - PACER_CATCH) {
		p->late += now - PACER_CATCH - p->next;
		next_set(p, now - PACER_CATCH);
	}
	if (p->peak < now - PACER_BURST)
		p->peak = now - PACER_BURST;
}

void
pacer_data(struct pacer *p, int64_t time_ns, int64_t every, bool alone,
	   int64_t now)
{
	int64_t due;

	if (p->rate != SEND_RATE_DATA)
		return;
	p->every = time_ns && every > 0 ? every : 0;
	if (!p->every || alone)
		return;
	settle(p, now);
	if (!p->anchored || p->anchor + time_ns > now + PACER_JUMP)
		p->anchor = (p->next > now ? p->next : now) - time_ns;
	p->anchored = true;
	due = p->anchor + time_ns;
	if (due < now - PACER_CATCH) {
		p->late += now - PACER_CATCH - due;
		due = now - PACER_CATCH;
		p->anchor = due - time_ns;
	}
	next_set(p, due);
}

/* Returns how many packets, `each` apart from `line` on, are due by `until`. */
static uint64_t
before(fine line, fine each, int64_t until)
{
	fine room = fine_of(until) - line;

	return room < 0 ? 0 : (uint64_t)(room / each) + 1;
}

uint32_t
pacer_may(struct pacer *p, uint32_t bytes, uint32_t most, int64_t ahead,
	  int64_t now)
{
	fine each = cost(p, bytes);
	uint64_t n, peak;

	settle(p, now);
	if (each <= 0)
		return most;
	n = before(fine_of(p->next) + p->part, each, now + ahead);
	peak = before(fine_of(p->peak), each * 4 / 5 + 1, now + ahead);
	n = n < peak ? n : peak;
	return n < most ? (uint32_t)n : most;
}

static int64_t
line(const struct pacer *p)
{
	return p->next > p->peak ? p->next : p->peak;
}

int64_t
pacer_due(const struct pacer *p)
{
	return p->begun && cost(p, 1) > 0 ? line(p) : 0;
}

int64_t
pacer_every(const struct pacer *p, uint32_t bytes)
{
	fine each = cost(p, bytes);

	if (p->next < p->peak)
		each = each * 4 / 5;
	return (int64_t)(each >> 32);
}

/* Adds sent packets to the bucket, which leaks at 5/4 of their own rate. */
static void
count_burst(struct pacer *p, double bytes, double each_ns, uint32_t packets,
	    int64_t now)
{
	double leak = bytes / each_ns * 5 / 4 * (double)(now - p->seen);

	p->level = leak < p->level ? p->level - leak : 0;
	p->level += bytes * packets;
	p->seen = now;
	if (p->level > (double)p->burst)
		p->burst = (uint64_t)p->level;
}

void
pacer_went(struct pacer *p, uint32_t packets, uint32_t bytes, int64_t now)
{
	fine each = cost(p, bytes), next;

	if (each <= 0 || !packets)
		return;
	next = fine_of(p->next) + p->part + each * packets;
	p->next = (int64_t)(next >> 32);
	p->part = (uint64_t)next & UINT32_MAX;
	p->peak += (int64_t)((each * 4 / 5 * packets) >> 32);
	if (p->brisk)
		p->anchor -= p->every * packets / 16;
	count_burst(p, bytes, (double)each / 0x1p32, packets, now);
}

int64_t
pacer_wake(const struct pacer *p, int64_t ahead, int64_t now)
{
	int64_t wake = line(p) - ahead / 2;

	return wake > now + PACER_SLICE ? wake : now + PACER_SLICE;
}
