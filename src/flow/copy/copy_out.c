/* SPDX-License-Identifier: MIT */
/* The thread of a copy that goes out makes attempts.  When a connection breaks
 * it tries again, first soon and then less often; blocks that have arrived are
 * not sent again.  It gives up when nothing got through for `patience`. */
#include "flow/copy/copy_out_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

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

/* ---- the thread --------------------------------------------------------- */

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
	return err ? copy_out_fail(c, "%s", strerror(-err)) : 0;
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
		err = copy_out_try(c);
		copy_out_parcel_put(c);
		copy_out_hang_up(c);
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
		copy_out_fail(c, "%s: %s", c->a.to, strerror(-err));
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

static void *
run(void *arg)
{
	struct copy_out *c = arg;
	int err = 0;

	c->buffer = malloc(WIRE_PAYLOAD_MOST);
	if (!c->buffer)
		err = copy_out_fail(c, "out of memory");
	if (!err)
		err = recording_take(c);
	if (!err)
		err = tries(c);
	if (err == -ECANCELED)
		copy_out_say(c, SENDER_STOPPED, "");
	else if (err)
		failed(c, err);
	else
		done(c);
	finish(c);
	pthread_mutex_lock(&c->lock);
	c->ended = true;
	pthread_mutex_unlock(&c->lock);
	if (c->a.changed)
		c->a.changed(c->a.arg);
	return NULL;
}

/* ---- the others --------------------------------------------------------- */

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

static int
args_take(struct copy_out *c, const struct copy_out_args *a)
{
	char host[256], port[8], why[SEND_SENTENCE];

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
	if (copy_url_read(c->a.to, host, port, why, sizeof why))
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
	c->started = c->sampled = clock_steady();
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

void
copy_out_facts(struct copy_out *c, struct sender_facts *facts)
{
	pthread_mutex_lock(&c->lock);
	*facts = c->facts;
	if (c->pause && facts->state == SENDER_SENDING)
		facts->state = SENDER_PAUSED;
	pthread_mutex_unlock(&c->lock);
}

bool
copy_out_ended(struct copy_out *c)
{
	bool ended;

	pthread_mutex_lock(&c->lock);
	ended = c->ended;
	pthread_mutex_unlock(&c->lock);
	return ended;
}

bool
copy_out_free(struct copy_out *c)
{
	pthread_join(c->thread, NULL);
	copy_free(c);
	return true;
}
