/* SPDX-License-Identifier: MIT */
/*
 * A frame is told when it is whole and its checksum right, from where it was
 * read: the core copies its packets to their slots while they are in the
 * cache.  Reading frames into slots at once was considered: a frame that
 * comes in pieces would need its slots kept for it between two calls.
 *
 * A connection that has a whole frame which may not be told yet, because
 * others lag or the pool is full, is read no further: its sender waits.
 *
 *   read -> whole? -> aimed at it? -> may it be told? -> told
 */
#include "framed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "contract/format.h"
#include "packet.h"

#define GREETING INT64_C(5000000000) /* ns in which a HELLO has to come */

int
framed_make(struct framed *f, struct door *door, struct peer *peer,
	    unsigned lines, const struct receive_args *args)
{
	struct transfer_args transfer = {
		.seats = lines,
		.packet_bytes = args->payload,
		.reach = args->reach,
		.parts = args->shape ? args->shape->parts : 1,
	};
	int err;

	*f = (struct framed){ .door = door,
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
framed_free(struct framed *f)
{
	while (f->lines)
		inlet_free(&f->line[--f->lines].inlet);
	free(f->line);
	transfer_free(&f->transfer);
}

/* ---- who comes and goes ---------------------------------------------- */

static void
line_seat(struct framed *f, unsigned i, int fd, const union endpoint *from)
{
	struct framed_line *l = &f->line[i];

	inlet_clear(&l->inlet);
	l->begun = l->greeted = l->aimed = false;
	l->age = 0;
	peer_seat(&f->peer[i], fd, from);
}

static void
door_look(struct framed *f)
{
	union endpoint from;
	unsigned i;
	int fd;

	while ((fd = door_accept(f->door, &from)) >= 0) {
		for (i = 0; i < f->lines && f->peer[i].fd >= 0; i++)
			;
		if (i < f->lines)
			line_seat(f, i, fd, &from);
		else
			door_refuse(f->door, fd, &from,
				    "all of the stream's `connections` are "
				    "taken");
	}
}

void
framed_drop(struct framed *f, unsigned source, enum log_level level,
	    const char *why)
{
	struct framed_line *l = &f->line[source];

	if (l->greeted)
		transfer_leave(&f->transfer, source);
	l->greeted = false;
	inlet_clear(&l->inlet);
	peer_wake(&f->peer[source], false);
	peer_leave(&f->peer[source], level, why);
}

static void
broken(struct framed *f, unsigned source, const char *what)
{
	char why[160];

	snprintf(why, sizeof why, "sent %s, and is cut off", what);
	framed_drop(f, source, LOG_WARN, why);
}

/* The answer: nothing is here already, send what you have. */
static void
have_send(const struct framed *f, const struct peer *peer)
{
	const struct wire_frame have = { .type = WIRE_HAVE };
	uint8_t bytes[WIRE_HEADER];

	wire_pack(&have, bytes, f->line[0].inlet.crc32c);
	if (send(peer->fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL) !=
	    sizeof bytes)
		peer->host->log(peer->host->ctx, LOG_DEBUG,
				"%s does not listen to answers", peer->name);
}

static void
greet(struct framed *f, unsigned source)
{
	struct framed_line *l = &f->line[source];
	struct peer *peer = &f->peer[source];
	struct wire_hello hello;
	const char *why;
	char line[160];
	int gone = -1;

	why = wire_hello_unpack(&hello, inlet_payload(&l->inlet),
				l->inlet.frame.payload_bytes);
	if (why || l->greeted) {
		broken(f, source, why ? why : "a second hello");
		return;
	}
	why = transfer_join(&f->transfer, source, &hello, &gone);
	if (why) {
		snprintf(line, sizeof line, "is refused: %s", why);
		framed_drop(f, source, LOG_WARN, line);
		return;
	}
	l->greeted = true;
	if (gone >= 0)
		framed_drop(f, (unsigned)gone, LOG_WARN,
			    "is cut off: it has connected again");
	have_send(f, peer);
	peer->host->log(peer->host->ctx, LOG_INFO, "%s is connected, %u of %u",
			peer->name, hello.connection + 1, hello.connections);
	inlet_next(&l->inlet);
}

/* ---- frames ---------------------------------------------------------- */

static void
line_end(struct framed *f, unsigned source, int err)
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
	framed_drop(f, source, LOG_WARN, why);
}

/* Reads once; true when there may be more. */
static bool
line_read(struct framed *f, unsigned source)
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

/* Where a frame begins is known before it is whole. */
static const char *
frame_begin(struct framed *f, unsigned source, bool whole)
{
	struct framed_line *l = &f->line[source];
	const struct wire_frame *k = &l->inlet.frame;
	const char *why = NULL;

	if (k->type == WIRE_HELLO)
		return NULL;
	if (!l->greeted)
		return "no hello first";
	if (k->type == WIRE_HAVE)
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

/* The core is to aim at the packet that comes next. */
static void
aim(struct framed_line *l, struct receive_batch *b)
{
	b->known = true;
	b->next = l->next;
	l->aimed = true;
	l->aim = l->next;
}

static void
packets_tell(struct framed *f, struct framed_line *l, unsigned n,
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
frame_finish(struct framed *f, unsigned source)
{
	struct framed_line *l = &f->line[source];

	inlet_next(&l->inlet);
	l->begun = false;
	transfer_stand(&f->transfer, source, l->next, false);
	transfer_heard(&f->transfer, source);
}

static void
data_tell(struct framed *f, unsigned source, struct receive_batch *b)
{
	struct framed_line *l = &f->line[source];
	unsigned n = l->inlet.frame.packets - l->told;

	if (n && (!l->aimed || l->aim != l->next)) {
		aim(l, b);
		b->again = true;
		return;
	}
	if (n > b->room)
		n = b->room;
	if (n > RECEIVE_BATCH)
		n = RECEIVE_BATCH;
	n = transfer_may(&f->transfer, source, n);
	packets_tell(f, l, n, b);
	f->peer[source].held = true;
	if (l->told == l->inlet.frame.packets) {
		frame_finish(f, source);
		b->again = true;
	}
}

/* What the frame at the front asks for, as far as it is there. */
static void
frame_do(struct framed *f, unsigned source, struct receive_batch *b)
{
	struct framed_line *l = &f->line[source];
	enum inlet_state state = inlet_frame(&l->inlet);
	const char *why = l->inlet.why;

	if (state != INLET_BROKEN && l->inlet.headed)
		why = frame_begin(f, source, state == INLET_WHOLE);
	if (why) {
		broken(f, source, why);
	} else if (state != INLET_WHOLE) {
		return;
	} else if (l->inlet.frame.type == WIRE_HELLO) {
		greet(f, source);
		b->again = true;
	} else if (l->inlet.frame.type == WIRE_END) {
		framed_drop(f, source, LOG_INFO, "has sent everything");
	} else {
		data_tell(f, source, b);
	}
}

/* What is left in the inlet; true when it does not need more bytes to go on.
 * The core is told again where to aim, even if nothing was told: others may
 * have begun the run that this packet is of. */
static bool
look_ahead(struct framed *f, unsigned source, struct receive_batch *b)
{
	struct framed_line *l = &f->line[source];
	enum inlet_state state = inlet_frame(&l->inlet);

	if (b->packets && l->inlet.headed)
		frame_begin(f, source, state == INLET_WHOLE);
	if (l->begun)
		aim(l, b);
	return state != INLET_PARTIAL;
}

int
framed_receive(struct framed *f, unsigned source, struct receive_batch *b)
{
	struct framed_line *l = &f->line[source];
	struct peer *peer = &f->peer[source];
	bool more = false;

	if (peer->fd >= 0 && inlet_frame(&l->inlet) == INLET_PARTIAL)
		more = line_read(f, source);
	if (peer->fd >= 0)
		frame_do(f, source, b);
	if (source == 0 && !b->packets)
		door_look(f);
	peer_wake(peer, peer->fd >= 0 && look_ahead(f, source, b));
	peer->counts.datagrams += b->packets;
	b->again = (b->again || more) && peer->fd >= 0;
	b->want = RECEIVE_BATCH;
	return 0;
}

void
framed_tick(struct framed *f, int64_t ns)
{
	transfer_tick(&f->transfer, ns);
	door_look(f);
	for (unsigned i = 0; i < f->lines; i++) {
		struct framed_line *l = &f->line[i];

		if (f->peer[i].fd < 0 || l->greeted)
			continue;
		l->age += ns;
		if (l->age >= GREETING)
			framed_drop(f, i, LOG_WARN,
				    "has sent no hello, and is cut off");
	}
}
