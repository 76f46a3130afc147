/* SPDX-License-Identifier: MIT */
/* Makes connections: looks up the name, tries each address, says HELLO and
 * proves the secret. */
#include "flow/copy/copy_out_priv.h"

#include <errno.h>
#include <jansson.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/secret.h"
#include "wire/handshake.h"
#include "wire/refuse.h"

enum { CONNECT_S = 10, ANSWER_S = 20 };

/* ---- the URL ------------------------------------------------------------ */

int
copy_url_read(const char *to, char host[256], char port[8], char *why,
	      size_t why_bytes)
{
	const char *at = to + 6, *end, *colon;
	bool six = !strncmp(to, "tcp://[", 7);
	size_t n;

	if (strncmp(to, "tcp://", 6) != 0)
		goto bad;
	end = six ? strchr(++at, ']') : at + strcspn(at, ":/");
	if (!end || end == at || (size_t)(end - at) > 255)
		goto bad;
	n = (size_t)(end - at);
	memcpy(host, at, n);
	host[n] = '\0';
	colon = end + six;
	snprintf(port, 8, "%d", WIRE_PORT);
	if (!*colon)
		return 0;
	if (*colon != ':' || strlen(colon + 1) > 5 || !colon[1] ||
	    strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
	    atoi(colon + 1) > 65535 || atoi(colon + 1) < 1)
		goto bad;
	strcpy(port, colon + 1);
	return 0;
bad:
	snprintf(why, why_bytes,
		 "'%.200s' is no URL of an inbox, as "
		 "tcp://10.0.0.7:2631 or tcp://[fd00::7]:2631",
		 to);
	return -EINVAL;
}

/* ---- what goes wrong ---------------------------------------------------- */

int
copy_out_broke(struct copy_out *c, int err)
{
	char why[SEND_SENTENCE];

	if (err == -ECANCELED)
		return err;
	snprintf(why, sizeof why, "%s: %s", c->a.to,
		 err == -ECONNRESET  ? "the connection broke"
		 : err == -ETIMEDOUT ? "it does not answer"
				     : strerror(-err));
	copy_out_say(c, SENDER_CONNECTING, why);
	return -EAGAIN;
}

int
copy_out_refused(struct copy_out *c, const uint8_t *payload, uint32_t bytes)
{
	char why[SEND_SENTENCE];
	struct refuse r;

	refuse_unpack(&r, payload, bytes);
	snprintf(why, sizeof why, "%.120s: %.100s%s%.90s", c->a.to, r.what,
		 *r.why ? ": " : "", r.why);
	if (strcmp(r.code, "busy") != 0 && strcmp(r.code, "no-disk") != 0)
		return copy_out_fail(c, "%s", why);
	copy_out_say(c, SENDER_CONNECTING, why);
	return -EAGAIN;
}

/* ---- connecting --------------------------------------------------------- */

static int
connect_to(struct copy_out *c, const struct addrinfo *a, int *fd)
{
	struct pollfd p[2] = { { .events = POLLOUT },
			       { .fd = c->stop, .events = POLLIN } };
	socklen_t n = sizeof(int);
	int err = 0;

	*fd =
	    socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return -errno;
	p[0].fd = *fd;
	if (connect(*fd, a->ai_addr, a->ai_addrlen) < 0 &&
	    errno != EINPROGRESS) {
		err = -errno;
	} else if (poll(p, 2, CONNECT_S * 1000) <= 0) {
		err = -ETIMEDOUT;
	} else if (p[1].revents) {
		err = -ECANCELED;
	} else {
		getsockopt(*fd, SOL_SOCKET, SO_ERROR, &err, &n);
		err = -err;
	}
	if (!err) {
		link_tune(*fd, true);
		return 0;
	}
	close(*fd);
	*fd = -1;
	return err;
}

static int
dial(struct copy_out *c, int *fd)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char host[256], port[8], why[SEND_SENTENCE];
	struct addrinfo *list;
	int err, found;

	if (copy_url_read(c->a.to, host, port, why, sizeof why))
		return copy_out_fail(c, "%s", why);
	found = getaddrinfo(host, port, &hints, &list);
	if (found) {
		snprintf(why, sizeof why, "cannot look up %.200s: %s", host,
			 gai_strerror(found));
		if (found != EAI_AGAIN)
			return copy_out_fail(c, "%s", why);
		copy_out_say(c, SENDER_CONNECTING, why);
		return -EAGAIN;
	}
	err = -ENOENT;
	for (const struct addrinfo *a = list; a && err && err != -ECANCELED;
	     a = a->ai_next)
		err = connect_to(c, a, fd);
	freeaddrinfo(list);
	return err ? copy_out_broke(c, err) : 0;
}

/* ---- greeting ----------------------------------------------------------- */

static json_t *
about(const struct copy_out *c)
{
	json_t *about = json_pack("{s:b, s:s, s:I}", "copy", 1, "name",
				  c->a.name, "attempt", (json_int_t)c->attempt);

	if (about && c->a.as)
		json_object_set_new(about, "as", json_string(c->a.as));
	return about;
}

static int
hello_send(struct copy_out *c, unsigned i, uint8_t hello[WIRE_HELLO_BYTES])
{
	const struct wire_hello h = { .version = WIRE_VERSION,
				      .packet_bytes = 1,
				      .connections = c->lanes,
				      .connection = i,
				      .transfer = c->transfer };
	const struct wire_frame f = { .type = WIRE_HELLO };
	json_t *json = about(c);
	size_t n = WIRE_HELLO_BYTES;

	wire_hello_pack(&h, hello);
	memcpy(c->buffer, hello, n);
	n += json_dumpb(json, (char *)c->buffer + n, 4096, JSON_COMPACT);
	json_decref(json);
	return link_send(&c->lane[i].link, &f, c->buffer, (uint32_t)n);
}

/* Sends the frame that the handshake has made, if any. */
static int
shake(const struct copy_lane *l, const struct handshake *h)
{
	struct wire_frame f;

	if (!h->out_bytes)
		return 0;
	if (wire_copy_unpack(&f, h->out, crc32c))
		return -EINVAL;
	return link_send(&l->link, &f, h->out + WIRE_HEADER, f.payload_bytes);
}

/* Handles frames until WELCOME. */
static int
greeted(struct copy_out *c, struct copy_lane *l, struct handshake *h)
{
	int64_t until = clock_steady() + ANSWER_S * NS_SECOND;
	struct wire_frame f;
	const char *why;
	int err;

	for (;;) {
		err = link_frame(&l->link, &f, until, &why);
		if (!err && f.payload_bytes > WIRE_ANSWER_MOST)
			return copy_out_fail(c, "%s is no inbox", c->a.to);
		if (!err)
			err = link_payload(&l->link, &f, c->buffer);
		if (err == -EBADMSG)
			return copy_out_fail(c, "%s sent %s", c->a.to,
					     why ? why : "a damaged frame");
		if (err)
			return copy_out_broke(c, err);
		if (f.type == WIRE_REFUSE)
			return copy_out_refused(c, c->buffer, f.payload_bytes);
		if (!handshake_take(h, &f, c->buffer))
			break;
		if (h->state == HANDSHAKE_BROKEN)
			return copy_out_fail(c, "%s sent %s", c->a.to, h->why);
		err = shake(l, h);
		if (err)
			return copy_out_broke(c, err);
	}
	if (f.type == WIRE_WELCOME)
		return 0;
	return copy_out_fail(c, "%s takes no copies", c->a.to);
}

static int
greet(struct copy_out *c, unsigned i)
{
	const struct wire_frame here = { .type = WIRE_STATE };
	struct handshake_args args = { .secret = c->secret,
				       .secret_bytes = c->a.secret_bytes,
				       .hmac = hmac_sha256,
				       .crc32c = crc32c,
				       .sender = true };
	uint8_t hello[WIRE_HELLO_BYTES];
	struct copy_lane *l = &c->lane[i];
	struct handshake h;
	int err;

	if (getrandom(args.nonce, sizeof args.nonce, 0) != sizeof args.nonce)
		return copy_out_fail(c, "there are no random numbers");
	handshake_begin(&h, &args);
	err = hello_send(c, i, hello);
	if (err)
		return copy_out_broke(c, err);
	handshake_hello(&h, hello);
	err = greeted(c, l, &h);
	if (err)
		return err;
	err = link_send(&l->link, &here, NULL, 0);
	return err ? copy_out_broke(c, err) : 0;
}

int
copy_out_connect(struct copy_out *c, unsigned i)
{
	struct copy_lane *l = &c->lane[i];
	int err;

	if (!l->buffer)
		l->buffer = malloc(WIRE_HEADER + COPY_PIECE);
	if (!l->buffer)
		return copy_out_fail(c, "out of memory");
	l->bytes = l->sent = 0;
	l->link.stop = c->stop;
	err = dial(c, &l->link.fd);
	if (!err)
		err = greet(c, i);
	if (err)
		return err;
	pthread_mutex_lock(&c->lock);
	link_peer(l->link.fd, c->facts.send.peer);
	c->facts.send.connections++;
	pthread_mutex_unlock(&c->lock);
	return 0;
}

void
copy_out_hang_up(struct copy_out *c)
{
	for (unsigned i = 0; i < COPY_OUT_LANES; i++) {
		if (c->lane[i].link.fd >= 0)
			close(c->lane[i].link.fd);
		c->lane[i].link.fd = -1;
	}
	pthread_mutex_lock(&c->lock);
	c->facts.send.connections = 0;
	c->facts.rate = 0;
	pthread_mutex_unlock(&c->lock);
}
