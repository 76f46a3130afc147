/* SPDX-License-Identifier: MIT */
/*
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

#include "contract/format.h"
#include "receive/packet.h"

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
	explicit_bzero(f->secret, sizeof f->secret);
	free(f->line);
	transfer_free(&f->transfer);
}

/* ---- connections ------------------------------------------------------- */

static void
line_seat(struct framed *f, unsigned i, int fd, const union endpoint *from)
{
	struct framed_line *l = &f->line[i];

	inlet_clear(&l->inlet);
	l->begun = l->greeted = l->proves = l->aimed = l->blocked = false;
	l->age = 0;
	peer_seat(&f->peer[i], fd, from);
}

static void
door_look(struct framed *f)
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
framed_drop(struct framed *f, unsigned source, enum log_level level,
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
	framed_drop(f, source, LEVEL_WARN, why);
}

/* Reads once; returns true if there may be more to read. */
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

/*
 * Handles the start of a frame, which is known before the frame is whole:
 * checks its type and moves the seat.  Returns NULL, or what is wrong.
 */
static const char *
frame_begin(struct framed *f, unsigned source, bool whole)
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

/*
 * Skips packets that were handed over before: before a connection broke, or
 * when the same transfer was sent before.  Returns how many of n are left.
 */
static unsigned
packets_skip(struct framed *f, unsigned source, unsigned n)
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
data_tell(struct framed *f, unsigned source, struct receive_batch *b)
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
frame_do(struct framed *f, unsigned source, struct receive_batch *b)
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
look_ahead(struct framed *f, unsigned source, struct receive_batch *b)
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
beside_look(struct framed *f, unsigned source, struct receive_batch *b)
{
	const char *why;

	if (!f->beside || !f->line[source].greeted)
		return;
	why = f->beside->look(f->beside_arg, source, b);
	if (why)
		framed_broken(f, source, why);
}

int
framed_receive(struct framed *f, unsigned source, struct receive_batch *b)
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
has_hung_up(const struct framed *f, unsigned source)
{
	struct pollfd p = { .fd = f->peer[source].fd, .events = POLLRDHUP };

	return f->line[source].blocked && f->transfer.born &&
	       poll(&p, 1, 0) == 1;
}

void
framed_tick(struct framed *f, int64_t ns)
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
