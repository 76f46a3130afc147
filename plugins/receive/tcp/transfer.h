/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_TCP_TRANSFER_H
#define SPATE_RECEIVE_TCP_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/frame.h"

/*
 * Remembers which packets of a transfer were handed to the core: all below
 * `low` (or they will never come), and ranges above it.  A sender that lost a
 * connection sends again from `low` on, and no packet is handed over twice.
 *
 * Positions are those of transfer.h; those of one transfer are less than 2^63
 * apart.
 */
enum { TOLD_RANGES = 256 };

struct told_range {
	uint64_t from, to; /* `to` is behind the last position */
};

struct told {
	uint64_t low;
	unsigned n;
	/* sorted, disjoint, above low */
	struct told_range range[TOLD_RANGES];
};

/* Forgets everything and begins at `low`. */
void told_clear(struct told *t, uint64_t low);

/*
 * For n packets from `at` on: told_already() returns how many of the first were
 * handed over; if the first was not, told_not_yet() returns how many of the
 * first were not.
 */
unsigned told_already(const struct told *t, uint64_t at, unsigned n);
unsigned told_not_yet(const struct told *t, uint64_t at, unsigned n);

/*
 * Adds n packets.  If there are more ranges than can be kept, the lowest is
 * forgotten; its packets may then be handed over twice, and the core counts
 * them as duplicates.
 */
void told_add(struct told *t, uint64_t at, unsigned n);

/*
 * Raises `low`: no packet below it is awaited any more.  A smaller value is
 * ignored.
 */
void told_rise(struct told *t, uint64_t low);

/*
 * A transfer is what one sender sends over one or more connections.  This
 * module decides which connection may hand packets to the core, so that packets
 * come nearly in order: a connection that is ahead waits for those that lag.  A
 * connection that has brought nothing for a second (TRANSFER_PATIENCE) is not
 * waited for, because packets that died with a connection must not stop the
 * rest.
 *
 * A sender that sends lost packets again gives the time at which it began
 * (`born`).  With such a sender no connection goes ahead at all: only the
 * packet at the lowest missing position may be handed over.
 *
 * A seat is a connection's index, from 0.  A position is a sequence as the core
 * wants it: 64 bits, in which every run of every transfer is far from all
 * others.  Positions grow on each seat.
 *
 *   join -> { stand -> may -> ... } -> leave
 *
 * The transfer remembers which packets were handed over, so that the same
 * transfer can go on after its connections broke, or be started again, and
 * hands over nothing twice. transfer_have() says from where on packets are
 * wanted: the lowest position at which any of its connections stood, closed
 * ones included, because nobody knows on which of them a packet was sent.
 *
 * The module uses no sockets and no clock: transfer_tick() tells it the time.
 * One receiver thread calls all functions.
 */
enum { TRANSFER_PATIENCE = 1000000000 }; /* ns */

enum seat_state {
	SEAT_FREE,
	SEAT_JOINED, /* position not known yet */
	SEAT_STANDS,
};

struct transfer_seat {
	enum seat_state state;
	bool ready;	 /* the packet at its position is here */
	uint32_t number; /* connection's number, from its HELLO */
	uint64_t at;
	int64_t quiet; /* ns since it brought something */
};

struct transfer_in {
	struct transfer_seat *seat;
	unsigned seats;
	uint32_t packet_bytes;
	/* packets that the core can put in order; 0: no connection waits */
	uint32_t reach;
	uint64_t stride; /* positions from run to run */
	/* the run of the last packet handed over, as a position / stride */
	uint64_t run;

	uint64_t id; /* 0: no transfer has begun */
	uint32_t connections;
	uint32_t met; /* connections that have come at least once */
	bool known[WIRE_CONNECTIONS]; /* connections that have come */
	/* position at which each connection stood last */
	uint64_t place[WIRE_CONNECTIONS];
	/* when its sender began, as in its HELLO; 0: lost packets stay lost */
	uint64_t born;
	struct told told;
	uint64_t base;	/* number that its run 0 has in positions */
	uint64_t above; /* one more than any run so far */
	int64_t age;	/* ns since it began */
};

struct transfer_args {
	unsigned seats;
	uint32_t packet_bytes, reach;
	/* packets of a format's frame: runs begin at a multiple of it */
	uint32_t parts;
};

/* Makes an empty transfer.  Returns 0 or -ENOMEM. */
int transfer_make(struct transfer_in *t, const struct transfer_args *args);
void transfer_free(struct transfer_in *t);

struct transfer_hello {
	struct wire_hello wire;
	/* time of the HELLO frame; 0: lost packets are not sent again */
	uint64_t born;
};

struct transfer_answer {
	/* a sentence why it cannot join; NULL: it has joined */
	const char *why;
	const char *code; /* the code, as in refuse.h */
	/*
	 * seat of an older connection with the same number, which this one
	 * replaces; -1: none
	 */
	int gone;
};

/* Adds a connection whose HELLO has come. */
struct transfer_answer transfer_join(struct transfer_in *t, unsigned seat,
				     const struct transfer_hello *h);

/* Frees a seat whose connection was closed. */
void transfer_leave(struct transfer_in *t, unsigned seat);

/* Returns the position at which a DATA or END frame begins. */
uint64_t transfer_at(struct transfer_in *t, const struct wire_frame *f);

/*
 * Moves a seat to a position; `ready`: that packet is here.  Returns false if
 * that would be a step back.
 */
bool transfer_stand(struct transfer_in *t, unsigned seat, uint64_t at,
		    bool ready);

/*
 * Returns the run and sequence from which on packets are wanted; both 0: all.
 */
void transfer_have(const struct transfer_in *t, uint64_t *run, uint64_t *first);

/*
 * Returns how many of the next n packets of a seat may be handed over now; the
 * caller hands them over.
 */
unsigned transfer_may(struct transfer_in *t, unsigned seat, unsigned n);

/* Notes that bytes came on a seat. */
static inline void
transfer_heard(struct transfer_in *t, unsigned seat)
{
	t->seat[seat].quiet = 0;
}

/* Adds `ns` to the age of the transfer and to the silence of each seat. */
void transfer_tick(struct transfer_in *t, int64_t ns);

#endif
