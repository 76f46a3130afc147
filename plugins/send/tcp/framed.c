/* SPDX-License-Identifier: MIT */
/*
 * Every call begins with framed_look(), which opens broken channels again.
 * Then the frames are dealt to channels that have room.  No function waits.
 */
#include "framed.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* a receiver closes a connection that is silent for long */
#define LIVES (5 * NS_SECOND)
/* a channel without frames tells the receiver the position this often */
#define MARK (NS_SECOND / 100)

enum { CHANNELS = 4 }; /* if no number is asked for */

/* ---- opening --------------------------------------------------------- */

static void
json_make(struct framed_sender *f, const struct send_args *args)
{
	json_t *about;
	size_t n;

	if (args->about && strlen(args->about) < sizeof f->json) {
		strcpy(f->json, args->about);
		return;
	}
	about = json_pack("{s:s}", "name", args->name ? args->name : "");
	n = json_dumpb(about, f->json, sizeof f->json - 1, JSON_COMPACT);
	f->json[n < sizeof f->json ? n : 0] = 0;
	json_decref(about);
}

/*
 * Returns the bytes of a packet.  If the packets cannot go in frames, f->unfit
 * says why.
 */
static uint32_t
packet_of(struct framed_sender *f, const struct send_args *a)
{
	uint64_t bytes = (uint64_t)a->head_bytes + a->data_bytes;

	if (!a->data_bytes)
		snprintf(f->unfit, sizeof f->unfit,
			 "its packets differ in length, and spate's frames "
			 "take them of one; an inbox of spate's takes a copy "
			 "of the recording, udp:// its packets");
	else if (a->subs > 1)
		snprintf(f->unfit, sizeof f->unfit,
			 "it has %u substreams, and one goes to one stream: "
			 "--sub says which",
			 a->subs);
	else if (bytes > WIRE_PAYLOAD_MOST)
		snprintf(f->unfit, sizeof f->unfit,
			 "a packet of %llu bytes is too long for a frame",
			 (unsigned long long)bytes);
	return f->unfit[0] ? 1 : (uint32_t)bytes;
}

static int
channels_make(struct framed_sender *f, unsigned n)
{
	int err = 0;

	f->args.connections = n;
	f->channel = calloc(n, sizeof *f->channel);
	if (!f->channel)
		return -ENOMEM;
	while (f->channels < n && !err) {
		err = channel_make(&f->channel[f->channels], &f->args,
				   f->channels);
		f->channels++;
	}
	return err;
}

static void
channels_free(struct framed_sender *f)
{
	while (f->channels)
		channel_free(&f->channel[--f->channels]);
	free(f->channel);
	f->channel = NULL;
}

int
framed_open(struct framed_sender *f, const struct send_args *a,
	    const struct framed_options *o, const struct line_args *to)
{
	unsigned n = a->connections ? a->connections : CHANNELS;
	uint32_t packet;
	int err;

	if (n > FRAMED_CHANNELS)
		n = FRAMED_CHANNELS;
	*f = (struct framed_sender){ .ordered = a->ordered,
				     .any = !a->connections };
	packet = packet_of(f, a);
	f->args = (struct channel_args){
		.host = a->host,
		.beside = o->beside,
		.beside_args = o->beside_args,
		.line = *to,
		.transfer = a->transfer,
		.born = a->ordered ? a->host->now(a->host->ctx) : 0,
		.packet_bytes = packet,
		.most = o->frame > packet ? (uint32_t)o->frame : packet,
		.secret = a->secret,
		.secret_bytes = a->secret ? a->secret_bytes : 0,
		.json = f->json,
		.why = f->why,
		.why_bytes = sizeof f->why,
	};
	json_make(f, a);
	err = channels_make(f, n);
	if (err) {
		channels_free(f);
		snprintf(a->why, a->why_bytes, "no memory for %u connections",
			 n);
	}
	return err;
}

static struct framed_sender *
sender_of(struct send_state *state)
{
	return (struct framed_sender *)state;
}

void
framed_close(struct send_state *state)
{
	channels_free(sender_of(state));
}

/* ---- broken channels --------------------------------------------------- */

/* Handles a broken channel that carried packets which may not have arrived. */
static void
lose(struct framed_sender *f, struct channel *broken)
{
	broken->carried = false;
	if (!f->ordered) {
		f->lost += broken->frame.packets;
		return;
	}
	f->begun = false;
	for (unsigned i = 0; i < f->channels; i++) {
		channel_drop(&f->channel[i], -EPIPE);
		f->channel[i].carried = false;
	}
}

/* Finds channels that broke, in whichever call it was. */
static void
losses_look(struct framed_sender *f)
{
	for (unsigned i = 0; i < f->channels; i++) {
		struct channel *c = &f->channel[i];

		if (c->state == CHANNEL_DOWN && c->carried)
			lose(f, c);
	}
}

/*
 * Starts over with half as many channels, after the receiver refused their
 * number.
 */
static int
fewer(struct framed_sender *f)
{
	unsigned n = f->channels / 2;

	channels_free(f);
	return channels_make(f, n) ? -ENOMEM : -EAGAIN;
}

/*
 * Handles a channel that was just opened.  Returns 0; -ERESTART: the receiver
 * has more, or less, than was taken, and f->next is where to go on.
 */
static int
opened(struct framed_sender *f, struct channel *c, int64_t now)
{
	f->reconnects += c->opened++ > 0;
	if (f->ordered && !f->begun) {
		f->begun = true;
		if (position_is_before(c->have, f->next) ||
		    position_is_before(f->next, c->have)) {
			f->next = c->have;
			return -ERESTART;
		}
	}
	channel_mark(c, f->next, now);
	return 0;
}

static int
channel_look(struct framed_sender *f, struct channel *c, int64_t now)
{
	enum channel_state was = c->state;
	int err = channel_step(c, now);

	if (f->unfit[0] && (c->state == CHANNEL_OPEN || err == -EACCES)) {
		memcpy(f->why, f->unfit, sizeof f->why);
		channel_drop(c, -EINVAL);
		return -EINVAL;
	}
	if (!err && was < CHANNEL_OPEN && c->state == CHANNEL_OPEN)
		return opened(f, c, now);
	if (err == -EACCES && c->too_many && f->any && f->channels > 1)
		return fewer(f);
	if (err == -EXDEV || err == -EACCES || err == -EPROTO)
		return err;
	return 0;
}

static int
framed_look(struct framed_sender *f, int64_t now)
{
	unsigned open = 0;
	int err = 0;

	losses_look(f);
	for (unsigned i = 0; i < f->channels && !err; i++) {
		/* The first channel learns whether there may be so many. */
		if (i && f->any && !f->channel[0].opened)
			break;
		if (f->channel[i].state != CHANNEL_ENDED)
			err = channel_look(f, &f->channel[i], now);
	}
	if (err)
		return err;
	losses_look(f);
	for (unsigned i = 0; i < f->channels; i++)
		open += f->channel[i].state >= CHANNEL_OPEN;
	return open ? 0 : -EAGAIN;
}

/* ---- dealing --------------------------------------------------------- */

static struct channel *
turn_take(struct framed_sender *f)
{
	for (unsigned i = 0; i < f->channels; i++) {
		f->turn = (f->turn + 1) % f->channels;
		if (channel_is_free(&f->channel[f->turn]))
			return &f->channel[f->turn];
	}
	return NULL;
}

/* The packets still to be dealt: from packet `at` of the first of n runs on. */
struct deal {
	const struct send_run *run;
	unsigned n;
	uint32_t at;
};

static bool
goes_on(const struct deal *d, struct run_position next)
{
	return d->n && d->run->run == next.run &&
	       d->run->first + d->at == next.first;
}

/* Fills one frame with as many packets as fit, and sends it. */
static int
frame_fill(struct framed_sender *f, struct channel *c, struct deal *d,
	   int64_t now)
{
	struct run_position next = { d->run->run, d->run->first + d->at };
	uint32_t n = 1;

	c->taken = f->taken;
	channel_begin(c, next, d->at ? 0 : d->run->time_ns);
	while (n && goes_on(d, next)) {
		n = channel_add(c, d->run, d->at, d->run->packets - d->at);
		d->at += n;
		next.first += n;
		f->taken += n;
		if (d->at == d->run->packets) {
			d->run++;
			d->n--;
			d->at = 0;
		}
	}
	f->next = next;
	return channel_send(c, now);
}

static bool
fits(struct framed_sender *f, const struct send_run *run, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (run[i].head_bytes + run[i].data_bytes ==
		    f->args.packet_bytes)
			continue;
		snprintf(f->why, sizeof f->why,
			 "a packet of %u bytes among those of %u",
			 run[i].head_bytes + run[i].data_bytes,
			 f->args.packet_bytes);
		return false;
	}
	return true;
}

/*
 * Returns when (steady ns) a channel must say where the transfer is: after MARK
 * if other channels are ahead, so that the receiver does not wait for this
 * channel; after LIVES otherwise, so that the receiver keeps the connection.
 */
static int64_t
mark_due(const struct framed_sender *f, const struct channel *c)
{
	return c->spoke + (position_is_before(c->told, f->next) ? MARK : LIVES);
}

static void
marks_send(struct framed_sender *f, int64_t now)
{
	for (unsigned i = 0; i < f->channels; i++) {
		struct channel *c = &f->channel[i];

		if (channel_is_free(c) && now >= mark_due(f, c))
			channel_mark(c, f->next, now);
	}
}

int
framed_send(struct send_state *state, const struct send_run *run, unsigned n,
	    uint64_t *taken)
{
	struct framed_sender *f = sender_of(state);
	struct deal d = { run, n, 0 };
	uint64_t before = f->taken;
	int64_t now = line_now();
	struct channel *c;
	int err;

	*taken = 0;
	err = framed_look(f, now);
	if (!err && !fits(f, run, n))
		return -EINVAL;
	while (!err && d.n && (c = turn_take(f))) {
		if (frame_fill(f, c, &d, now))
			break; /* the next call handles the error */
	}
	if (!err)
		marks_send(f, now);
	*taken = f->taken - before;
	return err;
}

int
framed_finish(struct send_state *state)
{
	struct framed_sender *f = sender_of(state);
	int64_t now = line_now();
	int err = framed_look(f, now);
	unsigned left = 0, ended = 0;

	for (unsigned i = 0; i < f->channels && !err; i++) {
		struct channel *c = &f->channel[i];

		if (channel_is_free(c))
			channel_end(c, f->next, now);
		left += c->state == CHANNEL_OPEN || c->state == CHANNEL_ENDS;
		ended += c->state == CHANNEL_ENDED;
	}
	return err ? err : left || !ended ? -EAGAIN : 0;
}

/* ---- polling, memory, counters ----------------------------------------- */

unsigned
framed_poll(struct send_state *state, struct pollfd *fd, unsigned most,
	    int64_t *until)
{
	const struct framed_sender *f = sender_of(state);
	unsigned n = 0;

	for (unsigned i = 0; i < f->channels && n < most; i++) {
		const struct channel *c = &f->channel[i];

		if (c->state == CHANNEL_ENDED)
			continue;
		n += line_poll(&c->line, &fd[n], until);
		if (f->args.beside && n < most)
			n += f->args.beside->poll(c, &fd[n], until);
		if (channel_is_free(c) && mark_due(f, c) < *until)
			*until = mark_due(f, c);
	}
	return n;
}

uint64_t
framed_release(struct send_state *state)
{
	const struct framed_sender *f = sender_of(state);
	uint64_t gone = f->taken;

	for (unsigned i = 0; i < f->channels; i++) {
		const struct channel *c = &f->channel[i];

		if (f->args.beside)
			gone = f->args.beside->release(c, gone);
		else if (c->state >= CHANNEL_OPEN && line_is_busy(&c->line) &&
			 c->frame.packets && !c->detached && c->taken < gone)
			gone = c->taken;
	}
	return gone;
}

void
framed_detach(struct send_state *state)
{
	struct framed_sender *f = sender_of(state);

	for (unsigned i = 0; i < f->channels; i++)
		channel_detach(&f->channel[i]);
}

void
framed_facts(struct send_state *state, struct send_facts *facts)
{
	const struct framed_sender *f = sender_of(state);
	uint64_t waits = 0;

	*facts = (struct send_facts){ .lost = f->lost,
				      .reconnects = f->reconnects,
				      .way = "tcp, frames" };
	if (f->args.beside)
		facts->way = f->args.beside->way;
	for (unsigned i = 0; i < f->channels; i++) {
		const struct channel *c = &f->channel[i];

		facts->connections += c->state >= CHANNEL_OPEN;
		facts->calls += c->line.calls;
		if (f->args.beside)
			waits += f->args.beside->waits(c);
		else if (line_is_busy(&c->line) && c->state >= CHANNEL_OPEN)
			waits += c->frame.packets;
	}
	facts->packets = f->taken - waits;
	facts->bytes = facts->packets * f->args.packet_bytes;
	if (facts->connections < f->channels)
		memcpy(facts->why, f->why, sizeof facts->why);
	if (f->channels) /* none: fewer() had no memory for them */
		snprintf(facts->peer, sizeof facts->peer, "%s",
			 f->channel[0].line.peer);
}

void
framed_back(struct send_state *state, uint32_t *run, uint64_t *first)
{
	const struct framed_sender *f = sender_of(state);

	*run = f->next.run;
	*first = f->next.first;
}
