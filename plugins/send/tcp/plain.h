/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SEND_TCP_PLAIN_H
#define SPATE_SEND_TCP_PLAIN_H

#include "bytes.h"

/*
 * Sends plain bytes to any listener: jive5ab's net2file, socat, `nc -l`, or a
 * stream of spate's with frames = "plain".  The functions are the callbacks of
 * send_ops.
 */
struct plain {
	struct line_args to;
	struct bytes bytes;
	bool ordered;

	uint64_t lost; /* packets */
	unsigned reconnects;
	char why[SEND_SENTENCE];
};

int plain_open(struct plain *p, const struct send_args *args,
	       const struct line_args *to, enum zerocopy_mode mode);
void plain_close(struct plain *p);
int plain_send(struct plain *p, const struct send_run *run, unsigned n,
	       uint64_t *taken);
unsigned plain_poll(const struct plain *p, struct pollfd *fd, unsigned most,
		    int64_t *until);
uint64_t plain_release(const struct plain *p);
void plain_detach(struct plain *p);
int plain_finish(struct plain *p);
void plain_facts(const struct plain *p, struct send_facts *facts);

#endif
