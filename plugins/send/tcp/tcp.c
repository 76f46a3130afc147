/* SPDX-License-Identifier: MIT */
/*
 * tcp: wire frames over several connections (framed.h) to another spate, or
 * plain bytes over one (plain.h) to any program.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "framed.h"
#include "plain.h"
#include "net/url.h"

struct options {
	int64_t vanish;
	uint64_t socket_buffer, frame;
	const char *zerocopy;
};

static const struct option_key table[] = {
	{ .name = "vanish",
	  .type = OPTION_SPAN,
	  .offset = offsetof(struct options, vanish),
	  .fallback = "20s",
	  .min = NS_SECOND,
	  .max = INT64_C(3600000000000),
	  .help = "a peer that answers nothing for so long is gone" },
	{ .name = "socket_buffer",
	  .type = OPTION_BYTES,
	  .offset = offsetof(struct options, socket_buffer),
	  .max = 1u << 30,
	  .help = "kernel memory for bytes on their way, per connection; "
		  "none: as the kernel thinks best" },
	{ .name = "frame",
	  .type = OPTION_BYTES,
	  .offset = offsetof(struct options, frame),
	  .fallback = "128K",
	  .min = 4096,
	  .max = WIRE_PAYLOAD_MOST,
	  .help = "bytes of a frame; small enough to stay in the cache" },
	{ .name = "zerocopy",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct options, zerocopy),
	  .choices = "auto|never|always",
	  .fallback = "auto",
	  .help = "have the kernel send plain bytes of recordings on disks "
		  "from where they lie; auto: until it copies after all" },
	{ .name = NULL },
};

static enum zerocopy_mode
mode_of(const struct options *o)
{
	return strcmp(o->zerocopy, "never") == 0  ? ZEROCOPY_NEVER
	       : strcmp(o->zerocopy, "auto") == 0 ? ZEROCOPY_AUTO
						  : ZEROCOPY_ALWAYS;
}

struct send_state {
	bool is_plain;
	union {
		struct framed framed;
		struct plain plain;
	};
};

static int
tcp_check(const struct send_args *args)
{
	struct url url;
	int err = url_read(&url, args->to, args->why, args->why_bytes);

	if (err)
		return err;
	if (url.scheme != URL_TCP) {
		snprintf(args->why, args->why_bytes,
			 "'%.100s' is no address for TCP: tcp://HOST:PORT",
			 args->to);
		return -EINVAL;
	}
	if (args->plain && args->connections > 1) {
		snprintf(args->why, args->why_bytes,
			 "%u connections: plain bytes go in one",
			 args->connections);
		return -EINVAL;
	}
	return 0;
}

static int
tcp_open(struct send_state **state, const struct send_args *args)
{
	const struct options *o = args->options;
	const struct framed_options framed = { .frame = o->frame };
	struct line_args to = { .vanish = o->vanish,
				.buffer = o->socket_buffer };
	struct send_state *s;
	struct url url;
	int err = tcp_check(args);

	if (!err)
		err = url_read(&url, args->to, args->why, args->why_bytes);
	if (!err)
		err = resolve(&to.to, &url, args->why, args->why_bytes);
	if (err)
		return err;
	memcpy(to.device, url.device, sizeof to.device);
	s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->is_plain = args->plain;
	if (s->is_plain)
		err = plain_open(&s->plain, args, &to, mode_of(o));
	else
		err = framed_open(&s->framed, args, &framed, &to);
	*state = s;
	if (err)
		free(s);
	return err;
}

static int
tcp_send(struct send_state *s, const struct send_run *run, unsigned n,
	 uint64_t *taken)
{
	return s->is_plain ? plain_send(&s->plain, run, n, taken)
			   : framed_send(&s->framed, run, n, taken);
}

static unsigned
tcp_poll(struct send_state *s, struct pollfd *fd, unsigned most, int64_t *until)
{
	return s->is_plain ? plain_poll(&s->plain, fd, most, until)
			   : framed_poll(&s->framed, fd, most, until);
}

static uint64_t
tcp_release(struct send_state *s)
{
	return s->is_plain ? plain_release(&s->plain)
			   : framed_release(&s->framed);
}

static void
tcp_detach(struct send_state *s)
{
	if (s->is_plain)
		plain_detach(&s->plain);
	else
		framed_detach(&s->framed);
}

static int
tcp_finish(struct send_state *s)
{
	return s->is_plain ? plain_finish(&s->plain)
			   : framed_finish(&s->framed);
}

static void
tcp_facts(struct send_state *s, struct send_facts *facts)
{
	if (s->is_plain)
		plain_facts(&s->plain, facts);
	else
		framed_facts(&s->framed, facts);
}

static void
tcp_close(struct send_state *s)
{
	if (s->is_plain)
		plain_close(&s->plain);
	else
		framed_close(&s->framed);
	free(s);
}

static void
tcp_back(struct send_state *s, uint32_t *run, uint64_t *first)
{
	*run = s->framed.next.run;
	*first = s->framed.next.first;
}

SPATE_PLUGIN const struct send_ops spate_send = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct send_ops),
		  .name = "tcp",
		  .help = "frames over TCP connections, or bytes over one",
		  .options = table,
		  .options_bytes = sizeof(struct options),
		  .flags = SEND_BLOCKS | SEND_BARE },
	.check = tcp_check,
	.open = tcp_open,
	.send = tcp_send,
	.poll = tcp_poll,
	.release = tcp_release,
	.detach = tcp_detach,
	.finish = tcp_finish,
	.facts = tcp_facts,
	.close = tcp_close,
	.back = tcp_back,
};
