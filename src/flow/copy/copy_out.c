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
	pthread_mutex_lock(&c->lock);
	c->facts.state = state;
	snprintf(c->facts.why, sizeof c->facts.why, "%s", why);
	pthread_mutex_unlock(&c->lock);
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
copy_out_wait_begin(struct copy_out *c)
{
	atomic_store_explicit(&c->waits, clock_steady(), memory_order_relaxed);
}

void
copy_out_wait_end(struct copy_out *c)
{
	atomic_store_explicit(&c->waits, 0, memory_order_relaxed);
}

void
copy_out_sample(struct copy_out *c)
{
	int64_t now = clock_steady();
	double seconds = (double)(now - c->sampled) / 1e9;

	if (seconds < 1)
		return;
	pthread_mutex_lock(&c->lock);
	c->facts.rate =
	    (double)(c->facts.bytes - c->sampled_bytes) * 8 / seconds;
	c->sampled_bytes = c->facts.bytes;
	pthread_mutex_unlock(&c->lock);
	c->sampled = now;
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
	copy_out_wait_begin(c);
	err = resolve(&found, &url, why, sizeof why);
	copy_out_wait_end(c);
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
	pthread_mutex_lock(&c->lock);
	link_peer(l->link.fd, c->facts.send.peer);
	c->facts.send.connections++;
	pthread_mutex_unlock(&c->lock);
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
	pthread_mutex_lock(&c->lock);
	c->facts.send.connections = 0;
	c->facts.rate = 0;
	pthread_mutex_unlock(&c->lock);
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
	copy_out_wait_begin(c);
	err = recording_refresh(c->rec);
	if (!err)
		err = recording_hold(c->rec, NULL);
	if (!err)
		err = copy_lines_refresh(c->lines);
	copy_out_wait_end(c);
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
		pthread_mutex_lock(&c->lock);
		/* `why` was set by the attempt. */
		c->facts.state = SENDER_CONNECTING;
		c->facts.send.reconnects++;
		pthread_mutex_unlock(&c->lock);
		err = link_pause(&nobody, wait);
	} while (!err && is_patient(c));
	if (err)
		return err;
	pthread_mutex_lock(&c->lock);
	c->facts.state = SENDER_FAILED;
	pthread_mutex_unlock(&c->lock);
	return -EPROTO;
}

/* Sets state DONE, with how many blocks could not be read. */
static void
done(struct copy_out *c)
{
	char why[SEND_SENTENCE] = "";

	if (c->left_n)
		snprintf(why, sizeof why,
			 "%llu chunks could not be read, and were left out",
			 (unsigned long long)c->left_n);
	copy_out_say(c, SENDER_DONE, why);
}

/* Sets state FAILED, unless copy_out_fail did that with a better reason. */
static void
failed(struct copy_out *c, int err)
{
	if (c->facts.state != SENDER_FAILED)
		copy_out_fail(c, "%s cannot be copied to: %s", c->a.to,
			      strerror(-err));
}

static void
finish(struct copy_out *c)
{
	copy_lines_free(c->lines);
	if (c->rec)
		recording_close(c->rec);
	for (unsigned i = 0; i < COPY_OUT_LANES; i++)
		free(c->lane[i].buffer);
	for (unsigned i = 0; i < c->disks.n; i++)
		disk_close(&c->disks.disk[i]);
	source_close(c->a.source);
	c->a.source = NULL;
	free(c->buffer);
	free(c->left);
	free(c->want);
}

static void
copy_free(struct copy_out *c)
{
	disks_clear(&c->disks);
	free((char *)c->a.name);
	free((char *)c->a.to);
	free((char *)c->a.as);
	if (c->stop >= 0)
		close(c->stop);
	explicit_bzero(c->secret, sizeof c->secret);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static void *
run(void *arg)
{
	struct copy_out *c = arg;
	bool alone;
	int err = 0;

	c->buffer = malloc(WIRE_PAYLOAD_MOST);
	if (!c->buffer)
		err = copy_out_fail(c, "out of memory");
	copy_out_wait_begin(c);
	if (!err)
		err = recording_take(c);
	copy_out_wait_end(c);
	if (!err)
		err = tries(c);
	if (err == -ECANCELED)
		copy_out_say(c, SENDER_STOPPED, "");
	else if (err)
		failed(c, err);
	else
		done(c);
	copy_out_wait_begin(c);
	finish(c);
	copy_out_wait_end(c);
	pthread_mutex_lock(&c->lock);
	c->ended = true;
	alone = c->alone;
	pthread_mutex_unlock(&c->lock);
	if (alone)
		copy_free(c);
	else if (c->a.changed)
		c->a.changed(c->a.arg);
	return NULL;
}

/* ---- the others --------------------------------------------------------- */

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
	c->rate = c->facts.asked = a->rate;
	c->facts.send.way = "a copy";
	if (getrandom(&c->transfer, sizeof c->transfer, 0) !=
	    sizeof c->transfer)
		return -EIO;
	c->transfer |= !c->transfer;
	if (inbox_read(&url, c->a.to, why, sizeof why))
		return -EINVAL;
	return disks_copy(&c->disks, a->disks);
}

int
copy_out_start(struct copy_out **copy, const struct copy_out_args *a,
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
	pthread_mutex_init(&c->lock, NULL);
	for (unsigned i = 0; i < COPY_OUT_LANES; i++)
		c->lane[i].link.fd = -1;
	c->sought = UINT64_MAX;
	c->sampled = clock_steady();
	c->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = c->stop < 0 ? -errno : args_take(c, a);
	if (!err)
		err = -pthread_create(&c->thread, NULL, run, c);
	if (!err) {
		*copy = c;
		return 0;
	}
	source_close(a->source);
	copy_free(c);
	fault_set(fault, err, err == -EINVAL ? "usage" : "internal",
		  "cannot copy %.80s to %.150s", a->name, a->to);
	fault_why(fault, "%s",
		  err == -EINVAL ? "that is no tcp://host:port"
				 : strerror(-err));
	return err;
}

void
copy_out_rate(struct copy_out *c, uint64_t rate)
{
	pthread_mutex_lock(&c->lock);
	c->rate = c->facts.asked = rate;
	pthread_mutex_unlock(&c->lock);
}

void
copy_out_pause(struct copy_out *c, bool pause)
{
	pthread_mutex_lock(&c->lock);
	c->pause = pause;
	pthread_mutex_unlock(&c->lock);
}

void
copy_out_stop(struct copy_out *c)
{
	pthread_mutex_lock(&c->lock);
	c->stopped = true;
	pthread_mutex_unlock(&c->lock);
	eventfd_write(c->stop, 1);
}

/* True as copy_out_ended says.  Caller holds the lock. */
static bool
has_ended(struct copy_out *c)
{
	int64_t since = atomic_load_explicit(&c->waits, memory_order_relaxed);

	return c->ended ||
	       (c->stopped && since && clock_steady() - since > COPY_OUT_HUNG);
}

void
copy_out_facts(struct copy_out *c, struct sender_facts *facts)
{
	pthread_mutex_lock(&c->lock);
	*facts = c->facts;
	if (c->pause && facts->state == SENDER_SENDING)
		facts->state = SENDER_PAUSED;
	if (facts->state < SENDER_DONE && has_ended(c))
		facts->state = SENDER_STOPPED;
	pthread_mutex_unlock(&c->lock);
}

bool
copy_out_ended(struct copy_out *c)
{
	bool ended;

	pthread_mutex_lock(&c->lock);
	ended = has_ended(c);
	pthread_mutex_unlock(&c->lock);
	return ended;
}

bool
copy_out_free(struct copy_out *c)
{
	bool ended;

	pthread_mutex_lock(&c->lock);
	ended = c->ended;
	c->alone = !ended;
	if (!ended)
		pthread_detach(c->thread);
	pthread_mutex_unlock(&c->lock);
	if (!ended)
		return false;
	pthread_join(c->thread, NULL);
	copy_free(c);
	return true;
}
