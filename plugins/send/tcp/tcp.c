/* SPDX-License-Identifier: MIT */
/*
 * tcp: wire frames over several connections (framed.h) to another spate, or
 * plain bytes over one to any listener: jive5ab's net2file, socat, `nc -l`, or
 * a stream of spate's with frames = "plain".
 *
 * Plain bytes: as long as nothing was sent, a peer that does not answer is
 * called again.  After that a broken connection is the end: the peer may have
 * any part of what the kernel took, and would see the rest as another file.
 * Only a relay, which cannot go back anyway, connects again and goes on with
 * the next packet.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "framed.h"
#include "net/url.h"

struct tcp_send_options {
	int64_t vanish;
	uint64_t socket_buffer, frame;
	const char *zerocopy;
};

static const struct option_key table[] = {
	{ .name = "vanish",
	  .type = OPTION_SPAN,
	  .offset = offsetof(struct tcp_send_options, vanish),
	  .fallback = "20s",
	  .min = NS_SECOND,
	  .max = INT64_C(3600000000000),
	  .help = "a peer that answers nothing for so long is gone" },
	{ .name = "socket_buffer",
	  .type = OPTION_BYTES,
	  .offset = offsetof(struct tcp_send_options, socket_buffer),
	  .max = 1u << 30,
	  .help = "kernel memory for bytes on their way, per connection; "
		  "none: as the kernel thinks best" },
	{ .name = "frame",
	  .type = OPTION_BYTES,
	  .offset = offsetof(struct tcp_send_options, frame),
	  .fallback = "128K",
	  .min = 4096,
	  .max = WIRE_PAYLOAD_MOST,
	  .help = "bytes of a frame; small enough to stay in the cache" },
	{ .name = "zerocopy",
	  .type = OPTION_CHOICE,
	  .offset = offsetof(struct tcp_send_options, zerocopy),
	  .choices = "auto|never|always",
	  .fallback = "auto",
	  .help = "have the kernel send plain bytes of recordings on disks "
		  "from where they lie; auto: until it copies after all" },
	{ .name = NULL },
};

static enum zerocopy_mode
mode_of(const struct tcp_send_options *o)
{
	return strcmp(o->zerocopy, "never") == 0  ? ZEROCOPY_NEVER
	       : strcmp(o->zerocopy, "auto") == 0 ? ZEROCOPY_AUTO
						  : ZEROCOPY_ALWAYS;
}

/* ---- plain bytes -------------------------------------------------------- */

struct plain_sender {
	struct line_args to;
	struct bytes bytes;
	bool ordered;
	uint64_t lost; /* packets */
	unsigned reconnects;
	char why[SEND_SENTENCE];
};

static int
plain_open(struct plain_sender *p, const struct send_args *a,
	   const struct line_args *to, enum zerocopy_mode mode)
{
	int err;

	if (a->subs > 1) {
		snprintf(a->why, a->why_bytes,
			 "it has %u substreams, and plain bytes are of one: "
			 "--sub says which",
			 a->subs);
		return -EINVAL;
	}
	*p = (struct plain_sender){ .to = *to, .ordered = a->ordered };
	err = bytes_make(&p->bytes, &p->to, a->head_bytes + a->data_bytes);
	p->bytes.zerocopy.mode = a->zerocopy_ok ? mode : ZEROCOPY_NEVER;
	if (err)
		snprintf(a->why, a->why_bytes, "no memory");
	return err;
}

static struct plain_sender *
plain_of(struct send_state *state)
{
	return (struct plain_sender *)state;
}

static void
plain_close(struct send_state *state)
{
	bytes_free(&plain_of(state)->bytes);
}

/*
 * Handles a broken connection.  Returns -EAGAIN: it will be opened again; else
 * -errno: this is the end.
 */
static int
broken(struct plain_sender *p, int err)
{
	struct bytes *b = &p->bytes;
	bool closed = err == -ENODATA || err == -EPIPE;
	uint64_t lost = b->packets;

	snprintf(p->why, sizeof p->why, "%s %s%s after %llu bytes",
		 b->line.peer, closed ? "closed the connection" : "is gone: ",
		 closed ? "" : strerror(-err),
		 (unsigned long long)b->line.bytes);
	if (b->line.state != LINE_DOWN)
		bytes_drop(b, err, false);
	if (p->ordered && b->given)
		return err == -ENODATA ? -EPIPE : err;
	p->lost += lost;
	p->reconnects++;
	return -EAGAIN;
}

/*
 * Connects if needed, and reads what the peer says.  Returns 0: the line is up;
 * -EAGAIN; else -errno.
 */
static int
look(struct plain_sender *p, int64_t now)
{
	struct bytes *b = &p->bytes;
	bool was = b->line.state == LINE_UP;
	int err;

	if (b->torn) {
		b->torn = false;
		return broken(p, -EPIPE);
	}
	err = line_call(&b->line, now);
	if (err && err != -EAGAIN)
		snprintf(p->why, sizeof p->why, "%s does not answer: %s",
			 b->line.peer, strerror(-err));
	if (err)
		return -EAGAIN;
	if (!was) {
		zerocopy_begin(&b->zerocopy, b->line.fd);
		p->why[0] = '\0';
	}
	err = b->shut ? 0 : bytes_hear(b);
	if (!err && line_is_dead(&b->line, now))
		err = -ETIMEDOUT;
	return err ? broken(p, err) : 0;
}

static int
plain_send(struct send_state *state, const struct send_run *run, unsigned n,
	   uint64_t *taken)
{
	struct plain_sender *p = plain_of(state);
	int err = look(p, line_now());

	*taken = 0;
	if (!err)
		err = bytes_send(&p->bytes, run, n, taken);
	else
		return err;
	err = err ? broken(p, err) : 0;
	return *taken && err == -EAGAIN ? 0 : err;
}

static int
plain_finish(struct send_state *state)
{
	struct plain_sender *p = plain_of(state);
	int64_t now = line_now();
	int err = look(p, now);

	if (!err)
		err = bytes_finish(&p->bytes, now);
	else
		return err;
	return !err || err == -EAGAIN ? err : broken(p, err);
}

static unsigned
plain_poll(struct send_state *state, struct pollfd *fd, unsigned most,
	   int64_t *until)
{
	return most ? line_poll(&plain_of(state)->bytes.line, fd, until) : 0;
}

static uint64_t
plain_release(struct send_state *state)
{
	return bytes_release(&plain_of(state)->bytes);
}

static void
plain_detach(struct send_state *state)
{
	bytes_detach(&plain_of(state)->bytes);
}

static void
plain_facts(struct send_state *state, struct send_facts *facts)
{
	const struct plain_sender *p = plain_of(state);
	const struct bytes *b = &p->bytes;

	*facts = (struct send_facts){ .packets = b->taken - b->packets,
				      .bytes = b->line.bytes,
				      .calls = b->line.calls,
				      .lost = p->lost,
				      .connections = b->line.state == LINE_UP,
				      .reconnects = p->reconnects,
				      .way = b->zerocopy.on
						 ? "tcp, plain bytes, no copy"
						 : "tcp, plain bytes" };
	memcpy(facts->why, p->why, sizeof facts->why);
	snprintf(facts->peer, sizeof facts->peer, "%s", b->line.peer);
}

/* ---- the choice --------------------------------------------------------- */

/*
 * The callbacks of a transfer: those of plain bytes, or those of frames.
 * open() chooses, and nothing else asks which they are.
 */
static const struct send_ops by_bytes = {
	.send = plain_send,
	.poll = plain_poll,
	.release = plain_release,
	.detach = plain_detach,
	.finish = plain_finish,
	.facts = plain_facts,
	.close = plain_close,
};

static const struct send_ops by_frames = {
	.send = framed_send,
	.poll = framed_poll,
	.release = framed_release,
	.detach = framed_detach,
	.finish = framed_finish,
	.facts = framed_facts,
	.close = framed_close,
	.back = framed_back,
};

struct send_state {
	const struct send_ops *by;
	union {
		struct plain_sender plain;
		struct framed_sender framed;
	} of;
};

/* Returns the sender, as its callbacks take it. */
static struct send_state *
sender(struct send_state *s)
{
	return (struct send_state *)&s->of;
}

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
	const struct tcp_send_options *o = args->options;
	const struct framed_options framed = { .frame = o->frame };
	struct line_args to = { .vanish = o->vanish,
				.buffer = o->socket_buffer };
	struct send_state *s;
	int err = tcp_check(args);

	if (!err)
		err = line_find(&to, args);
	if (err)
		return err;
	s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->by = args->plain ? &by_bytes : &by_frames;
	if (args->plain)
		err = plain_open(&s->of.plain, args, &to, mode_of(o));
	else
		err = framed_open(&s->of.framed, args, &framed, &to);
	*state = s;
	if (err)
		free(s);
	return err;
}

static int
tcp_send(struct send_state *s, const struct send_run *run, unsigned n,
	 uint64_t *taken)
{
	return s->by->send(sender(s), run, n, taken);
}

static unsigned
tcp_poll(struct send_state *s, struct pollfd *fd, unsigned most, int64_t *until)
{
	return s->by->poll(sender(s), fd, most, until);
}

static uint64_t
tcp_release(struct send_state *s)
{
	return s->by->release(sender(s));
}

static void
tcp_detach(struct send_state *s)
{
	s->by->detach(sender(s));
}

static int
tcp_finish(struct send_state *s)
{
	return s->by->finish(sender(s));
}

static void
tcp_facts(struct send_state *s, struct send_facts *facts)
{
	s->by->facts(sender(s), facts);
}

static void
tcp_close(struct send_state *s)
{
	s->by->close(sender(s));
	free(s);
}

/* Called after -ERESTART, which only frames return. */
static void
tcp_back(struct send_state *s, uint32_t *run, uint64_t *first)
{
	s->by->back(sender(s), run, first);
}

SPATE_PLUGIN const struct send_ops spate_send = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct send_ops),
		  .name = "tcp",
		  .help = "frames over TCP connections, or bytes over one",
		  .options = table,
		  .options_bytes = sizeof(struct tcp_send_options),
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
