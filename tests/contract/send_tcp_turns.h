/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_SEND_TCP_TURNS_H
#define SPATE_TESTS_SEND_TCP_TURNS_H

#include "contract/send_tcp_bench.h"

/*
 * The two ends of send_tcp_bench.h take turns in one thread, until all is
 * sent, or told.
 */
enum { TURNS = 20000 };

/* The way between them, which breaks whenever so many bytes went by. */
extern uint64_t break_every, broke;
extern bool by_way;

void turn(int i);

/* One step towards that all are sent, and seen through; 0: they are. */
int step(uint64_t end, bool finished);
void send_all(uint64_t end, bool finished);
void told_are(uint64_t n);
void both_open(const char *options, unsigned connections);

#endif
