/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_SEND_TCP_BENCH_H
#define SPATE_TESTS_SEND_TCP_BENCH_H

#include "base/secret.h"
#include "contract/send.h"
#include "contract/spt1_bench.h"

/*
 * The send plugin tcp, open, before the receive plugin of spt1_bench.h or a
 * plain socket; and between the two a way that can break.
 *
 * Memory of packets is made when they are given, and spoiled as soon as the
 * plugin says that it does not need it any more.
 */
struct from {
	const struct send_ops *ops;
	struct send_state *state;
	struct conf *conf;
	void *options;
	char why[SEND_SENTENCE];
	uint64_t at;	/* packet that is given next */
	uint64_t taken; /* in all */
	uint64_t made;	/* packets before this one are in memory, or spoiled */
	uint64_t first; /* the packet that was taken as number `spoiled` */
	uint64_t spoiled; /* of those taken, whose memory is gone */
	unsigned restarts;
	uint32_t stride;
	uint32_t step; /* packets of a run; 0: as many as there are */
	uint8_t data[MOST * 2 * PACKET];
};

extern struct from from;
extern struct send_args ask; /* what is not the usual, for the next open */

int from_try(struct from *f, const char *options, uint16_t to);
void from_open(struct from *f, const char *options, uint16_t to);
void from_close(struct from *f);

/* What the plugin lets go is rubbish from now on. */
void data_spoil(struct from *f);

/* Goes back, or on, to where packets are wanted. */
void from_back(struct from *f);

/* Gives packets up to `end`, once; what send says. */
int from_give(struct from *f, uint64_t end);
void from_wait(struct from *f, int64_t ms);
void facts_of(struct from *f, struct send_facts *facts);

/* ---- a way that can break -------------------------------------------- */

enum { WAYS = 8 };

struct way {
	int door;
	uint16_t port;
	bool shut;	/* nobody is let through any more */
	uint64_t bytes; /* that went through, of all */
	struct {
		int near, far;
	} pair[WAYS];
	unsigned n;
};

extern struct way way;

void way_make(void);
void way_break(unsigned i);
void way_free(void);
void way_flow(size_t most);

#endif
