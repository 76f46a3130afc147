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
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "base/secret.h"
#include "net/url.h"
#include "wire/handshake.h"
#include "wire/refuse.h"

enum { AGAIN_MS = 250, AGAIN_MOST_MS = 5000 };

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

void
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
	c->base.facts.asked =
	    atomic_load_explicit(&c->base.rate, memory_order_relaxed);
	sender_show(&c->base, now);
}

/* ---- connections ------------------------------------------------------- */

/* Makes connections: looks up the name, tries each address, says HELLO and
 * proves the secret. */

enum { CONNECT_S = 10, ANSWER_S = 20 };

/* ---- the URL ------------------------------------------------------------ */

/* Reads the URL of an inbox.  0, or -EINVAL with a sentence. */
static int
inbox_read(struct url *u, const char *to, char *why, uint32_t why_bytes)
{
	if (!url_read(u, to, why, why_bytes) && u->scheme == URL_TCP &&
	    !u->device[0] && u->groups == 1 && url_ports(u) == 1 && !u->path[0])
		return 0;
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
connect_to(struct copy_out *c, const union endpoint *to, int *fd)
{
	struct pollfd p[2] = { { .events = POLLOUT },
			       { .fd = c->stop, .events = POLLIN } };
	socklen_t n = sizeof(int);
	int err = 0;

	*fd = socket(to->any.sa_family,
		     SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return -errno;
	p[0].fd = *fd;
	if (connect(*fd, &to->any, endpoint_bytes(to)) < 0 &&
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
	char why[SEND_SENTENCE];
	struct resolved found;
	struct url url;
	int err;

	if (inbox_read(&url, c->a.to, why, sizeof why))
		return copy_out_fail(c, "%s", why);
	sender_into(&c->base);
	err = resolve(&found, &url, why, sizeof why);
	sender_out(&c->base);
	if (err == -EAGAIN)
		copy_out_say(c, SENDER_CONNECTING, why);
	if (err)
		return err == -EAGAIN ? err : copy_out_fail(c, "%s", why);
	err = -ENOENT;
	for (unsigned i = 0; i < found.n && err && err != -ECANCELED; i++)
		err = connect_to(c, &found.at[i], fd);
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
		return copy_out_fail(c, "the kernel gives no random numbers");
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

/* Makes connection i, up to the peer's WELCOME.  0; -EAGAIN: a later attempt
 * may succeed, and the state says why; -ECANCELED; -EPROTO. */
static int
connect_lane(struct copy_out *c, unsigned i)
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
	link_peer(l->link.fd, c->base.facts.send.peer);
	c->base.facts.send.connections++;
	return 0;
}

static void
hang_up(struct copy_out *c)
{
	for (unsigned i = 0; i < COPY_OUT_LANES; i++) {
		if (c->lane[i].link.fd >= 0)
			close(c->lane[i].link.fd);
		c->lane[i].link.fd = -1;
	}
	c->base.facts.send.connections = 0;
}

/* ---- one attempt ------------------------------------------------------- */

/*
 * One attempt tells what the recording has and sends what the peer wants, again
 * and again as long as the recording grows.  Then both ends compare what they
 * have, and blocks that differ are sent once more.  The attempt fails when
 * three rounds of that have gained nothing.
 */

enum { GROW_MS = 300, ROUNDS = 3 };

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
	int err;

	copy_out_say(c, SENDER_WAITING, "");
	err = link_pause(&c->lane[0].link, GROW_MS);
	if (err)
		return copy_out_broke(c, err);
	err = copy_out_listen(c);
	if (err)
		return err;
	sender_into(&c->base);
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
	int err = connect_lane(c, 0);

	c->told = 0;
	c->waiting = 0;
	if (!err)
		err = copy_out_head(c);
	for (unsigned i = 1; i < c->lanes && !err; i++)
		err = connect_lane(c, i);
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

	for (unsigned i = 0; i < c->disks.n; i++) {
		/* Other disks may have the recording. */
		if (disk_open(&c->disks.disk[i]))
			c->disks.disk[i].fd = -1;
	}
	err = recording_open_by_index(&c->rec, &c->disks, c->a.name, &fault);
	if (!err)
		err = recording_hold(c->rec, &fault);
	if (err) {
		fault_line(&fault, line, sizeof line);
		return copy_out_fail(c, "%s", line);
	}
	f = recording_facts(c->rec);
	if (strcmp(f->made_by, "spate") != 0)
		return copy_out_fail(c,
				     "%s was recorded by %s: send its bytes "
				     "(--plain), or spate recover %s first",
				     c->a.name, f->made_by, c->a.name);
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
	const struct copy_link nobody = { .fd = -1, .stop = c->stop };
	int64_t contact;
	int wait = AGAIN_MS, err;

	c->contact = clock_steady();
	do {
		contact = c->contact;
		c->attempt++;
		err = attempt(c);
		copy_out_parcel_put(c);
		hang_up(c);
		if (err != -EAGAIN)
			return err;
		wait = c->contact != contact ? AGAIN_MS : 2 * wait;
		if (wait > AGAIN_MOST_MS)
			wait = AGAIN_MOST_MS;
		/* `why` was set by the attempt. */
		c->base.facts.state = SENDER_CONNECTING;
		c->base.facts.send.reconnects++;
		sender_show(&c->base, clock_steady());
		err = link_pause(&nobody, wait);
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
	copy_lines_free(c->lines);
	if (c->rec)
		recording_close(c->rec);
	for (unsigned i = 0; i < COPY_OUT_LANES; i++)
		free(c->lane[i].buffer);
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
	free((char *)c->a.name);
	free((char *)c->a.to);
	free((char *)c->a.as);
	if (c->stop >= 0)
		close(c->stop);
	explicit_bzero(c->secret, sizeof c->secret);
	free(c);
}

static void
stopped(struct sender *sender)
{
	eventfd_write(((struct copy_out *)sender)->stop, 1);
}

static const struct sender_work work = {
	.run = run,
	.free = copy_free,
	.stop = stopped,
};

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
	c->lanes = a->connections ? a->connections : 1;
	if (c->lanes > COPY_OUT_LANES)
		c->lanes = COPY_OUT_LANES;
	c->base.changed = a->changed;
	c->base.arg = a->arg;
	c->base.facts.asked = a->rate;
	c->base.facts.send.way = "a copy";
	if (getrandom(&c->transfer, sizeof c->transfer, 0) !=
	    sizeof c->transfer)
		return -EIO;
	c->transfer |= !c->transfer;
	if (inbox_read(&url, c->a.to, why, sizeof why))
		return -EINVAL;
	return disks_copy(&c->disks, a->disks);
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
	c->a.name = c->a.to = c->a.as = NULL;
	for (unsigned i = 0; i < COPY_OUT_LANES; i++)
		c->lane[i].link.fd = -1;
	c->sought = UINT64_MAX;
	c->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = c->stop < 0 ? -errno : args_take(c, a);
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
		  err == -EINVAL ? "that is no tcp://host:port"
				 : strerror(-err));
	return err;
}
