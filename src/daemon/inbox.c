/* SPDX-License-Identifier: MIT */
/*
 * A connection has a thread of its own: what it says is read as fast as disks
 * take it, and waits with it.  Who has not proved that he knows the secret has
 * ten seconds, a few kilobytes, and nothing else.
 *
 * It is let in twice: WELCOME says that copies are taken here, which is all
 * that a sender of packets wanted to know; and only with its next frame does a
 * connection take part in a copy.
 */
#include "daemon/inbox_priv.h"

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
#include "daemon/daemon.h"
#include "daemon/vsi_allow.h"

#define SECOND INT64_C(1000000000)
enum { GREET_S = 10, END_S = 2 };

/* ---- a copy ---------------------------------------------------------- */

/* Under the lock.  NULL: there are too many, or no memory. */
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

	c->link.link.by = clock_steady() + GREET_S * SECOND;
	err = inbox_greet(c, &g, fault);
	/* Its next word says that it came for a copy. */
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
		log_line(LOG_WARN, g.name, "from %s: %s%s%s", c->from,
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
		/* Of a copy its own lines say it. */
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

/* ---- callers --------------------------------------------------------- */

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
caller_make(struct inbox *in, int fd, const char *from)
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
	if (!err)
		err = pthread_create(&c->thread, NULL, caller_run, c);
	if (err) {
		caller_free(c);
		return -err;
	}
	c->next = in->callers;
	in->callers = c;
	in->callers_n++;
	return 0;
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
		pthread_join(c->thread, NULL);
		caller_free(c);
	}
}

/* No descriptor is left: who waits there would wake us again and again. */
static void
deafen(struct inbox *in)
{
	for (unsigned i = 0; i < in->fds; i++)
		daemon_fds_remove(&in->d->fds, in->fd[i]);
	if (!in->deaf)
		log_line(LOG_ERROR, NULL,
			 "inbox: no file descriptor is left for those who "
			 "come");
	in->deaf = clock_steady() + SECOND;
}

/* NULL: it may come. */
static const char *
why_not(const struct inbox *in, const struct sockaddr *from)
{
	const struct setup_inbox *conf = &in->d->setup.inbox;

	if (in->stopping)
		return "the inbox is being closed";
	if (conf->allow.n && !vsi_allowed(&conf->allow, from))
		return "it is not in `allow`";
	return in->callers_n >= conf->connections
		   ? "all of the inbox's `connections` are taken"
		   : NULL;
}

static void
ready(void *arg, short revents)
{
	struct inbox *in = arg;

	(void)revents;
	for (unsigned i = 0; i < in->fds; i++) {
		struct sockaddr_storage from;
		socklen_t n = sizeof from;
		char text[LINK_PEER];
		const char *why;
		int fd = accept4(in->fd[i], (struct sockaddr *)&from, &n,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE))
			deafen(in);
		if (fd < 0)
			continue;
		link_peer(fd, text);
		why = why_not(in, (struct sockaddr *)&from);
		if (why) {
			inbox_refused(in, text, why);
			close(fd);
		} else if (caller_make(in, fd, text)) {
			log_line(LOG_ERROR, NULL,
				 "inbox: there is no thread for %s", text);
		}
	}
}

static int
hear(struct inbox *in, int fd)
{
	const struct daemon_fd entry = {
		.fd = fd, .events = POLLIN, .ready = ready, .arg = in
	};

	return daemon_fds_add(&in->d->fds, &entry);
}

void
inbox_callers_step(struct inbox *in)
{
	callers_reap(in);
	if (!in->deaf || clock_steady() < in->deaf)
		return;
	in->deaf = 0;
	for (unsigned i = 0; i < in->fds; i++) {
		if (hear(in, in->fd[i]))
			deafen(in);
	}
}

/* ---- opening --------------------------------------------------------- */

static int
socket_make(const char *text, int *fd)
{
	static const int one = 1;
	struct sockaddr_storage address;
	int length = vsi_address_parse(&address, text);

	if (length < 0)
		return length;
	*fd = socket(address.ss_family,
		     SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return -errno;
	setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	setsockopt(*fd, IPPROTO_IP, IP_FREEBIND, &one, sizeof one);
	if (address.ss_family == AF_INET6)
		setsockopt(*fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
	if (bind(*fd, (struct sockaddr *)&address, (socklen_t)length) < 0 ||
	    listen(*fd, 64) < 0)
		return -errno;
	return 0;
}

static int
listen_on(struct inbox *in, const char *text, struct fault *fault)
{
	int fd = -1, err = socket_make(text, &fd);

	if (!err)
		err = hear(in, fd);
	if (!err) {
		in->fd[in->fds++] = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	fault_set(fault, err, err == -EADDRINUSE ? "busy" : "io",
		  "cannot listen for copies on %s", text);
	fault_why(fault, "%s", strerror(-err));
	return err;
}

static void
in_wake(void *arg)
{
	const struct daemon *d = arg;

	eventfd_write(d->wake, 1);
}

int
inbox_open(struct inbox **inbox, struct daemon *d, struct fault *fault)
{
	const struct setup_inbox *conf = &d->setup.inbox;
	struct inbox *in;
	int err = 0;

	*inbox = NULL;
	if (!conf->listen.n)
		return 0;
	in = calloc(1, sizeof *in);
	if (!in)
		return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
	in->d = d;
	in->secret = conf->secret;
	in->host = (struct copy_in_host){ .pool = d->pool,
					  .queue = d->queue,
					  .durable = d->setup.durable,
					  .disks = FLEET_MOST,
					  .wake = in_wake,
					  .arg = d };
	pthread_mutex_init(&in->lock, NULL);
	for (unsigned i = 0; i < conf->listen.n && i < INBOX_LISTEN && !err;
	     i++)
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
	in->stop_by = clock_steady() + END_S * SECOND;
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
	for (unsigned i = 0; i < in->fds; i++) {
		daemon_fds_remove(&in->d->fds, in->fd[i]);
		close(in->fd[i]);
	}
	in->fds = 0;
	callers_reap(in);
	if (in->callers || in->copies)
		return false; /* a thread that reads a disk */
	secret_clear(&in->secret);
	pthread_mutex_destroy(&in->lock);
	free(in);
	return true;
}
