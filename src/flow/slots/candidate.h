/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SLOTS_CANDIDATE_H
#define SPATE_FLOW_SLOTS_CANDIDATE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A candidate is a run that may be about to begin: packets whose sequence is
 * far from where the stream is are parked here, by copy, until enough of
 * them agree with each other (the counter was restarted: the next run) or
 * until as many packets arrived where the stream still is (garbage, or late).
 *
 * Packets behind the stream's head need more to be a run: a burst of late ones
 * agrees as well as a restarted counter does.  The difference is what comes
 * next.  A stream goes on at its head, and after a restart nothing does.
 */
enum {
	CANDIDATE_AGREE = 32,
	CANDIDATE_BEHIND = 256, /* behind the head, where there is room */
	CANDIDATE_MORE = 288,	/* that one of them may have beside 32; some
				   may come in turn with the head */
	CANDIDATES = 8,		/* at a time: garbage makes some of its own */
};

struct candidate_packet {
	uint64_t sequence;
	int64_t arrived; /* UTC ns */
	int32_t part;	 /* -1 where the format did not see it */
	uint16_t at;	 /* its place in the parking */
	bool readable;
};

struct candidate {
	struct candidate_packet packet[CANDIDATE_AGREE];
	struct candidate_packet
	    *more; /* CANDIDATE_MORE behind those; or NULL */
	unsigned n;
	unsigned quiet;	 /* packets since the stream last went on at its
			    head; n if it did not */
	unsigned need;	 /* how many that has to be */
	bool behind;	 /* the stream's head, when it was begun */
	uint64_t span;	 /* how near to the first they have to be */
	unsigned bits;	 /* of the counter: differences wrap there */
	unsigned rivals; /* packets that came in the stream's window */
	int64_t since;	 /* when the first came, steady clock; several threads
			    may bring them in another order */
	uint64_t order;	 /* the larger, the later it was begun */
};

/* b - a, as a counter of so many bits sees it. */
static inline int64_t
sequence_distance(uint64_t a, uint64_t b, unsigned bits)
{
	return bits == 32 ? (int32_t)(uint32_t)(b - a) : (int64_t)(b - a);
}

static inline struct candidate_packet *
candidate_at(struct candidate *c, unsigned i)
{
	return i < CANDIDATE_AGREE ? &c->packet[i]
				   : &c->more[i - CANDIDATE_AGREE];
}

static inline bool
candidate_full(const struct candidate *c)
{
	return c->n == CANDIDATE_AGREE + (c->more ? CANDIDATE_MORE : 0);
}

enum candidate_answer {
	CANDIDATE_PARKED,    /* it is packet[n-1] now: the rest of that is
				   for the caller to fill */
	CANDIDATE_ENOUGH,    /* the same, and they are enough: a run */
	CANDIDATE_DUPLICATE, /* that one is here already */
	CANDIDATE_STRANGER,  /* does not agree with those that are here, or
				   they are too many: nothing was done */
};

enum candidate_answer candidate_add(struct candidate *c, uint64_t sequence,
				    int64_t now);

/* Of CANDIDATES the one to add that packet to: one that it agrees with, else
 * one to begin anew: an empty one, or the weakest, whose packets have to go. */
struct candidate *candidate_choose(struct candidate *all, uint64_t sequence);

/* Of CANDIDATES the weakest that has packets, other than c, and is not stronger
 * than c would be with one more; NULL. */
struct candidate *candidate_weakest(struct candidate *all,
				    const struct candidate *c);

/* n packets came where the stream is, by `now`; true when the candidate has
 * lost.  What came before it says nothing about it. */
bool candidate_rivals(struct candidate *c, unsigned n, int64_t now);

/* The stream went on at its head at that moment. */
void candidate_ahead(struct candidate *c, int64_t at);

/* Of CANDIDATES the one that a packet agrees with; NULL. */
struct candidate *candidate_find(struct candidate *all, uint64_t sequence);

/* The sequence that a run of these would begin with: the lowest, or the
 * lowest that is the first part of a frame.  False where there is none. */
bool candidate_base(struct candidate *c, uint32_t parts, uint64_t *base);

#endif
