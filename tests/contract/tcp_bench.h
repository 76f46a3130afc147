/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_TCP_BENCH_H
#define SPATE_TESTS_TCP_BENCH_H

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "contract/receive_bench.h"

/*
 * The bench of receive_bench.h for the tcp plugin: it listens on a port that
 * was free, and senders are plain sockets.
 */
#ifdef BENCH_UCX /* another plugin that has its connections */
#define BENCH_BY "ucx"
#define FOUR	 "connections = 4;"
#else
#define BENCH_BY "tcp"
#define FOUR	 "frames = \"spt1\"; connections = 4;"
#endif

extern uint16_t port;

/* A port that nobody has; -1 for the descriptor that keeps it. */
uint16_t port_pick(void);
int tcp_try(struct bench *b, const char *options, uint32_t prefix,
	    uint32_t payload);
void tcp_open(struct bench *b, const char *options, uint32_t prefix,
	      uint32_t payload);

/* Somebody connects; whether that is taken is seen later. */
int caller(void);

/* What was sent is where the plugin can read it: on a busy machine that takes
 * a while even over loopback. */
void settle(int fd);
void give(int fd, const void *data, size_t bytes);
void leave(int fd);

/* Somebody knocks, and is heard. */
int caller_heard(struct bench *b);

/* Was its connection closed? */
bool is_cut(int fd);

/* It was, and that is on its way. */
bool comes_cut(int fd);

/* One call with so much room; returns the packets. */
unsigned take(struct bench *b, unsigned source, unsigned pairs, unsigned room);

/* So much time passes, a tenth of a second at a time as in the core. */
void pass(struct bench *b, double seconds);

#endif
