/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_SEND_UDP_BENCH_H
#define SPATE_TESTS_SEND_UDP_BENCH_H

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/module.h"
#include "contract/send.h"
#include "lib/noise.h"
#include "lib/suite.h"

/*
 * A bench is an open udp plugin, and sockets that hear what it sends.
 */
enum { ROOM = 8 << 20, PORTS = 4, LONGEST = 65536 };

extern char why[SEND_SENTENCE], logged[512];
extern unsigned lines;

/* ---- a sender ---------------------------------------------------------- */

struct bench {
	const struct send_ops *ops;
	struct send_state *state;
	struct conf *conf;
	void *options;
	char to[128];
};

int bench_try(struct bench *b, const char *options, const char *to,
	      unsigned subs);
void bench_drop(struct bench *b);
void bench_close(struct bench *b);
struct send_facts facts_of(struct bench *b);

/* All of these, waiting as the core would. */
void send_all(struct bench *b, struct send_run *run, unsigned n);

/* ---- those who listen -------------------------------------------------- */

extern int ear[PORTS];

/* Ports in a row on an address; returns the first. */
unsigned listen_on(int family, unsigned ports);
void deafen(unsigned ports);

/* The next datagram of a port is packet n; and then there are no more. */
void heard(int fd, uint32_t n, uint32_t head, uint32_t body);
void silence(int fd);

/* ---- packets ----------------------------------------------------------- */

extern uint8_t heads[4096], data[2 << 20];

/* n packets in a row, whose data has `skip` bytes of something else between. */
struct send_run run_make(uint32_t n, uint32_t head, uint32_t bytes,
			 uint32_t skip);
void look_at(struct bench *b, uint32_t n, uint32_t head, uint32_t bytes,
	     uint32_t skip);

#endif
