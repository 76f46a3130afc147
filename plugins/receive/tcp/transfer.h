/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_TCP_TRANSFER_H
#define SPATE_RECEIVE_TCP_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"
#include "told.h"

/*
 * A transfer is the connections of one sender, and the order between them: a
 * connection that is ahead waits for those that lag, so that no packet comes
 * too late to be put in order.  Nobody is waited for who has brought nothing
 * for a second: what is lost with a connection that died must not stop the
 * others.  But a sender that says who it is sends that again, whenever it comes
 * back: of those nobody goes ahead at all.
 *
 * Connections sit on seats, from 0.  Positions are sequences as the core
 * wants them, 64 bits in which every run of every transfer is far from all
 * others; in order on each seat.
 *
 *   join -> { stand -> may -> ... } -> leave
 *
 * It remembers what was told, so that the same transfer can go on after its
 * connections broke, or be started again, and tells nothing twice: transfer_have
 * is from where on packets are wanted.  That is the least place at which any of
 * its connections stood, those that have left included, because nobody knows
 * on which of them a packet was sent.
 *
 * It knows no sockets and no clock: time is what transfer_tick is told.
 */
enum { TRANSFER_PATIENCE = 1000000000 }; /* ns */

enum seat_state {
	SEAT_FREE,
	SEAT_JOINED, /* its position is not known yet */
	SEAT_STANDS,
};

struct transfer_seat {
	enum seat_state state;
	bool ready;	 /* the packet that it stands at is here */
	uint32_t number; /* of the connection */
	uint64_t at;
	int64_t quiet; /* ns since it brought something */
};

struct transfer {
	struct transfer_seat *seat;
	unsigned seats;
	uint32_t packet_bytes;
	uint32_t reach;	 /* packets; 0: whoever is ahead does not wait */
	uint64_t stride; /* from run to run */
	uint64_t run;	 /* the last that was told of, as positions have it */

	uint64_t id; /* 0: none has begun */
	uint32_t connections;
	uint32_t met; /* of those, how many have come at least once */
	bool known[WIRE_CONNECTIONS];
	uint64_t place[WIRE_CONNECTIONS]; /* where each of them stood last */
	uint64_t born; /* which sender of it this is; 0: it does not say */
	struct told told;
	uint64_t base;	/* what its run 0 counts as */
	uint64_t above; /* one more than any run so far */
	int64_t age;	/* ns */
};

struct transfer_args {
	unsigned seats;
	uint32_t packet_bytes, reach;
	uint32_t parts; /* packets of a frame: runs begin with a whole one */
};

int transfer_make(struct transfer *t, const struct transfer_args *args);
void transfer_free(struct transfer *t);

struct transfer_hello {
	struct wire_hello wire;
	uint64_t born; /* the frame's time; 0: what is lost stays so */
};

struct transfer_answer {
	const char *why;  /* a sentence why it cannot join; NULL: it has */
	const char *code; /* as in refuse.h */
	int gone; /* another seat with the same number: its connection was
		     replaced; -1: none */
};

/* A connection says hello. */
struct transfer_answer transfer_join(struct transfer *t, unsigned seat,
				     const struct transfer_hello *h);
void transfer_leave(struct transfer *t, unsigned seat);

/* Where a DATA or END frame begins. */
uint64_t transfer_at(struct transfer *t, const struct wire_frame *f);

/* A seat stands at that packet now, which is here, or will come.  False: it
 * would be a step back. */
bool transfer_stand(struct transfer *t, unsigned seat, uint64_t at, bool ready);

/* From which run and sequence on packets are wanted; both 0: all. */
void transfer_have(const struct transfer *t, uint64_t *run, uint64_t *first);

/* How many of the next n packets of that seat may be told now; they are. */
unsigned transfer_may(struct transfer *t, unsigned seat, unsigned n);

/* Bytes came. */
static inline void
transfer_heard(struct transfer *t, unsigned seat)
{
	t->seat[seat].quiet = 0;
}

/* So much time has passed. */
void transfer_tick(struct transfer *t, int64_t ns);

#endif
