/* SPDX-License-Identifier: MIT */
/* The thread of a copy that goes out makes attempts.  When a connection breaks
 * it tries again, first soon and then less often; blocks that have arrived are
 * not sent again.  It gives up when nothing got through for `patience`. */
#include "flow/copy/copy_out_priv.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "base/module.h"
#include "net/url.h"

#define AGAIN	   (NS_SECOND / 4) /* between attempts */
#define AGAIN_MOST (5 * NS_SECOND)

/* ---- what is said ------------------------------------------------------- */

void
copy_out_say(struct copy_out *c, enum sender_state state, const char *why)
{
	c->base.facts.state = state;
	snprintf(c->base.facts.why, sizeof c->base.facts.why, "%s", why);
	sender_show(&c->base, clock_steady());
}

int
copy_out_fail(struct copy_out *c, const char *format, ...)
{
	char why[SEND_SENTENCE];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof why, format, args);
	va_end(args);
	copy_out_say(c, SENDER_FAILED, why);
	return -EPROTO;
}

/* Shows the facts, if it is time, and whether the copy is paused. */
static void
copy_out_show(struct copy_out *c)
{
	bool pause = atomic_load_explicit(&c->base.pause, memory_order_relaxed);
	enum sender_state state = c->base.facts.state;
	int64_t now = clock_steady();

	if (pause && state == SENDER_SENDING)
		state = SENDER_PAUSED;
	else if (!pause && state == SENDER_PAUSED)
		state = SENDER_SENDING;
	if (state == c->base.facts.state && now < c->base.show_at)
		return;
	c->base.facts.state = state;
	c->base.facts.send.connections = 0;
	for (unsigned i = 0; i < c->lanes; i++)
		c->base.facts.send.connections +=
		    c->lane[i].state == CHANNEL_OPEN;
	if (c->lanes)
		snprintf(c->base.facts.send.peer,
			 sizeof c->base.facts.send.peer, "%s",
			 c->lane[0].line.peer);
	c->base.facts.asked =
	    atomic_load_explicit(&c->base.rate, memory_order_relaxed);
	sender_show(&c->base, now);
}

/* ---- connections ------------------------------------------------------- */

#define VANISHED (30 * NS_SECOND) /* silence of a peer that counts as gone */

/* Reads the URL of an inbox.  0, or -EINVAL with a sentence. */
static int
inbox_read(struct url *u, const char *to, char *why, uint32_t why_bytes)
{
	if (!url_read(u, to, why, why_bytes) &&
	    (u->scheme == URL_TCP || u->scheme == URL_UCX) && !u->device[0] &&
	    u->groups == 1 && url_ports(u) == 1 && !u->path[0])
		return 0;
	snprintf(why, why_bytes,
		 "'%.200s' is no URL of an inbox, as "
		 "tcp://10.0.0.7:2631 or ucx://[fd00::7]:2631",
		 to);
	return -EINVAL;
}

/*
 * Opens what carries the payloads of pieces beside TCP: the send plugin of the
 * URL's scheme, if it can.  0 or -EPROTO.
 */
static int
beside_open(struct copy_out *c)
{
	struct fault fault = { 0 };
	char line[SEND_SENTENCE];
	struct url url;
	int err;

	if (inbox_read(&url, c->a.to, c->why, sizeof c->why))
		return copy_out_fail(c, "%s", c->why);
	if (url.scheme == URL_TCP)
		return 0;
	snprintf(c->scheme, sizeof c->scheme, "%.*s",
		 (int)strcspn(c->a.to, ":"), c->a.to);
	sender_into(&c->base);
	err = module_send(c->scheme, &c->ops, &fault);
	if (!err && c->ops->beside_open)
		err = c->ops->beside_open(&c->link.beside, &c->link.beside_args,
					  sizeof(struct channel), c->why,
					  sizeof c->why);
	sender_out(&c->base);
	if (fault.code) {
		fault_line(&fault, line, sizeof line);
		return copy_out_fail(c, "%s", line);
	}
	if (err)
		return copy_out_fail(c, "%s", c->why);
	if (!c->link.beside)
		return copy_out_fail(c, "the send plugin %s carries no copies",
				     c->scheme);
	c->base.facts.send.way = c->link.beside->way;
	return 0;
}

/* Takes the error of a channel, which left a sentence in c->why. */
int
copy_out_broke(struct copy_out *c, int err)
{
	/* A frame was wrong: copy_out_fail() has said how. */
	if (c->base.facts.state == SENDER_FAILED)
		return -EPROTO;
	if (err == -EACCES || err == -EPROTO)
		return copy_out_fail(c, "%s", c->why);
	copy_out_say(c, SENDER_CONNECTING, c->why);
	return -EAGAIN;
}

static int
lane_turn(struct copy_out *c, struct channel *l, int64_t now)
{
	bool busy = l->state == CHANNEL_OPEN && line_is_busy(&l->line);
	int err = channel_step(l, now);

	/* Not connected yet; or the next of its addresses is to be tried. */
	if (err == -EAGAIN ||
	    (err && l->state == CHANNEL_DOWN && !l->line.retry))
		return 0;
	if (err)
		return copy_out_broke(c, err);
	if (busy && !line_is_busy(&l->line))
		c->contact = now;
	return 0;
}

int
copy_out_turn(struct copy_out *c, int64_t until)
{
	struct pollfd fd[2 * COPY_OUT_LANES + 1] = { { .fd = c->base.wake,
						       .events = POLLIN } };
	struct timespec t = { 0 };
	int64_t now = clock_steady();
	unsigned n = 1;
	int err = 0;

	for (unsigned i = 0; i < c->lanes; i++) {
		n += line_poll(&c->lane[i].line, &fd[n], &until);
		if (c->link.beside)
			n += c->link.beside->poll(&c->lane[i], &fd[n], &until);
	}
	if (until > now) {
		t.tv_sec = (until - now) / NS_SECOND;
		t.tv_nsec = (until - now) % NS_SECOND;
	}
	ppoll(fd, n, &t, NULL);
	if (fd[0].revents)
		sender_wake_read(&c->base);
	if (atomic_load_explicit(&c->base.stop, memory_order_relaxed))
		return -ECANCELED;
	now = clock_steady();
	for (unsigned i = 0; i < c->lanes && !err; i++)
		err = lane_turn(c, &c->lane[i], now);
	copy_out_show(c);
	if (!err && c->waiting && now - c->waiting > c->a.patience)
		err = copy_out_fail(c, "%s had no room for it for too long",
				    c->a.to);
	return err;
}

int
copy_out_tell(struct copy_out *c, struct channel *lane,
	      const struct wire_frame *frame, const void *payload,
	      uint32_t bytes)
{
	struct wire_frame f = *frame;
	int err = 0;

	f.payload_bytes = bytes;
	f.payload_crc = crc32c(0, payload, bytes);
	while (!err && line_is_busy(&lane->line))
		err = copy_out_turn(c, clock_steady() + NS_SECOND);
	if (err)
		return err;
	err = channel_put(lane, &f, payload, clock_steady());
	if (err)
		return copy_out_broke(c, err);
	while (!err && line_is_busy(&lane->line))
		err = copy_out_turn(c, clock_steady() + NS_SECOND);
	return err;
}

/* Looks up the inbox, and makes the HELLO of this attempt. */
static int
link_make(struct copy_out *c)
{
	json_t *about = json_pack("{s:b, s:s, s:I}", "copy", 1, "name",
				  c->a.name, "attempt", (json_int_t)c->attempt);
	struct url url;
	size_t n;
	int err;

	if (about && c->a.as)
		json_object_set_new(about, "as", json_string(c->a.as));
	if (about && c->link.beside)
		json_object_set_new(about, "beside", json_string(c->scheme));
	n = json_dumpb(about, c->json, sizeof c->json - 1, JSON_COMPACT);
	json_decref(about);
	if (!n || n >= sizeof c->json)
		return copy_out_fail(c, "its name is too long for a HELLO");
	c->json[n] = '\0';
	if (inbox_read(&url, c->a.to, c->why, sizeof c->why))
		return copy_out_fail(c, "%s", c->why);
	sender_into(&c->base);
	err = resolve(&c->link.line.to, &url, c->why, sizeof c->why);
	sender_out(&c->base);
	if (err && err != -EAGAIN)
		return copy_out_fail(c, "%s", c->why);
	return err ? copy_out_broke(c, err) : 0;
}

/* Makes the next connection, until it could carry a piece, and says that it
 * comes to copy.  0; -EAGAIN: a later attempt may succeed, and the state says why;
 * -ECANCELED; -EPROTO. */
static int
connect_lane(struct copy_out *c)
{
	const struct wire_frame here = { .type = WIRE_STATE };
	struct channel *l = &c->lane[c->lanes];
	int err = channel_make(l, &c->link, c->lanes);

	c->lanes++;
	if (err)
		return copy_out_fail(c, "out of memory");
	while (!err && !channel_is_free(l))
		err = copy_out_turn(c, clock_steady() + NS_SECOND);
	return err ? err : copy_out_tell(c, l, &here, NULL, 0);
}

static void
hang_up(struct copy_out *c)
{
	while (c->lanes)
		channel_free(&c->lane[--c->lanes]);
}

/* ---- one attempt ------------------------------------------------------- */

/*
 * One attempt tells what the recording has and sends what the peer wants, again
 * and again as long as the recording grows.  Then both ends compare what they
 * have, and blocks that differ are sent once more.  The attempt fails when
 * three rounds of that have gained nothing.
 */

#define GROW (NS_SECOND * 3 / 10) /* between looks at a live recording */
enum { ROUNDS = 3 };

static bool
is_live(const struct copy_out *c)
{
	return recording_facts(c->rec)->state == RECORDING_LIVE;
}

/* Waits a little, listening to the connection, and refreshes the recording.  0,
 * whether it grew or not; or an error of the attempt. */
static int
grow(struct copy_out *c)
{
	int64_t until = clock_steady() + GROW;
	int err = 0;

	copy_out_say(c, SENDER_WAITING, "");
	while (!err && clock_steady() < until)
		err = copy_out_turn(c, until);
	if (err)
		return err;
	sender_into(&c->base);
	if (c->a.list)
		disk_list_open(c->a.list, &c->disks);
	err = recording_refresh(c->rec);
	if (!err)
		err = recording_hold(c->rec, NULL);
	if (!err)
		err = copy_lines_refresh(c->lines);
	sender_out(&c->base);
	if (err == -EIDRM || err == -ENOENT)
		return copy_out_fail(c, "%s was removed", c->a.name);
	return err ? copy_out_fail(c, "%s cannot be read: %s", c->a.name,
				   strerror(-err))
		   : 0;
}

/* Sends everything up to the end of the recording. */
static int
follow(struct copy_out *c)
{
	bool live;
	int err;

	do {
		live = is_live(c);
		err = copy_out_ask(c);
		if (!err)
			err = copy_out_send(c);
		if (!err && live)
			err = grow(c);
	} while (!err && live);
	return err;
}

/* Sends what the peer lacks until both ends have the same. */
static int
agree(struct copy_out *c)
{
	size_t least = SIZE_MAX;
	unsigned rounds = 0;
	bool same = false;
	int err;

	do {
		copy_out_say(c, SENDER_FINISHING, "");
		err = copy_out_agree(c, &same);
		if (err || same)
			break;
		if (!c->wants)
			return copy_out_fail(
			    c, "%s has other chunks than this, and wants none",
			    c->a.to);
		rounds = c->wants < least ? 0 : rounds + 1;
		least = c->wants < least ? c->wants : least;
		err = copy_out_send(c);
	} while (!err && rounds < ROUNDS);
	if (!err && !same)
		return copy_out_fail(c,
				     "%s does not keep what it is sent: %zu "
				     "chunks or more are missing there",
				     c->a.to, c->wants);
	return err;
}

/* Makes one attempt.  0: the copy is done; -EAGAIN: a connection broke;
 * -ECANCELED; -EPROTO. */
static int
attempt(struct copy_out *c)
{
	int err = link_make(c);

	c->told = 0;
	c->waiting = 0;
	c->awaits = 0;
	if (!err)
		err = connect_lane(c);
	if (!err)
		err = copy_out_head(c);
	while (c->lanes < c->lanes_most && !err)
		err = connect_lane(c);
	if (!err)
		err = follow(c);
	if (!err)
		err = agree(c);
	return err ? err : copy_out_close(c);
}

static int
recording_take(struct copy_out *c)
{
	const struct recording_facts *f;
	struct fault fault = { 0 };
	char line[SEND_SENTENCE];
	int err;

	/* Without one of the disks, the others may have the recording. */
	for (unsigned i = 0; i < c->disks.n && !c->a.list; i++)
		disk_open(&c->disks.disk[i]);
	if (c->a.list)
		disk_list_open(c->a.list, &c->disks);
	err = recording_open_by_index(&c->rec, &c->disks, c->a.name, &fault);
	if (!err)
		err = recording_hold(c->rec, &fault);
	if (err) {
		fault_line(&fault, line, sizeof line);
		return copy_out_fail(c, "%s", line);
	}
	f = recording_facts(c->rec);
	if (f->state == RECORDING_LIVE && !c->a.follow)
		return copy_out_fail(c,
				     "%s is being recorded: --follow copies "
				     "it to its end",
				     c->a.name);
	err = copy_lines_make(&c->lines, c->rec);
	return err ? copy_out_fail(c, "the metadata of %s cannot be read: %s",
				   c->a.name, strerror(-err))
		   : 0;
}

/* True while the peer may still be away. */
static bool
is_patient(const struct copy_out *c)
{
	return clock_steady() - c->contact < c->a.patience;
}

static int
tries(struct copy_out *c)
{
	int64_t wait = AGAIN, contact, until;
	int err;

	c->contact = clock_steady();
	do {
		contact = c->contact;
		c->attempt++;
		err = attempt(c);
		block_reader_drop(&c->reader);
		hang_up(c);
		if (err != -EAGAIN)
			return err;
		wait = c->contact != contact ? AGAIN : 2 * wait;
		if (wait > AGAIN_MOST)
			wait = AGAIN_MOST;
		/* `why` was set by the attempt. */
		c->base.facts.state = SENDER_CONNECTING;
		c->base.facts.send.reconnects++;
		sender_show(&c->base, clock_steady());
		until = clock_steady() + wait;
		err = 0;
		c->waiting = 0;
		while (!err && clock_steady() < until)
			err = copy_out_turn(c, until);
	} while (!err && is_patient(c));
	if (err)
		return err;
	c->base.facts.state = SENDER_FAILED;
	return -EPROTO;
}

/* Closes everything that the thread has opened. */
static void
close_all(struct copy_out *c)
{
	sender_into(&c->base);
	if (c->link.beside)
		c->ops->beside_close(c->link.beside_args);
	copy_lines_free(c->lines);
	if (c->rec)
		recording_close(c->rec);
	for (unsigned i = 0; i < c->disks.n; i++)
		disk_close(&c->disks.disk[i]);
	source_close(c->a.source);
	free(c->buffer);
	free(c->left);
	free(c->want);
	sender_out(&c->base);
}

static enum sender_state
run(struct sender *sender)
{
	struct copy_out *c = (struct copy_out *)sender;
	char *why = c->base.facts.why;
	int err = 0;

	c->buffer = malloc(WIRE_PAYLOAD_MOST);
	if (!c->buffer)
		err = copy_out_fail(c, "out of memory");
	if (!err)
		err = beside_open(c);
	sender_into(&c->base);
	if (!err)
		err = recording_take(c);
	sender_out(&c->base);
	if (!err)
		err = tries(c);
	close_all(c);
	if (err == -ECANCELED || !err)
		*why = '\0';
	if (err == -ECANCELED)
		return SENDER_STOPPED;
	if (err && c->base.facts.state != SENDER_FAILED)
		copy_out_fail(c, "%s cannot be copied to: %s", c->a.to,
			      strerror(-err));
	if (err)
		return SENDER_FAILED;
	if (c->left_n)
		snprintf(why, sizeof c->base.facts.why,
			 "%llu chunks could not be read, and were left out",
			 (unsigned long long)c->left_n);
	return SENDER_DONE;
}

static void
copy_free(struct sender *sender)
{
	struct copy_out *c = (struct copy_out *)sender;

	disks_clear(&c->disks);
	if (c->a.list)
		disk_list_drop(c->a.list);
	free((char *)c->a.name);
	free((char *)c->a.to);
	free((char *)c->a.as);
	explicit_bzero(c->secret, sizeof c->secret);
	free(c);
}

static const struct sender_work work = { .run = run, .free = copy_free };

static int
args_take(struct copy_out *c, const struct copy_out_args *a)
{
	char why[SEND_SENTENCE];
	struct url url;

	c->a.name = strdup(a->name);
	c->a.to = strdup(a->to);
	c->a.as = a->as ? strdup(a->as) : NULL;
	if (!c->a.name || !c->a.to || (a->as && !c->a.as))
		return -ENOMEM;
	if (a->secret_bytes > sizeof c->secret)
		return -E2BIG;
	if (a->secret)
		memcpy(c->secret, a->secret, a->secret_bytes);
	c->a.secret = NULL;
	if (!c->a.patience)
		c->a.patience = COPY_OUT_PATIENCE_S * NS_SECOND;
	c->lanes_most = a->connections ? a->connections : 1;
	if (c->lanes_most > COPY_OUT_LANES)
		c->lanes_most = COPY_OUT_LANES;
	c->base.changed = a->changed;
	c->base.arg = a->arg;
	c->base.facts.asked = a->rate;
	c->base.facts.send.way = "a copy";
	pacer_init(&c->pacer, a->rate);
	c->host = log_host(c->a.name);
	c->link = (struct channel_args){ .host = &c->host,
					 .line = { .vanish = VANISHED,
						   .abrupt = true },
					 .packet_bytes = 1,
					 .connections = c->lanes_most,
					 .most = COPY_PIECE,
					 .secret = c->secret,
					 .secret_bytes = c->a.secret_bytes,
					 .json = c->json,
					 .hear = copy_out_hear,
					 .hear_arg = c,
					 .why = c->why,
					 .why_bytes = sizeof c->why };
	if (getrandom(&c->link.transfer, sizeof c->link.transfer, 0) !=
	    sizeof c->link.transfer)
		return -EIO;
	c->link.transfer |= !c->link.transfer;
	if (inbox_read(&url, c->a.to, why, sizeof why))
		return -EINVAL;
	return disks_copy(&c->disks, a->disks, a->list ? DISK_LIST_MOST : 0);
}

int
copy_out_start(struct sender **copy, const struct copy_out_args *a,
	       struct fault *fault)
{
	struct copy_out *c = calloc(1, sizeof *c);
	int err = -ENOMEM;

	if (!c) {
		source_close(a->source);
		return fault_set(fault, err, "no-memory", "out of memory");
	}
	c->a = *a;
	if (a->list)
		disk_list_share(a->list);
	c->a.name = c->a.to = c->a.as = NULL;
	block_reader_init(&c->reader, a->source);
	err = args_take(c, a);
	if (!err)
		err = sender_run(&c->base, &work, a->rate);
	if (!err) {
		*copy = &c->base;
		return 0;
	}
	source_close(a->source);
	copy_free(&c->base);
	fault_set(fault, err, err == -EINVAL ? "usage" : "internal",
		  "cannot copy %.80s to %.150s", a->name, a->to);
	fault_why(fault, "%s",
		  err == -EINVAL
		      ? "that is no tcp://host:port or ucx://host:port"
		      : strerror(-err));
	return err;
}
