/* SPDX-License-Identifier: MIT */
/*
 * Answers are small and wait for nothing: all that has come is read at once,
 * and every whole frame in it is acted on.  An answer that is too long to be of
 * interest is recognised by its header.
 */
#include "channel/channel.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "wire/copy.h"
#include "wire/refuse.h"

#define GREETING (15 * NS_SECOND) /* time for the answer to HELLO */

static void
hello_make(struct channel *c)
{
	const struct channel_args *a = c->a;
	const struct wire_hello h = { .version = WIRE_VERSION,
				      .packet_bytes = a->packet_bytes,
				      .connections = a->connections,
				      .connection = c->number,
				      .transfer = a->transfer };
	size_t json = strlen(a->json);
	uint8_t *payload = c->hello + WIRE_HEADER;
	struct wire_frame f = { .type = WIRE_HELLO,
				.time_ns = (uint64_t)a->born };

	f.payload_bytes = (uint32_t)(WIRE_HELLO_BYTES + json);
	wire_hello_pack(&h, payload);
	memcpy(payload + WIRE_HELLO_BYTES, a->json, json);
	f.payload_crc = a->host->crc32c(0, payload, f.payload_bytes);
	wire_pack(&f, c->hello, a->host->crc32c);
	c->hello_bytes = WIRE_HEADER + f.payload_bytes;
}

int
channel_make(struct channel *c, const struct channel_args *args,
	     unsigned number)
{
	memset(c, 0, sizeof *c);
	c->a = args;
	c->number = number;
	line_make(&c->line, &args->line);
	c->stage = malloc(args->most);
	c->hello = malloc(WIRE_HEADER + WIRE_HELLO_BYTES + strlen(args->json));
	c->in_bytes =
	    WIRE_HEADER_MOST + (args->hear ? CHANNEL_COPY_IN : CHANNEL_IN);
	c->in = malloc(c->in_bytes);
	if (!c->stage || !c->hello || !c->in)
		return -ENOMEM;
	hello_make(c);
	return 0;
}

void
channel_free(struct channel *c)
{
	channel_drop(c, 0);
	if (c->a && c->a->beside)
		c->a->beside->free(c);
	free(c->stage);
	free(c->hello);
	free(c->in);
}

void
channel_drop(struct channel *c, int err)
{
	/*
	 * The TCP connection is closed first: a receiver that fetches the
	 * memory later sees that the connection is closed, and drops the data.
	 */
	if (c->line.state != LINE_DOWN)
		line_drop(&c->line, err, false);
	if (c->a && c->a->beside)
		c->a->beside->close(c);
	c->state = CHANNEL_DOWN;
	c->got = 0;
}

static int __attribute__((format(printf, 3, 4)))
broken(struct channel *c, int err, const char *format, ...)
{
	char what[256];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	snprintf(c->a->why, c->a->why_bytes, "%s %s", c->line.peer, what);
	channel_drop(c, err);
	return err;
}

/* ---- greeting -------------------------------------------------------- */

static int
greet(struct channel *c, int64_t now)
{
	struct handshake_args h = { .secret = c->a->secret,
				    .secret_bytes = c->a->secret_bytes,
				    .hmac = c->a->host->hmac_sha256,
				    .crc32c = c->a->host->crc32c,
				    .sender = true };

	if (getrandom(h.nonce, sizeof h.nonce, GRND_NONBLOCK) != sizeof h.nonce)
		return broken(c, -EIO, "cannot be greeted: no random numbers");
	handshake_begin(&c->handshake, &h);
	handshake_hello(&c->handshake, c->hello + WIRE_HEADER);
	line_give(&c->line, c->hello, c->hello_bytes);
	c->state = CHANNEL_GREETS;
	c->carried = false;
	c->told = (struct run_position){ 0 };
	c->got = 0;
	c->spoke = now;
	return 0;
}

static int
call(struct channel *c, int64_t now)
{
	int err = line_call(&c->line, now);

	if (!err)
		return greet(c, now);
	if (err != -EAGAIN)
		snprintf(c->a->why, c->a->why_bytes, "%s does not answer: %s",
			 c->line.peer, strerror(-err));
	return err;
}

/* ---- answers --------------------------------------------------------- */

static int
refused(struct channel *c, const uint8_t *payload, uint32_t bytes)
{
	struct refuse r;
	int err;

	refuse_unpack(&r, payload, bytes);
	c->too_many = strcmp(r.code, "connections") == 0;
	err = !strcmp(r.code, "busy") || !strcmp(r.code, "no-disk") ? -EBUSY
	      /* the data were damaged on the way: connect again */
	      : !strcmp(r.code, "broken") ? -EPIPE
					  : -EACCES;
	return broken(c, err, "refuses: %s%s%s",
		      r.what[0] ? r.what : "it says not why",
		      r.why[0] ? ": " : "", r.why);
}

static int
have(struct channel *c, const struct wire_frame *f)
{
	const struct channel_beside *beside = c->a->beside;

	if (beside && !beside->is_open(c))
		return broken(c, -EPROTO,
			      "takes frames by TCP: tcp:// sends to it");
	c->have = (struct run_position){ (uint32_t)f->run, f->first };
	if (c->state == CHANNEL_GREETS) {
		c->state = CHANNEL_OPEN;
		if (!beside)
			line_was_good(&c->line);
	} else if (c->state == CHANNEL_ENDS) {
		if (position_is_before(c->have, c->told))
			return broken(c, -EPIPE, "has not got everything");
		c->state = CHANNEL_ENDED;
	}
	return 0;
}

static int
beside_open(struct channel *c, const struct wire_frame *f,
	    const uint8_t *payload)
{
	int err;

	if (!c->a->beside)
		return broken(c, -EPROTO,
			      "takes frames by UCX: ucx:// sends to it");
	err = c->a->beside->open(c, payload, f->payload_bytes);
	return err ? broken(c, err, "cannot be reached by UCX: %s",
			    strerror(-err))
		   : 0;
}

static int
answer_do(struct channel *c, const struct wire_frame *f, const uint8_t *payload)
{
	struct handshake *h = &c->handshake;

	if (c->a->host->crc32c(0, payload, f->payload_bytes) != f->payload_crc)
		return broken(c, -EPIPE,
			      "sent an answer with a wrong checksum");
	if (handshake_take(h, f, payload)) {
		if (h->state == HANDSHAKE_BROKEN)
			return broken(c, -EACCES, "is not trusted: it sent %s",
				      h->why);
		if (h->out_bytes)
			line_give(&c->line, h->out, h->out_bytes);
		return 0;
	}
	if (c->a->hear && c->state == CHANNEL_OPEN && f->type != WIRE_REFUSE)
		return c->a->hear(c, f, payload);
	switch (f->type) {
	case WIRE_HAVE:
		return c->a->hear ? broken(c, -EPROTO, "takes no copies")
				  : have(c, f);
	case WIRE_BESIDE: return beside_open(c, f, payload);
	case WIRE_WELCOME:
		if (!c->a->hear)
			return broken(c, -EXDEV, "takes copies");
		if (c->a->beside && !c->a->beside->is_open(c))
			return broken(c, -EPROTO,
				      "takes copies by TCP: tcp:// sends to "
				      "it");
		c->state = CHANNEL_OPEN;
		return 0;
	case WIRE_REFUSE: return refused(c, payload, f->payload_bytes);
	default:
		return broken(c, -EPROTO,
			      "answers as no receiver of spate's does");
	}
}

/*
 * Acts on the first whole frame in `in`; *used is its length, 0: there is none.
 */
static int
answer_take(struct channel *c, uint32_t *used)
{
	struct wire_frame f;
	const char *why;
	uint32_t bytes;

	*used = 0;
	if (c->got >= sizeof(uint32_t) && read_le32(c->in) != WIRE_MAGIC)
		return broken(c, -EPROTO,
			      "is no receiver of spate's frames; --plain sends "
			      "bytes to others");
	if (c->got < WIRE_HEADER)
		return 0;
	why = c->a->hear ? wire_copy_unpack(&f, c->in, c->a->host->crc32c)
			 : wire_unpack(&f, c->in, c->a->host->crc32c);
	if (why)
		return broken(c, -EPIPE, "sent %s", why);
	if (f.type == WIRE_WELCOME && !c->a->hear &&
	    c->handshake.state == HANDSHAKE_DONE)
		return broken(c, -EXDEV, "takes copies");
	bytes = f.header_bytes + f.payload_bytes;
	if (bytes > c->in_bytes)
		return broken(c, -EPROTO, "sent an answer that is too long");
	if (c->got < bytes)
		return 0;
	*used = bytes;
	return answer_do(c, &f, c->in + f.header_bytes);
}

static int
answers_hear(struct channel *c)
{
	uint32_t used = 1;
	int got, err = 0;

	got = line_read(&c->line, c->in + c->got, c->in_bytes - c->got);
	if (got < 0)
		return got == -ENODATA
			   ? broken(c, -EPIPE, "closed the connection")
			   : broken(c, got, "is gone: %s", strerror(-got));
	c->got += (uint32_t)got;
	while (used && c->got && !err) {
		err = answer_take(c, &used);
		if (err)
			break;
		c->got -= used;
		memmove(c->in, c->in + used, c->got);
	}
	return err;
}

/* ---- sending --------------------------------------------------------- */

int
channel_flush(struct channel *c)
{
	int err = line_flush(&c->line, 0);

	return !err || err == -EAGAIN
		   ? 0
		   : broken(c, err, "is gone: %s", strerror(-err));
}

int
channel_put(struct channel *c, const struct wire_frame *f, const void *payload,
	    int64_t now)
{
	bool beside = c->a->beside && f->type == WIRE_PIECE;
	int err;

	c->frame = *f;
	c->spoke = now;
	err = beside ? c->a->beside->put(c) : 0;
	if (err)
		return broken(c, err, "is gone: %s", strerror(-err));
	wire_pack(&c->frame, c->header, c->a->host->crc32c);
	line_give(&c->line, c->header, WIRE_HEADER);
	if (f->payload_bytes && !beside)
		line_give(&c->line, payload, f->payload_bytes);
	return channel_flush(c);
}

int
channel_step(struct channel *c, int64_t now)
{
	int err = 0;

	if (c->state == CHANNEL_DOWN)
		err = call(c, now);
	if (!err)
		err = answers_hear(c);
	if (err)
		return err;
	err = channel_flush(c);
	if (err)
		return err;
	err = c->a->beside ? c->a->beside->step(c, now) : 0;
	if (c->a->beside && channel_is_free(c))
		line_was_good(&c->line);
	/*
	 * After END the receiver may close UCX as soon as it has everything,
	 * before its answer came.  An error of UCX counts only before that.
	 */
	if (err && c->state == CHANNEL_OPEN)
		return broken(c, err, "is gone: UCX says so");
	if (line_is_dead(&c->line, now))
		return broken(c, -ETIMEDOUT,
			      "is gone: nothing that was sent is answered");
	if (c->state == CHANNEL_GREETS && now - c->spoke > GREETING)
		return broken(c, -ETIMEDOUT,
			      "does not answer as spate does; --plain sends "
			      "bytes to others");
	return 0;
}
