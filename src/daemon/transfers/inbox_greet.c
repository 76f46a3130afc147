/* SPDX-License-Identifier: MIT */
/*
 * The start of a connection: HELLO, the proof of the secret, WELCOME; or
 * REFUSE.
 */
#include "daemon/transfers/inbox_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "wire/handshake.h"
#include "wire/refuse.h"

enum { LINGER_S = 2, HELLO_MOST = 64 << 10 };

/* ---- refusing -------------------------------------------------------- */

/*
 * Reads and drops what the peer still sends: closing a socket with unread data
 * would make the kernel discard our REFUSE.
 */
static void
linger(const struct copy_link *l)
{
	uint8_t dust[4096];

	shutdown(l->fd, SHUT_WR);
	while (clock_steady() < l->by &&
	       !link_read(l, dust, sizeof dust, l->by))
		;
}

void
inbox_refuse(struct inbox_caller *c, const struct fault *fault)
{
	const struct wire_frame f = { .type = WIRE_REFUSE };
	uint8_t text[REFUSE_MOST];
	struct refuse r;

	snprintf(r.code, sizeof r.code, "%s", fault->code);
	snprintf(r.what, sizeof r.what, "%.*s", (int)sizeof r.what - 1,
		 fault->what);
	snprintf(r.why, sizeof r.why, "%.*s%s%.*s", 160, fault->why,
		 *fault->why && *fault->hint ? "; " : "", 60, fault->hint);
	c->link.link.by = clock_steady() + LINGER_S * NS_SECOND;
	if (!link_send(&c->link.link, &f, text, refuse_pack(&r, text)))
		linger(&c->link.link);
}

/* ---- greeting -------------------------------------------------------- */

static int
hello_read(struct inbox_greeting *g, const uint8_t *payload, uint32_t bytes,
	   struct fault *fault)
{
	struct wire_hello h;
	const char *why = wire_hello_unpack(&h, payload, bytes), *name, *as;
	json_t *about;

	if (why)
		return copy_in_lie(fault, why);
	about = json_loadb((const char *)payload + WIRE_HELLO_BYTES,
			   bytes - WIRE_HELLO_BYTES, 0, NULL);
	name = json_string_value(json_object_get(about, "name"));
	as = json_string_value(json_object_get(about, "as"));
	g->copy = json_is_true(json_object_get(about, "copy"));
	g->hello = (struct copy_in_hello){
		.transfer = h.transfer,
		.attempt = (uint64_t)json_integer_value(
		    json_object_get(about, "attempt")),
		.connections = h.connections,
		.connection = h.connection,
	};
	g->as = as;
	name = as ? as : name;
	if (name && layout_folder_good(name))
		snprintf(g->name, sizeof g->name, "%s", name);
	json_decref(about);
	if (!g->copy)
		return fault_set(fault, -EPROTO, "copies",
				 "copies of whole recordings come in here, "
				 "and nothing else");
	if (!*g->name)
		return fault_set(fault, -EINVAL, "bad",
				 "no recording can have that name");
	return h.connections > COPY_IN_LINKS
		   ? fault_set(fault, -E2BIG, "bad",
			       "%d connections are the most of a copy",
			       COPY_IN_LINKS)
		   : 0;
}

static int
handshake_send(const struct inbox_caller *c, struct handshake *h)
{
	struct wire_frame f;
	const char *why;

	if (!h->out_bytes)
		return 0;
	why = wire_copy_unpack(&f, h->out, crc32c);
	if (why)
		return -EINVAL; /* cannot happen: handshake.h made the frame */
	return link_send(&c->link.link, &f, h->out + WIRE_HEADER,
			 h->out_bytes - WIRE_HEADER);
}

static int
prove(const struct inbox_caller *c, const uint8_t *hello, struct fault *fault)
{
	struct handshake_args args = { .secret = c->inbox->secret.bytes,
				       .secret_bytes = c->inbox->secret.n,
				       .hmac = hmac_sha256,
				       .crc32c = crc32c };
	uint8_t payload[WIRE_PROOF_BYTES];
	struct wire_frame f;
	struct handshake h;
	const char *why;
	int err;

	if (getrandom(args.nonce, sizeof args.nonce, 0) != sizeof args.nonce)
		return -EIO;
	handshake_begin(&h, &args);
	handshake_hello(&h, hello);
	err = handshake_send(c, &h);
	if (err || h.state == HANDSHAKE_DONE)
		return err;
	err = link_frame(&c->link.link, &f, INT64_MAX, &why);
	if (!err && f.payload_bytes > sizeof payload)
		why = "no proof that it knows the secret";
	if (!err && !why)
		err = link_payload(&c->link.link, &f, payload);
	if (!err && !why) {
		handshake_take(&h, &f, payload);
		why = h.state == HANDSHAKE_DONE ? NULL : h.why;
	}
	if (err && err != -EBADMSG)
		return err;
	if (err || why)
		return fault_set(fault, -EACCES, "secret", "the sender sent %s",
				 why ? why : "no proof");
	return handshake_send(c, &h);
}

/* Reads the HELLO, checks the proof, and sends WELCOME. */
int
inbox_greet(struct inbox_caller *c, struct inbox_greeting *g,
	    struct fault *fault)
{
	const struct wire_frame welcome = { .type = WIRE_WELCOME };
	const char *why;
	struct wire_frame f;
	uint8_t *payload;
	int err = link_frame(&c->link.link, &f, INT64_MAX, &why);

	if (err)
		return err == -EBADMSG ? copy_in_lie(fault, why) : err;
	if (f.type != WIRE_HELLO || f.payload_bytes > HELLO_MOST)
		return copy_in_lie(fault, "no hello");
	payload = malloc(HELLO_MOST);
	if (!payload)
		return -ENOMEM;
	err = link_read(&c->link.link, payload, f.payload_bytes, INT64_MAX);
	if (!err && crc32c(0, payload, f.payload_bytes) != f.payload_crc)
		err = copy_in_lie(fault, "a hello with a wrong checksum");
	/*
	 * Check the proof before the rest of the HELLO: a stranger learns
	 * nothing about it.
	 */
	if (!err && f.payload_bytes < WIRE_HELLO_BYTES)
		err = copy_in_lie(fault, "a hello that is too short");
	if (!err)
		err = prove(c, payload, fault);
	if (!err)
		err = hello_read(g, payload, f.payload_bytes, fault);
	if (!err)
		err = inbox_prove(c, fault);
	free(payload);
	return err ? err : link_send(&c->link.link, &welcome, "{}", 2);
}

/* ---- the log ------------------------------------------------------------ */

void
inbox_refused(struct inbox *in, const char *from, const char *why)
{
	int64_t now = clock_steady();
	unsigned unsaid = 0;
	bool say;

	pthread_mutex_lock(&in->lock);
	say = now - in->said >= NS_SECOND;
	if (say) {
		unsaid = in->unsaid;
		in->said = now;
	}
	in->unsaid = say ? 0 : in->unsaid + 1;
	pthread_mutex_unlock(&in->lock);
	if (unsaid)
		log_line(LEVEL_WARN, NULL,
			 "inbox: %u more connections were refused", unsaid);
	if (say)
		log_line(LEVEL_WARN, NULL,
			 "inbox: a connection of %s is refused: %s", from, why);
}
