/* SPDX-License-Identifier: MIT */
/*
 * ucx: wire frames (framed.h) whose payloads go by libucx, over the best
 * transport between the two machines: RDMA on InfiniBand or RoCE, shared memory
 * on one host, TCP elsewhere.
 *
 * Each connection is a plain TCP connection, which carries HELLO, the proof of
 * the secret, HAVE, and the headers of all frames in order.  Beside it a libucx
 * worker of its own (way.h) carries the payloads, in active messages with the
 * same header.  A connection by libucx's listener alone was rejected: it
 * accepts a stranger before anything is proved, does not tell a refused sender
 * why, and over shared memory never says that the peer is gone.  So libucx
 * listens at a port of its own for one connection, after HELLO, and not at all
 * if both ends are on one host (worker.h).
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "send/tcp/framed.h"
#include "way.h"
#include "net/url.h"

/* pieces of a copy on their way at a time, per connection */
enum { COPY_MESSAGES = 4 };

struct ucx_send_options {
	int64_t vanish;
	uint64_t message;
	uint32_t messages;
	bool checksum;
};

static const struct option_key table[] = {
	{ .name = "vanish",
	  .type = OPTION_SPAN,
	  .offset = offsetof(struct ucx_send_options, vanish),
	  .fallback = "20s",
	  .min = NS_SECOND,
	  .max = INT64_C(3600000000000),
	  .help = "a peer that answers nothing for so long is gone" },
	{ .name = "message",
	  .type = OPTION_BYTES,
	  .offset = offsetof(struct ucx_send_options, message),
	  .fallback = "512K",
	  .min = 4096,
	  .max = WIRE_PAYLOAD_MOST,
	  .help = "bytes of a message, which carries whole packets" },
	{ .name = "messages",
	  .type = OPTION_COUNT,
	  .offset = offsetof(struct ucx_send_options, messages),
	  .fallback = "4",
	  .min = 1,
	  .max = WAY_MESSAGES,
	  .help = "messages on their way at a time, per connection" },
	{ .name = "checksum",
	  .type = OPTION_FLAG,
	  .offset = offsetof(struct ucx_send_options, checksum),
	  .fallback = "true",
	  .help = "the receiver checks every message; false: it trusts what "
		  "is between" },
	{ .name = NULL },
};

struct send_state {
	struct framed_sender framed; /* must be first: framed.h */
	struct way_args way;
};

static int
ucx_check(const struct send_args *args)
{
	struct url url;
	int err = url_read(&url, args->to, args->why, args->why_bytes);

	if (err)
		return err;
	if (url.scheme != URL_UCX || args->plain) {
		snprintf(args->why, args->why_bytes,
			 args->plain ? "UCX carries spate's frames, and no "
				       "plain bytes: tcp:// does"
				     : "that is no address for UCX: "
				       "ucx://HOST:PORT");
		return -EINVAL;
	}
	return 0;
}

static int
state_open(struct send_state *s, const struct send_args *args,
	   const struct line_args *to)
{
	const struct ucx_send_options *o = args->options;
	struct send_args with = *args;
	const struct framed_options framed = { .frame = o->message,
					       .beside = &ucx_way,
					       .beside_args = &s->way };
	int err;

	s->way.depth = o->messages;
	s->way.checked = o->checksum;
	s->way.in_place_ok = args->zerocopy_ok;
	/*
	 * Each connection costs a worker, so the default is one; more help only
	 * where the path limits each connection.
	 */
	if (!with.connections)
		with.connections = 1;
	err = ucx_library_open(&s->way.library, args->why, args->why_bytes);
	if (!err)
		err = framed_open(&s->framed, &with, &framed, to);
	if (err)
		ucx_library_close(&s->way.library);
	return err;
}

static int
ucx_open(struct send_state **state, const struct send_args *args)
{
	const struct ucx_send_options *o = args->options;
	struct line_args to = { .vanish = o->vanish };
	struct send_state *s;
	int err = ucx_check(args);

	if (!err)
		err = line_find(&to, args);
	if (err)
		return err;
	s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	err = state_open(s, args, &to);
	*state = s;
	if (err)
		free(s);
	return err;
}

static void
ucx_close(struct send_state *s)
{
	framed_close(s);
	ucx_library_close(&s->way.library);
	free(s);
}

/* ---- copies ------------------------------------------------------------ */

static int
ucx_beside_open(const struct channel_beside **beside, void **args,
		uint32_t channel_bytes, char *why, uint32_t why_bytes)
{
	struct way_args *a;
	int err;

	if (channel_bytes != sizeof(struct channel)) {
		snprintf(why, why_bytes,
			 "the send plugin ucx is of another build of spate");
		return -ELIBACC;
	}
	a = calloc(1, sizeof *a);
	if (!a) {
		snprintf(why, why_bytes, "out of memory");
		return -ENOMEM;
	}
	/* A copy checks its pieces itself, and copies them to the stage. */
	a->depth = COPY_MESSAGES;
	err = ucx_library_open(&a->library, why, why_bytes);
	if (err) {
		ucx_library_close(&a->library);
		free(a);
		return err;
	}
	*beside = &ucx_way;
	*args = a;
	return 0;
}

static void
ucx_beside_close(void *args)
{
	struct way_args *a = args;

	ucx_library_close(&a->library);
	free(a);
}

SPATE_PLUGIN const struct send_ops spate_send = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct send_ops),
		  .name = "ucx",
		  .help = "frames by libucx: RDMA, shared memory, or TCP",
		  .options = table,
		  .options_bytes = sizeof(struct ucx_send_options),
		  .flags = SEND_BLOCKS | SEND_BARE },
	.check = ucx_check,
	.open = ucx_open,
	.send = framed_send,
	.poll = framed_poll,
	.release = framed_release,
	.detach = framed_detach,
	.finish = framed_finish,
	.facts = framed_facts,
	.close = ucx_close,
	.back = framed_back,
	.beside_open = ucx_beside_open,
	.beside_close = ucx_beside_close,
};
