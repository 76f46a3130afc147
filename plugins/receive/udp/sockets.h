/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_UDP_SOCKETS_H
#define SPATE_RECEIVE_UDP_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contract/receive.h"

/*
 * A struct sockets is the set of UDP sockets of one plugin instance: one for
 * each substream of each entry of `listen`, or the instance's share of them.
 * All entries of a list bring the same substreams: packets through the second
 * NIC belong to the same sequence as those through the first.
 *
 * The functions are the callbacks of receive_ops with the same names.  The
 * plugin's options begin with a struct sockets_options, and its table with
 * SOCKETS_TABLE.
 */
struct sockets_options {
	struct option_texts listen, allow;
	uint64_t socket_buffer; /* bytes; 0: buffer_wanted() */
	int64_t keepalive;
	bool gro;
};

#define SOCKETS_TABLE                                                          \
	{ .name = "listen",                                                    \
	  .type = OPTION_TEXTS,                                                \
	  .offset = offsetof(struct sockets_options, listen),                  \
	  .help = "addresses to receive on: \"0.0.0.0:46227\", "               \
		  "\"[::]:46227\", a multicast group; "                        \
		  "\"eth2@0.0.0.0:46227\" through one interface, "             \
		  "\"0.0.0.0:41000-41431\" for 432 substreams" },              \
	    { .name = "allow",                                                 \
	      .type = OPTION_TEXTS,                                            \
	      .offset = offsetof(struct sockets_options, allow),               \
	      .help = "networks whose packets are taken: \"10.0.0.0/8\"; "     \
		      "none: everyone's" },                                    \
	    { .name = "socket_buffer",                                         \
	      .type = OPTION_BYTES,                                            \
	      .offset = offsetof(struct sockets_options, socket_buffer),       \
	      .min = 4096,                                                     \
	      .max = 1u << 30,                                                 \
	      .help = "kernel memory for packets that wait, per socket; "      \
		      "none: 0.2 s of `rate`, at least 256M, divided among "   \
		      "the substreams" },                                      \
	    { .name = "keepalive",                                             \
	      .type = OPTION_SPAN,                                             \
	      .offset = offsetof(struct sockets_options, keepalive),           \
	      .help = "send the sender a short datagram this often, so that "  \
		      "switches remember the way; none: never" },              \
	{                                                                      \
		.name = "gro", .type = OPTION_FLAG, .fallback = "true",        \
		.offset = offsetof(struct sockets_options, gro),               \
		.help = "let the kernel hand over trains of packets"           \
	}

int sockets_plan(const void *options, struct receive_plan *plan, char *why,
		 uint32_t why_bytes);
int sockets_open(struct receive_state **state, const struct receive_args *args);
unsigned sockets_sources(const struct receive_state *state);
int sockets_fd(const struct receive_state *state, unsigned source);
unsigned sockets_sub(const struct receive_state *state, unsigned source);
int sockets_receive(struct receive_state *state, unsigned source,
		    struct receive_batch *batch);
void sockets_counts(struct receive_state *state, unsigned source,
		    struct receive_counts *counts);
void sockets_close(struct receive_state *state);

#endif
