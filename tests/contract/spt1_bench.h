/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_SPT1_BENCH_H
#define SPATE_TESTS_SPT1_BENCH_H

#include "contract/tcp_bench.h"
#include "wire/frame.h"

/*
 * A sender with several connections, each with a text that is sent bit by
 * bit, and what a core does with the answers: every packet has to be told
 * once, in the aim that was asked for, and none so early that another one
 * comes out of its reach.
 */
enum {
	LINES = 4,
	PACKET = 40,
	REACH = 64,
	MOST = 8192,	      /* packets of a run */
	TEXT = MOST * PACKET, /* bytes of a connection, at most */
};

/* What a connection will bring, and how much of it is sent. */
struct line {
	int fd;
	uint8_t text[2 * TEXT];
	size_t bytes, sent;
};

extern struct bench b;
extern struct line line[LINES + 1];

/* What the core does with the answers. */
struct answer {
	bool known;
	uint64_t next;
};

extern struct answer aim[LINES];
extern uint64_t told[8][MOST]; /* sequences, of each run; 0: not told */
extern bool made[8][MOST];     /* sent, and not lost on purpose, */
extern bool owed[8][MOST];     /* and not told yet */
extern bool begun[8];	       /* one of the run is told */
extern uint64_t packets;       /* told */
extern bool strict;	       /* nothing may be told out of reach */

void make(uint64_t run, uint64_t at);

/* What was told may be told again. */
void told_forget(void);

/* ---- sending --------------------------------------------------------- */

void add(struct line *l, const void *data, size_t bytes);
void add_frame(struct line *l, struct wire_frame f, const void *payload);

/* With `born` it is one that sends again what was lost. */
void add_hello_born(struct line *l, uint64_t transfer, unsigned n, unsigned of,
		    uint64_t born);
void add_hello(struct line *l, uint64_t transfer, unsigned n, unsigned of);
void add_data(struct line *l, uint64_t run, uint64_t first, unsigned n);
void add_end(struct line *l, uint64_t run, uint64_t first);

/* At most so much of what is left; returns how much. */
size_t flow(struct line *l, size_t most);

/* ---- taking ---------------------------------------------------------- */

/* One call, with so much room where the aim is. */
unsigned take_line(unsigned source, unsigned room);

/* All that can be told now.  As often as the core would poll: who comes in at
 * source 0 may sit at another one. */
uint64_t take_all_lines(void);

/* Everything is sent and told. */
void flow_all(void);

/* ---- around a test --------------------------------------------------- */

void begin(const char *options);
void finish(void);

/* `n` connections of a transfer, with nothing but their hello so far. */
void call(unsigned n, uint64_t transfer);

/* The receiver's answer to a hello. */
void answer_check(int fd);
void said(const char *what);

#endif
