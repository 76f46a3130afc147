/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_UDP_RINGS_H
#define SPATE_RECEIVE_UDP_RINGS_H

#include <stdint.h>

#include "contract/receive.h"

/*
 * struct rings is the set of packet rings of one receiver thread: one ring for
 * each entry of `listen`.  Each ring shares the packets of its interface with
 * the rings of the stream's other threads.
 *
 * The functions are the callbacks of receive_ops with the same names.
 */
struct rings;

enum { RINGS_MOST = 64 };

struct rings_options {
	const struct option_texts *listen, *allow;
	uint32_t threads;
	uint64_t bytes; /* memory of each ring */
};

int rings_plan(const struct rings_options *o, struct receive_plan *plan,
	       char *why, uint32_t why_bytes);
int rings_open(struct rings **rings, const struct rings_options *o,
	       const struct receive_args *args);
unsigned rings_sources(const struct rings *s);
int rings_fd(const struct rings *s, unsigned source);
int rings_receive(struct rings *s, unsigned source,
		  struct receive_batch *batch);
void rings_counts(struct rings *s, unsigned source,
		  struct receive_counts *counts);
void rings_close(struct rings *s);

#endif
