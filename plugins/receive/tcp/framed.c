/* SPDX-License-Identifier: MIT */
/*
 * Large frames are read to their end and no further than the next header, so
 * that each lies where the one before it lay, in memory that is in the cache.
 * Small frames are read many at once.  Bytes left over, a header or part of a
 * small frame, move to the front.
 *
 *   start                                end
 *     | header | payload ... | header ... |
 *
 * The checksum is computed as bytes come, right after the kernel wrote them.
 *
 * Accepts or refuses a sender that says HELLO.  The secret is asked for first,
 * so that a stranger learns nothing and disturbs no transfer.
 *
 * A refused sender is told why.  Unread bytes in the socket would make the
 * kernel reset the connection and throw that answer away, so they are read
 * before the connection is closed.
 *
 * A frame is handed over when it is whole and its checksum is right, from where
 * it was read: the core copies its packets to their slots while they are in the
 * cache.  Reading frames into slots directly was considered and rejected: a
 * frame that comes in pieces would need its slots kept between two calls.
 *
 * A connection with a whole frame that must wait, because other connections lag
 * or the pool is full, is read no further, and TCP makes its sender wait.
 *
 *   read -> whole? -> new? -> core placed pairs for it? -> may go? -> core
 */
#include "framed.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "contract/format.h"
#include "receive/packet.h"

enum { LARGE = 64 << 10 };

/* 0 or -ENOMEM */
static int
inlet_make(struct inlet *in, wire_crc32c *crc32c)
{
	*in = (struct inlet){ .crc32c = crc32c };
	in->data = malloc(INLET_BYTES);
	return in->data ? 0 : -ENOMEM;
}

static void
inlet_free(struct inlet *in)
{
	free(in->data);
}

/* for the next connection */
static void
inlet_clear(struct inlet *in)
{
	*in = (struct inlet){ .crc32c = in->crc32c,
			      .data = in->data,
			      .beside = in->beside };
}

static bool
is_beside(const struct inlet *in)
{
	return in->beside && in->frame.type == WIRE_DATA;
}

/* Returns the bytes of the first frame that come in the connection. */
static uint32_t
frame_bytes(const struct inlet *in)
{
	return in->frame.header_bytes +
	       (is_beside(in) ? 0 : in->frame.payload_bytes);
}

/*
 * Returns where the next bytes are to be read to, and how many fit.  Only in
 * state INLET_PARTIAL.
 */
static uint8_t *
inlet_room(struct inlet *in, uint32_t *bytes)
{
	uint32_t have = in->end - in->start;
	uint32_t whole = in->headed ? frame_bytes(in) : 0;
	uint32_t need = whole > have ? whole - have : 0;

	if (in->start)
		memmove(in->data, in->data + in->start, have);
	in->start = 0;
	in->end = have;
	*bytes = need >= LARGE ? need + WIRE_HEADER : INLET_WINDOW;
	return in->data + have;
}

/* Notes that the caller has read so many bytes to inlet_room(). */
static void
inlet_came(struct inlet *in, uint32_t bytes)
{
	in->end += bytes;
}

static void
header_read(struct inlet *in)
{
	const uint8_t *at = in->data + in->start;
	uint32_t have = in->end - in->start;

	/*
	 * The magic is checked before the header is whole: a sender of another
	 * protocol may send less than a header and wait for an answer.
	 */
	if (have >= sizeof(uint32_t) && read_le32(at) != WIRE_MAGIC)
		in->why = "something that is no frame of spate's";
	else if (have >= WIRE_HEADER)
		in->why = wire_unpack(&in->frame, at, in->crc32c);
	in->headed = have >= WIRE_HEADER && !in->why;
	in->checked = in->crc = 0;
}

/* Continues the checksum over the part of the payload that is here. */
static void
payload_check(struct inlet *in)
{
	uint32_t have = in->end - in->start, came;

	if (is_beside(in)) {
		if (in->payload && !in->checked && !in->trusted)
			in->crc =
			    in->crc32c(0, in->payload, in->frame.payload_bytes);
		in->checked = in->payload ? in->frame.payload_bytes : 0;
		return;
	}
	if (have <= in->frame.header_bytes)
		return;
	came = have - in->frame.header_bytes;
	if (came > in->frame.payload_bytes)
		came = in->frame.payload_bytes;
	in->crc = in->crc32c(in->crc, inlet_payload(in) + in->checked,
			     came - in->checked);
	in->checked = came;
}

/* Checks the first frame as far as it is here, and returns its state. */
static enum inlet_state
inlet_frame(struct inlet *in)
{
	if (!in->headed && !in->why)
		header_read(in);
	if (!in->headed)
		return in->why ? INLET_BROKEN : INLET_PARTIAL;
	payload_check(in);
	if (in->end - in->start < frame_bytes(in) || inlet_waits(in))
		return INLET_PARTIAL;
	if (in->trusted || in->crc == in->frame.payload_crc)
		return INLET_WHOLE;
	in->headed = false;
	in->why = "a frame whose payload has a wrong checksum";
	return INLET_BROKEN;
}

/* Removes the first frame. */
static void
inlet_next(struct inlet *in)
{
	in->start += frame_bytes(in);
	in->taken += in->payload != NULL;
	in->payload = NULL;
	in->trusted = false;
	in->headed = false;
}

enum {
	UNREAD = 1 << 20, /* bytes, at most, that are read and thrown away */
	BESIDE_MOST = 3072,
};

int
framed_secret(struct framed_receiver *f, const char *file,
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

/* Sends HAVE: the receiver has everything before `first` of `run`. */
static void
framed_have(const struct framed_receiver *f, unsigned source, uint64_t run,
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
beside_tell(struct framed_receiver *f, unsigned source)
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

/*
 * Sends REFUSE with a code of refuse.h and a sentence.  The caller closes fd.
 */
static void
framed_tell_why(const struct framed_receiver *f, int fd, const char *code,
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

/* Sends REFUSE to a sender and closes its connection. */
static void
framed_refuse(struct framed_receiver *f, unsigned source, const char *code,
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

/*
 * Closes the connection of a sender that broke the protocol; `what` says how.
 */
static void
framed_broken(struct framed_receiver *f, unsigned source, const char *what)
{
	char why[160];

	snprintf(why, sizeof why, "sent %s, and is cut off", what);
	if (f->line[source].greeted)
		framed_tell_why(f, f->peer[source].fd, "broken", what);
	framed_drop(f, source, LEVEL_WARN, why);
}

/* ---- accepting --------------------------------------------------------- */

static void
join(struct framed_receiver *f, unsigned source)
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
challenge(struct framed_receiver *f, unsigned source)
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

/* Handles a HELLO that is whole. */
static void
framed_greet(struct framed_receiver *f, unsigned source)
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

static void
framed_proof(struct framed_receiver *f, unsigned source)
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

#define GREETING INT64_C(5000000000) /* ns in which a HELLO has to come */

int
framed_make(struct framed_receiver *f, struct door *door, struct peer *peer,
	    unsigned lines, const struct receive_args *args)
{
	struct transfer_args transfer = {
		.seats = lines,
		.packet_bytes = args->payload,
		.reach = args->reach,
		.parts = args->shape ? args->shape->parts : 1,
	};
	int err;

	*f = (struct framed_receiver){ .door = door,
				       .peer = peer,
				       .packet_bytes = args->payload };
	f->line = calloc(lines, sizeof *f->line);
	err = transfer_make(&f->transfer, &transfer);
	if (!f->line)
		err = -ENOMEM;
	while (!err && f->lines < lines)
		err =
		    inlet_make(&f->line[f->lines++].inlet, args->host->crc32c);
	return err;
}

void
framed_free(struct framed_receiver *f)
{
	while (f->lines)
		inlet_free(&f->line[--f->lines].inlet);
	explicit_bzero(f->secret, sizeof f->secret);
	free(f->line);
	transfer_free(&f->transfer);
}

/* ---- connections ------------------------------------------------------- */

static void
line_seat(struct framed_receiver *f, unsigned i, int fd,
	  const union endpoint *from)
{
	struct framed_line *l = &f->line[i];

	inlet_clear(&l->inlet);
	l->begun = l->greeted = l->proves = l->aimed = l->blocked = false;
	l->age = 0;
	peer_seat(&f->peer[i], fd, from);
}

static void
door_look(struct framed_receiver *f)
{
	static const char taken[] =
	    "all of the stream's `connections` are taken";
	union endpoint from;
	unsigned i;
	int fd;

	while ((fd = door_accept(f->door, &from)) >= 0) {
		for (i = 0; i < f->lines && f->peer[i].fd >= 0; i++)
			;
		if (i < f->lines) {
			line_seat(f, i, fd, &from);
			continue;
		}
		framed_tell_why(f, fd, "busy", taken);
		door_refuse(f->door, fd, &from, taken);
	}
}

void
framed_drop(struct framed_receiver *f, unsigned source, enum log_level level,
	    const char *why)
{
	struct framed_line *l = &f->line[source];

	if (l->greeted)
		transfer_leave(&f->transfer, source);
	if (f->beside && l->greeted)
		f->beside->leave(f->beside_arg, source);
	l->greeted = l->proves = false;
	inlet_clear(&l->inlet);
	peer_wake(&f->peer[source], false);
	peer_leave(&f->peer[source], level, why);
}

/* ---- frames ---------------------------------------------------------- */

static void
line_end(struct framed_receiver *f, unsigned source, int err)
{
	struct framed_line *l = &f->line[source];
	char why[160];

	if (err == -ENODATA && l->greeted && inlet_is_empty(&l->inlet))
		snprintf(why, sizeof why, "has gone without saying so");
	else
		snprintf(why, sizeof why, "has gone%s%s%s",
			 inlet_is_empty(&l->inlet)
			     ? ""
			     : " in the middle of a frame",
			 err == -ENODATA ? "" : ": ",
			 err == -ENODATA ? "" : strerror(-err));
	framed_drop(f, source, LEVEL_WARN, why);
}

/* Reads once; returns true if there may be more to read. */
static bool
line_read(struct framed_receiver *f, unsigned source)
{
	struct framed_line *l = &f->line[source];
	struct iovec iov;
	uint32_t room;
	int got;

	iov.iov_base = inlet_room(&l->inlet, &room);
	iov.iov_len = room;
	got = peer_read(&f->peer[source], &iov, 1);
	if (got < 0) {
		line_end(f, source, got);
		return false;
	}
	inlet_came(&l->inlet, (uint32_t)got);
	if (got > 0 && l->greeted)
		transfer_heard(&f->transfer, source);
	return (uint32_t)got == room;
}

/*
 * Handles the start of a frame, which is known before the frame is whole:
 * checks its type and moves the seat.  Returns NULL, or what is wrong.
 */
static const char *
frame_begin(struct framed_receiver *f, unsigned source, bool whole)
{
	struct framed_line *l = &f->line[source];
	const struct wire_frame *k = &l->inlet.frame;
	const char *why = NULL;

	if (k->type == WIRE_HELLO || l->proves)
		return NULL;
	if (!l->greeted)
		return "no hello first";
	if (k->type != WIRE_DATA && k->type != WIRE_END)
		return "an answer to nothing";
	if (!l->begun) {
		why = wire_check_data(k, f->packet_bytes);
		l->next = transfer_at(&f->transfer, k);
		l->told = 0;
	}
	if (!why && !transfer_stand(&f->transfer, source, l->next, whole))
		why = "a frame that belongs before another";
	l->begun = !why;
	return why;
}

/* Asks the core to place its next pairs for the packet that comes next. */
static void
aim(struct framed_line *l, struct receive_batch *b)
{
	b->known = true;
	b->next = l->next;
	l->aimed = true;
	l->aim = l->next;
}

static void
packets_tell(struct framed_receiver *f, struct framed_line *l, unsigned n,
	     struct receive_batch *b)
{
	uint8_t *at =
	    inlet_payload(&l->inlet) + (size_t)l->told * f->packet_bytes;

	for (unsigned i = 0; i < n; i++) {
		struct receive_packet *k = &b->packet[b->packets];

		packet_tell_row(
		    b, at, 0, f->packet_bytes,
		    (struct packet_mark){ .flags = RECEIVE_SEQUENCE });
		k->sequence = l->next++;
		at += f->packet_bytes;
	}
	l->told += n;
}

static void
frame_finish(struct framed_receiver *f, unsigned source)
{
	struct framed_line *l = &f->line[source];

	inlet_next(&l->inlet);
	l->begun = false;
	transfer_stand(&f->transfer, source, l->next, false);
	transfer_heard(&f->transfer, source);
}

/*
 * Skips packets that were handed over before: before a connection broke, or
 * when the same transfer was sent before.  Returns how many of n are left.
 */
static unsigned
packets_skip(struct framed_receiver *f, unsigned source, unsigned n)
{
	struct framed_line *l = &f->line[source];
	unsigned skip = told_already(&f->transfer.told, l->next, n);

	l->next += skip;
	l->told += skip;
	if (skip && l->told < l->inlet.frame.packets)
		transfer_stand(&f->transfer, source, l->next, true);
	return n - skip;
}

static void
data_tell(struct framed_receiver *f, unsigned source, struct receive_batch *b)
{
	struct framed_line *l = &f->line[source];
	unsigned n = l->inlet.frame.packets - l->told, may;

	n = packets_skip(f, source, n);
	if (n && (!l->aimed || l->aim != l->next)) {
		aim(l, b);
		b->again = true;
		return;
	}
	if (n > b->room)
		n = b->room;
	if (n > RECEIVE_BATCH)
		n = RECEIVE_BATCH;
	n = told_not_yet(&f->transfer.told, l->next, n);
	may = transfer_may(&f->transfer, source, n);
	l->blocked = n && !may;
	n = may;
	if (n)
		told_add(&f->transfer.told, l->next, n);
	packets_tell(f, l, n, b);
	f->peer[source].held = true;
	if (l->told == l->inlet.frame.packets) {
		frame_finish(f, source);
		b->again = true;
	}
}

/* Acts on the frame at the front, as far as it is here. */
static void
frame_do(struct framed_receiver *f, unsigned source, struct receive_batch *b)
{
	struct framed_line *l = &f->line[source];
	enum inlet_state state = inlet_frame(&l->inlet);
	const char *why = l->inlet.why;

	if (state != INLET_BROKEN && l->inlet.headed)
		why = frame_begin(f, source, state == INLET_WHOLE);
	if (why) {
		framed_broken(f, source, why);
	} else if (state != INLET_WHOLE) {
		return;
	} else if (l->proves) {
		framed_proof(f, source);
		b->again = true;
	} else if (l->inlet.frame.type == WIRE_HELLO) {
		framed_greet(f, source);
		b->again = true;
	} else if (l->inlet.frame.type == WIRE_END) {
		framed_have(f, source, l->inlet.frame.run,
			    l->inlet.frame.first);
		framed_drop(f, source, LEVEL_INFO, "has sent everything");
	} else {
		data_tell(f, source, b);
	}
}

/*
 * Prepares the next call.  Returns true if it can go on without more bytes.
 * The core is told in every call which packet comes next, even if none was
 * handed over: another connection may have begun that packet's run.
 */
static bool
look_ahead(struct framed_receiver *f, unsigned source, struct receive_batch *b)
{
	struct framed_line *l = &f->line[source];
	enum inlet_state state = inlet_frame(&l->inlet);

	if (b->packets && l->inlet.headed)
		frame_begin(f, source, state == INLET_WHOLE);
	if (l->begun)
		aim(l, b);
	else
		l->aimed = false;
	return state != INLET_PARTIAL;
}

static void
beside_look(struct framed_receiver *f, unsigned source, struct receive_batch *b)
{
	const char *why;

	if (!f->beside || !f->line[source].greeted)
		return;
	why = f->beside->look(f->beside_arg, source, b);
	if (why)
		framed_broken(f, source, why);
}

int
framed_receive(struct framed_receiver *f, unsigned source,
	       struct receive_batch *b)
{
	struct framed_line *l = &f->line[source];
	struct peer *peer = &f->peer[source];
	bool more = false, left;

	beside_look(f, source, b);
	if (peer->fd >= 0 && inlet_frame(&l->inlet) == INLET_PARTIAL &&
	    inlet_has_room(&l->inlet))
		more = line_read(f, source);
	if (peer->fd >= 0)
		frame_do(f, source, b);
	if (source == 0 && !b->packets)
		door_look(f);
	left = peer->fd >= 0 && look_ahead(f, source, b);
	if (f->beside && l->greeted)
		left |= f->beside->rest(f->beside_arg, source, &more);
	peer_wake(peer, left);
	peer->counts.datagrams += b->packets;
	b->again = (b->again || more) && peer->fd >= 0;
	b->want = RECEIVE_BATCH;
	return 0;
}

/*
 * Tells whether the sender of a waiting connection has closed it.  A connection
 * whose frame waits for missing packets is not read, so its end would not be
 * seen.  A sender that has gone does not send the missing packets; it sends
 * this frame again when it comes back.
 */
static bool
has_hung_up(const struct framed_receiver *f, unsigned source)
{
	struct pollfd p = { .fd = f->peer[source].fd, .events = POLLRDHUP };

	return f->line[source].blocked && f->transfer.born &&
	       poll(&p, 1, 0) == 1;
}

void
framed_tick(struct framed_receiver *f, int64_t ns)
{
	transfer_tick(&f->transfer, ns);
	door_look(f);
	for (unsigned i = 0; i < f->lines; i++) {
		struct framed_line *l = &f->line[i];

		if (f->peer[i].fd < 0)
			continue;
		if (l->greeted && has_hung_up(f, i))
			framed_drop(f, i, LEVEL_WARN,
				    "has gone, with what comes behind a hole");
		if (l->greeted || f->peer[i].fd < 0)
			continue;
		l->age += ns;
		if (l->age >= GREETING)
			framed_drop(f, i, LEVEL_WARN,
				    "has sent no hello, and is cut off");
	}
}
