/* SPDX-License-Identifier: MIT */
/*
 * Each connection has a thread of its own: it reads as fast as the disks take
 * the data, and waits when they do.  A peer that has not proved yet that it
 * knows the secret gets ten seconds, a few kilobytes of memory, and no place
 * among the `connections` (listener.h).
 *
 * A connection is admitted in two steps: WELCOME says that copies are taken
 * here, which is all that a sender of packets wants to know; only the next
 * frame of the sender makes the connection part of a copy.
 */
#include "daemon/transfers/inbox_priv.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/sessions/recorder.h"
#include "daemon/loop/vsi_allow.h"

enum { GREET_S = 10, END_S = 2 };

/* ---- copies ------------------------------------------------------------ */

/*
 * Finds or makes the copy of that name; call under the lock.  NULL: there are
 * too many, or no memory.
 */
static struct copy_in *
copy_find(struct inbox *in, const struct inbox_caller *who,
	  const struct inbox_greeting *g)
{
	struct copy_in *c;
	unsigned n = 0;

	for (c = in->copies; c; c = c->next, n++) {
		if (!strcmp(c->name, g->name))
			return c;
	}
	if (n == INBOX_COPIES ||
	    copy_in_make(&c, &in->host, g->name, who->from))
		return NULL;
	c->as = g->as;
	c->next = in->copies;
	in->copies = c;
	return c;
}

static int
copy_attach(struct inbox *in, struct inbox_caller *who,
	    const struct inbox_greeting *g, struct copy_in **copy,
	    struct fault *fault)
{
	int err;

	pthread_mutex_lock(&in->lock);
	*copy = copy_find(in, who, g);
	in->users += *copy != NULL;
	pthread_mutex_unlock(&in->lock);
	if (!*copy)
		return fault_set(fault, -ENOMEM, "busy",
				 "too many copies come in already");
	err = copy_in_attach(*copy, &who->link, &g->hello, fault);
	pthread_mutex_lock(&in->lock);
	in->users--;
	pthread_mutex_unlock(&in->lock);
	return err;
}

static int
serve(struct inbox_caller *c, struct fault *fault)
{
	struct inbox_greeting g = { 0 };
	struct copy_in *copy;
	struct wire_frame f;
	const char *why = "nothing that is known here";
	int err;

	c->link.link.by = clock_steady() + GREET_S * NS_SECOND;
	err = inbox_greet(c, &g, fault);
	/* Only a STATE frame says that the sender came to copy. */
	if (!err)
		err = link_frame(&c->link.link, &f, INT64_MAX, &why);
	if (err)
		return err == -EBADMSG && !fault->code ? copy_in_lie(fault, why)
						       : err;
	if (f.type != WIRE_STATE || f.payload_bytes)
		return copy_in_lie(fault, "a frame before it was let in");
	c->link.link.by = 0;
	err = copy_attach(c->inbox, c, &g, &copy, fault);
	if (err)
		return err;
	c->let_in = true;
	c->link.buffer = g.hello.connection ? NULL : malloc(WIRE_PAYLOAD_MOST);
	if (g.hello.connection || c->link.buffer)
		err = copy_in_serve(copy, &c->link, fault);
	if (fault->code)
		log_line(LEVEL_WARN, g.name, "from %s: %s%s%s", c->from,
			 fault->what, *fault->why ? ": " : "", fault->why);
	copy_in_detach(copy, &c->link);
	free(c->link.buffer);
	return err;
}

static void *
caller_run(void *arg)
{
	struct inbox_caller *c = arg;
	struct inbox *in = c->inbox;
	struct fault fault = { 0 };

	if (serve(c, &fault) && fault.code) {
		/* The failure of a copy is logged by serve(). */
		if (!c->let_in)
			inbox_refused(in, c->from, fault.what);
		inbox_refuse(c, &fault);
	}
	pthread_mutex_lock(&in->lock);
	c->done = true;
	pthread_mutex_unlock(&in->lock);
	in->host.wake(in->host.arg);
	return NULL;
}

/* ---- connections ------------------------------------------------------- */

static void
place_leave(struct inbox *in, struct inbox_caller *c)
{
	pthread_mutex_lock(&in->lock);
	listener_leave(&in->listener, &c->place);
	pthread_mutex_unlock(&in->lock);
}

static void
caller_free(struct inbox_caller *c)
{
	if (c->link.link.fd >= 0)
		close(c->link.link.fd);
	if (c->link.link.stop >= 0)
		close(c->link.link.stop);
	free(c);
}

static int
caller_make(struct inbox *in, int fd, const char *from,
	    const struct listener_peer *peer)
{
	struct inbox_caller *c = calloc(1, sizeof *c);
	int err;

	if (!c) {
		close(fd);
		return -ENOMEM;
	}
	c->inbox = in;
	c->link.link.fd = fd;
	c->link.link.stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	snprintf(c->from, sizeof c->from, "%s", from);
	link_tune(fd, false);
	err = c->link.link.stop < 0 ? errno : 0;
	if (!err) {
		pthread_mutex_lock(&in->lock);
		err = -listener_enter(&in->listener, &c->place, peer);
		pthread_mutex_unlock(&in->lock);
	}
	if (!err)
		err = pthread_create(&c->thread, NULL, caller_run, c);
	if (err) {
		place_leave(in, c);
		caller_free(c);
		return -err;
	}
	c->next = in->callers;
	in->callers = c;
	in->callers_n++;
	return 0;
}

int
inbox_prove(struct inbox_caller *c, struct fault *fault)
{
	int err;

	pthread_mutex_lock(&c->inbox->lock);
	err = listener_prove(&c->inbox->listener, &c->place);
	c->place.busy = !err;
	pthread_mutex_unlock(&c->inbox->lock);
	return err ? fault_set(fault, err, "busy",
			       "all of the inbox's `connections` are taken")
		   : 0;
}

/*
 * Makes a connection's thread end; it is then reaped like any other.  Called by
 * the listener, under the lock.
 */
static void
caller_expel(void *arg, struct listener_place *p)
{
	struct inbox_caller *c = (struct inbox_caller *)p;

	(void)arg;
	eventfd_write(c->link.link.stop, 1);
}

static void
callers_reap(struct inbox *in)
{
	struct inbox_caller **at = &in->callers, *c;

	while ((c = *at)) {
		bool done;

		pthread_mutex_lock(&in->lock);
		done = c->done;
		pthread_mutex_unlock(&in->lock);
		if (!done) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		in->callers_n--;
		place_leave(in, c);
		pthread_join(c->thread, NULL);
		caller_free(c);
	}
}

/* Returns why a connection is refused; NULL: it is accepted. */
static const char *
why_not(const struct inbox *in, const struct sockaddr *from)
{
	const struct setup_inbox *conf = &in->r->setup.inbox;

	if (in->stopping)
		return "the inbox is being closed";
	if (conf->allow.n && !vsi_allowed(&conf->allow, from))
		return "it is not in `allow`";
	/* callers_n includes threads that were told to end and have not yet. */
	return in->callers_n >= conf->connections + 2 * LISTENER_NEWCOMERS
		   ? "too many others come"
		   : NULL;
}

static void
caller_take(struct inbox *in, int fd, const struct listener_peer *peer)
{
	const struct sockaddr *from = (const struct sockaddr *)&peer->address;
	const char *why = why_not(in, from);
	char text[LINK_PEER];
	int err;

	link_peer(fd, text);
	if (why) {
		inbox_refused(in, text, why);
		close(fd);
		return;
	}
	err = caller_make(in, fd, text, peer);
	if (!err)
		return;
	inbox_refused(in, text, "there is no descriptor or thread for it");
	if (err != -EBUSY)
		listener_pause(&in->listener, -err);
}

static void
ready(void *arg, short revents)
{
	struct inbox *in = arg;
	struct listener_peer peer;
	int fd;

	(void)revents;
	for (unsigned n = 0; n < LISTENER_TURN; n++) {
		fd = listener_accept(&in->listener, &peer);
		if (fd < 0)
			return;
		caller_take(in, fd, &peer);
	}
}

void
inbox_callers_step(struct inbox *in)
{
	callers_reap(in);
}

/* ---- opening --------------------------------------------------------- */

static int
listen_on(struct inbox *in, const char *text, struct fault *fault)
{
	int err = listener_add_tcp(&in->listener, text);

	if (!err)
		return 0;
	fault_set(fault, err, err == -EADDRINUSE ? "busy" : "io",
		  "cannot listen for copies on %s", text);
	fault_why(fault, "%s", strerror(-err));
	return err;
}

static int
listener_make(struct inbox *in, struct fault *fault)
{
	const struct listener_rules rules = {
		.name = "inbox",
		.places = in->r->setup.inbox.connections,
		.of_one = in->r->setup.inbox.connections,
		.expel = caller_expel,
	};
	int err = listener_open(&in->listener, &rules);

	if (!err) {
		const struct daemon_fd entry = {
			.fd = listener_fd(&in->listener),
			.events = POLLIN,
			.ready = ready,
			.arg = in,
		};

		err = daemon_fds_add(&in->r->fds, &entry);
	}
	return err ? fault_set(fault, err, "io", "cannot listen for copies: %s",
			       strerror(-err))
		   : 0;
}

static void
in_wake(void *arg)
{
	const struct recorder *r = arg;

	eventfd_write(r->wake, 1);
}

int
inbox_open(struct inbox **inbox, struct recorder *r, struct fault *fault)
{
	const struct setup_inbox *conf = &r->setup.inbox;
	struct inbox *in;
	int err;

	*inbox = NULL;
	if (!conf->listen.n)
		return 0;
	in = calloc(1, sizeof *in);
	if (!in)
		return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
	in->r = r;
	in->secret = conf->secret;
	in->host = (struct copy_in_host){ .pool = r->pool,
					  .queue = r->queue,
					  .durable = r->setup.durable,
					  .disks = FLEET_MOST,
					  .wake = in_wake,
					  .arg = r };
	pthread_mutex_init(&in->lock, NULL);
	err = listener_make(in, fault);
	for (unsigned i = 0; i < conf->listen.n && !err; i++)
		err = listen_on(in, conf->listen.text[i], fault);
	*inbox = in;
	return err;
}

void
inbox_stop(struct inbox *in)
{
	if (!in || in->stopping)
		return;
	in->stopping = true;
	in->stop_by = clock_steady() + END_S * NS_SECOND;
	for (struct inbox_caller *c = in->callers; c; c = c->next)
		eventfd_write(c->link.link.stop, 1);
	pthread_mutex_lock(&in->lock);
	for (struct copy_in *c = in->copies; c; c = c->next)
		copy_in_cut(c);
	pthread_mutex_unlock(&in->lock);
}

bool
inbox_close(struct inbox *in)
{
	if (!in)
		return true;
	inbox_stop(in);
	if (in->listener.open)
		daemon_fds_remove(&in->r->fds, listener_fd(&in->listener));
	callers_reap(in);
	listener_close(&in->listener);
	if (in->callers || in->copies)
		return false; /* a thread is still reading a disk */
	secret_clear(&in->secret);
	pthread_mutex_destroy(&in->lock);
	free(in);
	return true;
}
