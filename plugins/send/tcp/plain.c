/* SPDX-License-Identifier: MIT */
/*
 * As long as nothing was sent, a peer that does not answer is called again.
 * After that a broken connection is the end: the peer may have any part of what
 * the kernel took, and would see the rest as another file.  Only a relay, which
 * cannot go back anyway, connects again and goes on with the next packet.
 */
#include "plain.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

int
plain_open(struct plain *p, const struct send_args *a,
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
	*p = (struct plain){ .to = *to, .ordered = a->ordered };
	err = bytes_make(&p->bytes, &p->to, a->head_bytes + a->data_bytes);
	p->bytes.zerocopy.mode = a->zerocopy_ok ? mode : ZEROCOPY_NEVER;
	if (err)
		snprintf(a->why, a->why_bytes, "no memory");
	return err;
}

void
plain_close(struct plain *p)
{
	bytes_free(&p->bytes);
}

/*
 * Handles a broken connection.  Returns -EAGAIN: it will be opened again; else
 * -errno: this is the end.
 */
static int
broken(struct plain *p, int err)
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
look(struct plain *p, int64_t now)
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

int
plain_send(struct plain *p, const struct send_run *run, unsigned n,
	   uint64_t *taken)
{
	int err = look(p, line_now());

	*taken = 0;
	if (!err)
		err = bytes_send(&p->bytes, run, n, taken);
	else
		return err;
	err = err ? broken(p, err) : 0;
	return *taken && err == -EAGAIN ? 0 : err;
}

int
plain_finish(struct plain *p)
{
	int64_t now = line_now();
	int err = look(p, now);

	if (!err)
		err = bytes_finish(&p->bytes, now);
	else
		return err;
	return !err || err == -EAGAIN ? err : broken(p, err);
}

unsigned
plain_poll(const struct plain *p, struct pollfd *fd, unsigned most,
	   int64_t *until)
{
	return most ? line_poll(&p->bytes.line, fd, until) : 0;
}

uint64_t
plain_release(const struct plain *p)
{
	return bytes_release(&p->bytes);
}

void
plain_detach(struct plain *p)
{
	bytes_detach(&p->bytes);
}

void
plain_facts(const struct plain *p, struct send_facts *facts)
{
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
