/* SPDX-License-Identifier: MIT */
/*
 * Accepts or refuses a sender that says HELLO.  The secret is asked for first,
 * so that a stranger learns nothing and disturbs no transfer.
 *
 * A refused sender is told why.  Unread bytes in the socket would make the
 * kernel reset the connection and throw that answer away, so they are read
 * before the connection is closed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "framed.h"

enum {
	UNREAD = 1 << 20, /* bytes, at most, that are read and thrown away */
	BESIDE_MOST = 3072,
};

int
framed_secret(struct framed *f, const char *file,
	      const struct receive_args *args)
{
	f->secret_bytes = sizeof f->secret;
	return args->host->secret(file, f->secret, &f->secret_bytes, args->why,
				  args->why_bytes);
}

/*
 * Sends an answer.  It is small and fits into the socket's buffer; a sender
 * that does not read it fails by itself.
 */
static void
answer(int fd, const void *bytes, uint32_t n)
{
	ssize_t sent = send(fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);

	(void)sent;
}

void
framed_have(const struct framed *f, unsigned source, uint64_t run,
	    uint64_t first)
{
	const struct wire_frame have = { .type = WIRE_HAVE,
					 .run = run,
					 .first = first };
	uint8_t bytes[WIRE_HEADER];

	wire_pack(&have, bytes, f->line[0].inlet.crc32c);
	answer(f->peer[source].fd, bytes, sizeof bytes);
}

/*
 * Sends BESIDE if payloads come another way: where the sender has to put them.
 * Returns NULL, or a sentence why not.
 */
static const char *
beside_tell(struct framed *f, unsigned source)
{
	wire_crc32c *crc = f->line[0].inlet.crc32c;
	uint8_t bytes[WIRE_HEADER + BESIDE_MOST];
	struct wire_frame k = { .type = WIRE_BESIDE,
				.payload_bytes = BESIDE_MOST };
	const char *why;

	if (!f->beside)
		return NULL;
	why = f->beside->join(f->beside_arg, source, bytes + WIRE_HEADER,
			      &k.payload_bytes);
	if (why)
		return why;
	k.payload_crc = crc(0, bytes + WIRE_HEADER, k.payload_bytes);
	wire_pack(&k, bytes, crc);
	answer(f->peer[source].fd, bytes, WIRE_HEADER + k.payload_bytes);
	return NULL;
}

/* ---- refusing ---------------------------------------------------------- */

void
framed_tell_why(const struct framed *f, int fd, const char *code,
		const char *why)
{
	wire_crc32c *crc = f->line[0].inlet.crc32c;
	uint8_t bytes[WIRE_HEADER + REFUSE_MOST];
	struct wire_frame k = { .type = WIRE_REFUSE };
	struct refuse r = { .why = "" };
	char rubbish[4096];
	ssize_t got = 1;

	snprintf(r.code, sizeof r.code, "%s", code);
	snprintf(r.what, sizeof r.what, "%s", why);
	k.payload_bytes = refuse_pack(&r, bytes + WIRE_HEADER);
	k.payload_crc = crc(0, bytes + WIRE_HEADER, k.payload_bytes);
	wire_pack(&k, bytes, crc);
	answer(fd, bytes, WIRE_HEADER + k.payload_bytes);
	for (unsigned n = 0; got > 0 && n < UNREAD; n += sizeof rubbish)
		got = recv(fd, rubbish, sizeof rubbish, MSG_DONTWAIT);
}

void
framed_refuse(struct framed *f, unsigned source, const char *code,
	      const char *why)
{
	/*
	 * This refusal is no warning: the sender may come back with fewer
	 * connections.
	 */
	bool usual = strcmp(code, "connections") == 0;
	char line[160];

	framed_tell_why(f, f->peer[source].fd, code, why);
	snprintf(line, sizeof line, "is refused: %s", why);
	framed_drop(f, source, usual ? LEVEL_INFO : LEVEL_WARN, line);
}

void
framed_broken(struct framed *f, unsigned source, const char *what)
{
	char why[160];

	snprintf(why, sizeof why, "sent %s, and is cut off", what);
	if (f->line[source].greeted)
		framed_tell_why(f, f->peer[source].fd, "broken", what);
	framed_drop(f, source, LEVEL_WARN, why);
}

/* ---- accepting --------------------------------------------------------- */

static void
join(struct framed *f, unsigned source)
{
	struct framed_line *l = &f->line[source];
	struct peer *peer = &f->peer[source];
	struct transfer_answer a;
	uint64_t run, first;

	l->proves = false;
	a = transfer_join(&f->transfer, source, &l->hello);
	if (a.why) {
		framed_refuse(f, source, a.code, a.why);
		return;
	}
	l->greeted = true;
	if (a.gone >= 0)
		framed_drop(f, (unsigned)a.gone, LEVEL_WARN,
			    "is cut off: it has connected again");
	a.why = beside_tell(f, source);
	if (a.why) {
		framed_refuse(f, source, "busy", a.why);
		return;
	}
	transfer_have(&f->transfer, &run, &first);
	framed_have(f, source, run, first);
	peer->host->log(peer->host->ctx, LEVEL_INFO,
			"%s is connected, %u of %u", peer->name,
			l->hello.wire.connection + 1,
			l->hello.wire.connections);
	inlet_next(&l->inlet);
}

static void
challenge(struct framed *f, unsigned source)
{
	struct framed_line *l = &f->line[source];
	struct handshake_args h = {
		.secret = f->secret,
		.secret_bytes = f->secret_bytes,
		.hmac = f->peer[source].host->hmac_sha256,
		.crc32c = l->inlet.crc32c,
	};

	if (getrandom(h.nonce, sizeof h.nonce, GRND_NONBLOCK) !=
	    sizeof h.nonce) {
		framed_refuse(f, source, "busy", "no random numbers");
		return;
	}
	handshake_begin(&l->handshake, &h);
	handshake_hello(&l->handshake, inlet_payload(&l->inlet));
	answer(f->peer[source].fd, l->handshake.out, l->handshake.out_bytes);
	l->proves = true;
	inlet_next(&l->inlet);
}

void
framed_greet(struct framed *f, unsigned source)
{
	struct framed_line *l = &f->line[source];
	const char *why;

	why = wire_hello_unpack(&l->hello.wire, inlet_payload(&l->inlet),
				l->inlet.frame.payload_bytes);
	l->hello.born = l->inlet.frame.time_ns;
	if (why || l->greeted)
		framed_broken(f, source, why ? why : "a second hello");
	else if (f->secret_bytes)
		challenge(f, source);
	else
		join(f, source);
}

void
framed_proof(struct framed *f, unsigned source)
{
	struct framed_line *l = &f->line[source];
	struct handshake *h = &l->handshake;

	handshake_take(h, &l->inlet.frame, inlet_payload(&l->inlet));
	if (h->state != HANDSHAKE_DONE) {
		framed_refuse(f, source, "secret",
			      "it does not know the secret (secret_file)");
		return;
	}
	answer(f->peer[source].fd, h->out, h->out_bytes);
	join(f, source);
}
