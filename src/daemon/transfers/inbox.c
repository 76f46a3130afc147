/* SPDX-License-Identifier: MIT */
/*
 * Each connection has a thread of its own: it reads as fast as the disks take
 * the data, and waits when they do.  A peer that has not proved yet that it
 * knows the secret gets ten seconds, a few kilobytes of memory, and nothing
 * among the `connections` (listener.h).
 *
 * A connection is admitted in two steps: WELCOME says that copies are taken
 * here, which is all that a sender of packets wants to know; only the next
 * frame of the sender makes the connection part of a copy.
 *
 * The event loop knows the disks and their writer threads.  It never waits for
 * a connection's thread: a copy that has to wait is looked at again in the next
 * turn.
 *
 * A copy whose sender does not come back for a minute is closed as interrupted,
 * without an end record; it continues when the sender does.
 * Only the event loop's thread takes copies out of the list.
 */
#include "daemon/transfers/inbox.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "base/module.h"
#include "base/secret.h"
#include "base/units.h"
#include "control/answer.h"
#include "control/listener.h"
#include "net/allow.h"
#include "daemon/sessions/recorder.h"
#include "flow/copy/copy_in.h"
#include "wire/handshake.h"
#include "wire/refuse.h"

enum { INBOX_COPIES = 64 };

/* A connection and its thread. */
struct inbox_caller {
	struct listener_entry
	    entry; /* under inbox::lock; proved: its HELLO is good */
	struct inbox *inbox;
	struct copy_in_link link;
	char from[LINK_PEER];
	pthread_t thread;
	bool let_in;		   /* private to its thread: it has joined a
				    * copy */
	bool done;		   /* under inbox::lock: its thread is about
				    * to end */
	struct inbox_caller *next; /* links inbox::callers */
};

struct inbox {
	struct recorder *r;
	struct copy_in_host host;
	struct secret secret;
	struct option_texts beside; /* as configured */
	struct listener listener;   /* the list of entries is under the lock */
	struct inbox_caller *callers; /* private to the event loop */
	unsigned callers_n;
	bool stopping;
	int64_t stop_by; /* steady ns: threads that still run then are left
			  * behind */

	pthread_mutex_t lock;	/* protects the fields below, and
				 * inbox_caller::done */
	struct copy_in *copies; /* added by connections' threads; freed by
				 * the event loop when a copy has no links
				 * and `users` is 0 */
	unsigned users;		/* connections between copy_find() and
				 * copy_in_attach() */
	int64_t said;		/* steady ns, when a refusal was last logged */
	unsigned unsaid;	/* refusals since then that were not logged */
};

/* The connection's own words in its HELLO. */
struct inbox_greeting {
	struct copy_in_hello hello;
	char name[LAYOUT_FILE];
	bool copy, as;
	/* the plugin that should fetch its payloads; "": none */
	char beside[16];
};

/* ---- greeting -------------------------------------------------------- */

/*
 * Counts a connection that has proved itself among `connections`.  0,
 * or -EBUSY with a fault.
 */
static int
inbox_prove(struct inbox_caller *c, struct fault *fault)
{
	int err;

	pthread_mutex_lock(&c->inbox->lock);
	err = listener_prove(&c->inbox->listener, &c->entry);
	c->entry.busy = !err;
	pthread_mutex_unlock(&c->inbox->lock);
	return err ? fault_set(fault, err, "busy",
			       "all of the inbox's `connections` are taken")
		   : 0;
}

enum { LINGER_S = 2, HELLO_MOST = 64 << 10, BESIDE_MOST = 3072 };

/* ---- refusing -------------------------------------------------------- */

/*
 * Reads and drops what the peer still sends: closing a socket with unread data
 * would make the kernel discard our REFUSE.
 */
static void
linger(const struct copy_link *l)
{
	uint8_t dust[4096];

	shutdown(l->fd, SHUT_WR);
	while (clock_steady() < l->by &&
	       !link_read(l, dust, sizeof dust, l->by))
		;
}

/*
 * Sends REFUSE with the fault, and waits up to two seconds until the peer has
 * read it.
 */
static void
inbox_refuse(struct inbox_caller *c, const struct fault *fault)
{
	const struct wire_frame f = { .type = WIRE_REFUSE };
	uint8_t text[REFUSE_MOST];
	struct refuse r;

	snprintf(r.code, sizeof r.code, "%s", fault->code);
	snprintf(r.what, sizeof r.what, "%.*s", (int)sizeof r.what - 1,
		 fault->what);
	snprintf(r.why, sizeof r.why, "%.*s%s%.*s", 160, fault->why,
		 *fault->why && *fault->hint ? "; " : "", 60, fault->hint);
	c->link.link.by = clock_steady() + LINGER_S * NS_SECOND;
	if (!link_send(&c->link.link, &f, text, refuse_pack(&r, text)))
		linger(&c->link.link);
}

/* ---- greeting -------------------------------------------------------- */

static int
hello_read(struct inbox_greeting *g, const uint8_t *payload, uint32_t bytes,
	   struct fault *fault)
{
	struct wire_hello h;
	const char *why = wire_hello_unpack(&h, payload, bytes);
	const char *name, *as, *beside;
	json_t *about;

	if (why)
		return copy_in_lie(fault, why);
	about = json_loadb((const char *)payload + WIRE_HELLO_BYTES,
			   bytes - WIRE_HELLO_BYTES, 0, NULL);
	name = json_string_value(json_object_get(about, "name"));
	as = json_string_value(json_object_get(about, "as"));
	beside = json_string_value(json_object_get(about, "beside"));
	g->copy = json_is_true(json_object_get(about, "copy"));
	g->hello = (struct copy_in_hello){
		.transfer = h.transfer,
		.attempt = (uint64_t)json_integer_value(
		    json_object_get(about, "attempt")),
		.connections = h.connections,
		.connection = h.connection,
	};
	if (beside)
		snprintf(g->beside, sizeof g->beside, "%s", beside);
	g->as = as;
	name = as ? as : name;
	if (name && layout_folder_good(name))
		snprintf(g->name, sizeof g->name, "%s", name);
	json_decref(about);
	if (!g->copy)
		return fault_set(fault, -EPROTO, "copies",
				 "copies of whole recordings come in here, "
				 "and nothing else");
	if (!*g->name)
		return fault_set(fault, -EINVAL, "bad",
				 "no recording can have that name");
	return h.connections > COPY_IN_LINKS
		   ? fault_set(fault, -E2BIG, "bad",
			       "%d connections are the most of a copy",
			       COPY_IN_LINKS)
		   : 0;
}

static int
handshake_send(const struct inbox_caller *c, struct handshake *h)
{
	struct wire_frame f;
	const char *why;

	if (!h->out_bytes)
		return 0;
	why = wire_copy_unpack(&f, h->out, crc32c);
	if (why)
		return -EINVAL; /* cannot happen: handshake.h made the frame */
	return link_send(&c->link.link, &f, h->out + WIRE_HEADER,
			 h->out_bytes - WIRE_HEADER);
}

static int
prove(const struct inbox_caller *c, const uint8_t *hello, struct fault *fault)
{
	struct handshake_args args = { .secret = c->inbox->secret.bytes,
				       .secret_bytes = c->inbox->secret.n,
				       .hmac = hmac_sha256,
				       .crc32c = crc32c };
	uint8_t payload[WIRE_PROOF_BYTES];
	struct wire_frame f;
	struct handshake h;
	const char *why;
	int err;

	if (getrandom(args.nonce, sizeof args.nonce, 0) != sizeof args.nonce)
		return -EIO;
	handshake_begin(&h, &args);
	handshake_hello(&h, hello);
	err = handshake_send(c, &h);
	if (err || h.state == HANDSHAKE_DONE)
		return err;
	err = link_frame(&c->link.link, &f, INT64_MAX, &why);
	if (!err && f.payload_bytes > sizeof payload)
		why = "no proof that it knows the secret";
	if (!err && !why)
		err = link_payload(&c->link.link, &f, payload);
	if (!err && !why) {
		handshake_take(&h, &f, payload);
		why = h.state == HANDSHAKE_DONE ? NULL : h.why;
	}
	if (err && err != -EBADMSG && !why)
		return err;
	if (err || why)
		return fault_set(fault, -EACCES, "secret", "the sender sent %s",
				 why ? why : "no proof");
	return handshake_send(c, &h);
}

static bool
may_beside(const struct option_texts *names, const char *name)
{
	for (unsigned i = 0; i < names->n; i++) {
		if (!strcmp(names->text[i], name))
			return true;
	}
	return false;
}

/*
 * Opens what fetches the payloads of pieces, if the sender asked for that, and
 * sends BESIDE.
 */
static int
beside_open(struct inbox_caller *c, const char *name, struct fault *fault)
{
	const struct wire_frame f = { .type = WIRE_BESIDE };
	struct copy_link *l = &c->link.link;
	const struct receive_ops *ops;
	uint8_t where[BESIDE_MOST];
	char why[160] = "";
	struct receive_beside_args args = { .fd = l->fd,
					    .where = where,
					    .where_bytes = sizeof where,
					    .crc32c = crc32c,
					    .why = why,
					    .why_bytes = sizeof why };
	int err;

	if (!*name)
		return 0;
	if (!may_beside(&c->inbox->beside, name) ||
	    module_receive(name, &ops, fault) || !ops->beside)
		return fault_set(fault, -EPROTO, "beside",
				 "this inbox takes copies by TCP: tcp:// sends "
				 "to it");
	l->ops = ops->beside;
	err = l->ops->open(&l->beside, &args);
	if (err) {
		fault_set(fault, err, "busy", "%s cannot be used", name);
		fault_why(fault, "%s", *why ? why : strerror(-err));
		return err;
	}
	return link_send(l, &f, where, args.where_bytes);
}

/* Reads the HELLO, checks the proof, and sends WELCOME. */
static int
inbox_greet(struct inbox_caller *c, struct inbox_greeting *g,
	    struct fault *fault)
{
	const struct wire_frame welcome = { .type = WIRE_WELCOME };
	const char *why;
	struct wire_frame f;
	uint8_t *payload;
	int err = link_frame(&c->link.link, &f, INT64_MAX, &why);

	if (err)
		return why ? copy_in_lie(fault, why) : err;
	if (f.type != WIRE_HELLO || f.payload_bytes > HELLO_MOST)
		return copy_in_lie(fault, "no hello");
	payload = malloc(HELLO_MOST);
	if (!payload)
		return -ENOMEM;
	err = link_read(&c->link.link, payload, f.payload_bytes, INT64_MAX);
	if (!err && crc32c(0, payload, f.payload_bytes) != f.payload_crc)
		err = copy_in_lie(fault, "a hello with a wrong checksum");
	/*
	 * Check the proof before the rest of the HELLO: a stranger learns
	 * nothing about it.
	 */
	if (!err && f.payload_bytes < WIRE_HELLO_BYTES)
		err = copy_in_lie(fault, "a hello that is too short");
	if (!err)
		err = prove(c, payload, fault);
	if (!err)
		err = hello_read(g, payload, f.payload_bytes, fault);
	if (!err)
		err = inbox_prove(c, fault);
	free(payload);
	if (!err)
		err = beside_open(c, g->beside, fault);
	return err ? err : link_send(&c->link.link, &welcome, "{}", 2);
}

/* ---- the log --------------------------------------------------------- */

/*
 * inbox.c: logs a refused connection, once a second at most, so that
 * strangers cannot fill the log.
 */
static void
inbox_refused(struct inbox *in, const char *from, const char *why)
{
	int64_t now = clock_steady();
	unsigned unsaid = 0;
	bool say;

	pthread_mutex_lock(&in->lock);
	say = now - in->said >= NS_SECOND;
	if (say) {
		unsaid = in->unsaid;
		in->said = now;
	}
	in->unsaid = say ? 0 : in->unsaid + 1;
	pthread_mutex_unlock(&in->lock);
	if (unsaid)
		log_line(LEVEL_WARN, NULL,
			 "inbox: %u more connections were refused", unsaid);
	if (say)
		log_line(LEVEL_WARN, NULL,
			 "inbox: a connection of %s is refused: %s", from, why);
}

/* ---- connections ----------------------------------------------------- */

enum { GREET_S = 10, END_S = 2 };

/* ---- copies ---------------------------------------------------------- */

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
	const char *why = NULL;
	int err;

	c->link.link.by = clock_steady() + GREET_S * NS_SECOND;
	err = inbox_greet(c, &g, fault);
	/* Only a STATE frame says that the sender came to copy. */
	if (!err)
		err = link_frame(&c->link.link, &f, INT64_MAX, &why);
	if (err)
		return (why || err == -EBADMSG) && !fault->code
			   ? copy_in_lie(fault, why ? why
						    : "nothing that is known "
						      "here")
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
	link_beside_close(&c->link.link);
	pthread_mutex_lock(&in->lock);
	c->done = true;
	pthread_mutex_unlock(&in->lock);
	in->host.wake(in->host.arg);
	return NULL;
}

/* ---- connections ----------------------------------------------------- */

static void
entry_leave(struct inbox *in, struct inbox_caller *c)
{
	pthread_mutex_lock(&in->lock);
	listener_leave(&in->listener, &c->entry);
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
	link_tune(fd);
	err = c->link.link.stop < 0 ? errno : 0;
	if (!err) {
		pthread_mutex_lock(&in->lock);
		err = -listener_enter(&in->listener, &c->entry, peer);
		pthread_mutex_unlock(&in->lock);
	}
	if (!err)
		err = pthread_create(&c->thread, NULL, caller_run, c);
	if (err) {
		entry_leave(in, c);
		caller_free(c);
		return -err;
	}
	c->next = in->callers;
	in->callers = c;
	in->callers_n++;
	return 0;
}

/*
 * Makes a connection's thread end; it is then reaped like any other.  Called by
 * the listener, under the lock.
 */
static void
caller_expel(void *arg, struct listener_entry *p)
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
		entry_leave(in, c);
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
	if (conf->allow.n && !allow_texts_have(&conf->allow, from))
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

/* inbox.c: joins and frees connections whose threads have ended. */
static void
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
		.connections = in->r->setup.inbox.connections,
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
		return fault_no_memory(fault);
	in->r = r;
	in->secret = conf->secret;
	in->beside = conf->beside;
	in->host = (struct copy_in_host){ .arena = r->arena,
					  .queue = r->queue,
					  .durable = r->setup.durable,
					  .disks = DISK_SET_MOST,
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

/* ---- copies ---------------------------------------------------------- */

#define PATIENCE (60 * NS_SECOND)

/* ---- disks ----------------------------------------------------------- */

/*
 * Lists the disks for a copy.  The connection's thread opens them, since that
 * may take long.
 */
static struct copy_in_disks *
here_find(const struct disk_set *set)
{
	struct copy_in_disks *h = calloc(1, sizeof *h);

	for (unsigned i = 0; h && i < set->n; i++) {
		struct writer *w = disk_set_writer(set, i);
		struct disk *disk = &h->disk[h->disks.n];
		struct writer_facts f;

		if (!w)
			continue;
		writer_facts(w, &f);
		if (f.state == WRITER_HUNG)
			continue;
		*disk = set->disk[i].disk; /* the path is borrowed from the
					      * set */
		disk->fd = -1;
		h->disks.n++;
	}
	if (h)
		h->disks.disk = h->disk;
	return h;
}

static bool
is_recorded(const struct recorder *r, const char *name)
{
	for (const struct session *s = r->sessions; s; s = s->next) {
		if (!strcmp(s->name, name))
			return true;
	}
	return false;
}

static void
asked(struct inbox *in, struct copy_in *c)
{
	struct fault fault = { 0 };

	if (is_recorded(in->r, c->name)) {
		fault_set(&fault, -EEXIST, "exists", "cannot copy to %.80s",
			  c->name);
		fault_why(&fault, "a recording of that name is being made");
		fault_hint(&fault, "give the copy another name (--as)");
		copy_in_fail(c, &fault);
		return;
	}
	c->here = here_find(&in->r->disks);
	if (!c->here || !c->here->disks.n) {
		fault_set(&fault, -ENODEV, "no-disk",
			  "there is no disk to copy to");
		copy_in_fail(c, &fault);
		return;
	}
	if (!c->id)
		c->id = ++in->r->last_id;
	copy_in_move(c, COPY_IN_LOOKING);
}

/* ---- folders --------------------------------------------------------- */

static void
folders_begin(struct inbox *in, struct copy_in *c)
{
	struct disk_set *set = &in->r->disks;

	copy_in_move(c, COPY_IN_BEGINNING);
	atomic_store(&c->output->jobs, disk_set_writers(set));
	for (unsigned i = 0; i < set->n; i++) {
		struct writer *w = disk_set_writer(set, i);

		if (w && writer_begin(w, c->output) < 0)
			abort(); /* out of a few bytes of memory, while other
				  * disks have begun */
	}
}

static bool
jobs_done(const struct copy_in *c)
{
	return atomic_load_explicit(&c->output->jobs, memory_order_acquire) ==
	       0;
}

static void
begin_look(struct inbox *in, struct copy_in *c)
{
	bool done = jobs_done(c); /* read before `folders`: all writers
				      * are counted then */
	struct fault fault = { 0 };

	if (atomic_load(&c->output->folders)) {
		log_line(LEVEL_INFO, c->name, "a copy comes in from %s",
			 c->from);
		copy_in_move(c, COPY_IN_TAKING);
		catalogue_thread_poke(in->r->catalogue);
	} else if (done) {
		fault_set(&fault, -ENODEV, "no-disk",
			  "no disk could take %.80s", c->name);
		copy_in_fail(c, &fault);
	}
}

/* ---- the end of a copy ----------------------------------------------- */

static void
folders_end(struct inbox *in, struct copy_in *c)
{
	struct disk_set *set = &in->r->disks;

	atomic_store_explicit(&c->output->ended, true, memory_order_release);
	atomic_store(&c->output->jobs, disk_set_writers(set));
	for (unsigned i = 0; i < set->n; i++) {
		struct writer *w = disk_set_writer(set, i);

		if (w && writer_end(w, c->output, c->ended ? &c->end : NULL,
				    NULL) < 0)
			abort();
	}
}

static void
closing_look(struct inbox *in, struct copy_in *c)
{
	bool ended = atomic_load(&c->output->ended);

	if (!ended && !disk_set_serves(&in->r->disks, c->output))
		disk_set_abandon(&in->r->disks, c->output);
	if (!ended && jobs_done(c) &&
	    atomic_load_explicit(&c->output->in_flight, memory_order_acquire) ==
		0)
		folders_end(in, c);
	else if (ended && jobs_done(c))
		copy_in_move(c, COPY_IN_CLOSED);
}

/*
 * Tells whether a copy has ended: no connection is left, and none is to be
 * expected.
 */
static bool
is_over(const struct copy_in *c, int64_t now)
{
	bool there = c->state >= COPY_IN_THERE;

	/* The disks' writers are making folders: wait for them. */
	if (c->links || c->state == COPY_IN_LOOKED ||
	    c->state == COPY_IN_BEGINNING)
		return false;
	return c->stopping || there || now - c->idle > PATIENCE;
}

/* Closes a copy whose folders were made; drops any other. */
static void
give_up(struct copy_in *c, bool stopped)
{
	bool wrote = c->state == COPY_IN_TAKING;

	if (wrote)
		log_line(LEVEL_WARN, c->name,
			 stopped ? "the copy was stopped: it is interrupted"
				 : "the sender does not come back: the "
				   "copy is interrupted");
	copy_in_move(c, wrote ? COPY_IN_CLOSING : COPY_IN_CLOSED);
}

static void
over(struct inbox *in, struct copy_in *c)
{
	char bytes[UNITS_TEXT];
	struct copy_blocks_facts f;

	if (c->blocks && c->whole) {
		copy_blocks_facts(c->blocks, &f);
		log_line(f.left ? LEVEL_WARN : LEVEL_INFO, c->name,
			 "%s: %llu chunks, %s, from %s; %llu were here%s",
			 c->ended ? "copied" : "as far as it goes",
			 (unsigned long long)f.durable,
			 units_show_bytes(bytes, f.durable_bytes), c->from,
			 (unsigned long long)f.there,
			 f.left ? "; some could not be read there" : "");
	}
	if (c->output) {
		catalogue_thread_touch(in->r->catalogue, c->name);
		catalogue_thread_poke(in->r->catalogue);
	}
}

/* ---- a turn of the event loop ---------------------------------------- */

static void
full_look(struct inbox *in, struct copy_in *c)
{
	bool full = !disk_set_serves(&in->r->disks, c->output);

	pthread_mutex_lock(&c->lock);
	if (full != c->full)
		log_line(LEVEL_WARN, c->name,
			 full ? "no disk takes blocks: the sender waits"
			      : "the copy goes on");
	c->full = full;
	pthread_mutex_unlock(&c->lock);
}

static void
rate_sample(struct copy_in *c, int64_t now)
{
	double seconds = (double)(now - c->sampled) / 1e9;
	struct copy_blocks_facts f;

	if (seconds < 1 || !c->blocks)
		return;
	copy_blocks_facts(c->blocks, &f);
	if (c->sampled)
		c->rate =
		    (double)(f.came_bytes - c->sampled_bytes) * 8 / seconds;
	c->sampled = now;
	c->sampled_bytes = f.came_bytes;
}

static void
copy_step(struct inbox *in, struct copy_in *c, int64_t now)
{
	enum copy_in_state state = copy_in_is(c);
	bool stopped, end;

	if (state == COPY_IN_ASKED)
		asked(in, c);
	else if (state == COPY_IN_LOOKED)
		folders_begin(in, c);
	else if (state == COPY_IN_BEGINNING)
		begin_look(in, c);
	else if (state == COPY_IN_CLOSING)
		closing_look(in, c);
	if (state == COPY_IN_TAKING) {
		full_look(in, c);
		rate_sample(c, now);
	}
	pthread_mutex_lock(&c->lock);
	stopped = c->stopping;
	end = state < COPY_IN_CLOSING && c->state == state && is_over(c, now);
	c->stopping |= end; /* no connection may join any more */
	pthread_mutex_unlock(&c->lock);
	if (end)
		give_up(c, stopped);
}

static bool
is_gone(struct inbox *in, struct copy_in *c)
{
	bool gone;

	pthread_mutex_lock(&c->lock);
	gone = c->state >= COPY_IN_CLOSED && !c->links && !in->users;
	pthread_mutex_unlock(&c->lock);
	return gone;
}

static void
copies_free(struct inbox *in)
{
	struct copy_in **at, *c, *ended = NULL;

	pthread_mutex_lock(&in->lock);
	for (at = &in->copies; (c = *at);) {
		if (!is_gone(in, c)) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		c->next = ended;
		ended = c;
	}
	pthread_mutex_unlock(&in->lock);
	while ((c = ended)) {
		ended = c->next;
		live_tap_end(in->r, c->id);
		over(in, c);
		copy_in_free(c);
	}
}

void
inbox_step(struct inbox *in, int64_t now)
{
	struct copy_in *c;

	if (!in)
		return;
	inbox_callers_step(in);
	/*
	 * The list may be walked without the lock: connections add in front
	 * only, and only this thread removes.
	 */
	pthread_mutex_lock(&in->lock);
	c = in->copies;
	pthread_mutex_unlock(&in->lock);
	for (; c; c = c->next)
		copy_step(in, c, now);
	copies_free(in);
}

bool
inbox_find(struct inbox *in, const char *name, struct live_tap_of *of)
{
	struct copy_in *c;
	bool comes = false;

	if (!in)
		return false;
	pthread_mutex_lock(&in->lock);
	for (c = in->copies; c && strcmp(c->name, name) != 0; c = c->next)
		;
	pthread_mutex_unlock(&in->lock);
	if (c) {
		enum copy_in_state state = copy_in_is(c);

		comes = state == COPY_IN_TAKING || state == COPY_IN_CLOSING;
	}
	if (comes)
		*of = (struct live_tap_of){ .id = c->id,
					    .output = c->output,
					    .pool = c->pool,
					    .copied = true };
	return comes;
}

int
inbox_end(struct inbox *in, const char *name)
{
	/*
	 * A recording's name has at least one character that is no digit, so
	 * digits alone are a number.
	 */
	bool number = !name[strspn(name, "0123456789")];
	unsigned long id = number ? strtoul(name, NULL, 10) : 0;
	struct copy_in *c;

	if (!in)
		return -ENOENT;
	pthread_mutex_lock(&in->lock);
	for (c = in->copies; c; c = c->next) {
		if ((id && c->id == id) || !strcmp(c->name, name))
			break;
	}
	pthread_mutex_unlock(&in->lock);
	if (!c)
		return -ENOENT;
	copy_in_cut(c);
	return 0;
}

/* ---- questions ------------------------------------------------------- */

/*
 * Tells whether shutdown waits for a copy: yes if its folders are on these
 * disks; no while its thread only looks at what is there, since reading all of
 * it again may take hours.
 */
static bool
is_awaited(struct copy_in *c)
{
	enum copy_in_state state = copy_in_is(c);

	return state >= COPY_IN_LOOKED && state <= COPY_IN_CLOSING &&
	       state != COPY_IN_THERE;
}

bool
inbox_busy(const struct inbox *inbox)
{
	struct inbox *in = (struct inbox *)inbox;
	bool waits, busy;

	if (!in)
		return false;
	waits = !in->stopping || clock_steady() < in->stop_by;
	busy = in->callers && waits;
	pthread_mutex_lock(&in->lock);
	for (struct copy_in *c = in->copies; c && !busy; c = c->next)
		busy = waits || is_awaited(c);
	pthread_mutex_unlock(&in->lock);
	return busy;
}

bool
inbox_has(const struct inbox *inbox, const char *name)
{
	struct inbox *in = (struct inbox *)inbox;
	bool has = false;

	if (!in)
		return false;
	pthread_mutex_lock(&in->lock);
	for (const struct copy_in *c = in->copies; c && !has; c = c->next)
		has = !strcmp(c->name, name);
	pthread_mutex_unlock(&in->lock);
	return has;
}

static const char *
word(const struct copy_in *c)
{
	switch (c->state) {
	case COPY_IN_GREETED:
	case COPY_IN_ASKED:
	case COPY_IN_LOOKING: return "looking";
	case COPY_IN_LOOKED:
	case COPY_IN_BEGINNING: return "beginning";
	case COPY_IN_TAKING:
		return c->full ? "waiting" : c->links ? "copying" : "broken";
	case COPY_IN_THERE: return "there";
	case COPY_IN_FAILED: return "failed";
	default: return "closing";
	}
}

static const char *
head_text(const struct copy_in *c, const char *key)
{
	const char *text =
	    json_string_value(json_object_get(c->told_head, key));

	return text ? text : "";
}

static json_t *
copy_json(struct copy_in *c)
{
	struct copy_blocks_facts f = { 0 };
	struct answer_copy copy;
	json_t *json;

	pthread_mutex_lock(&c->lock);
	if (c->state >= COPY_IN_LOOKED && c->blocks)
		copy_blocks_facts(c->blocks, &f);
	copy = (struct answer_copy){
		.id = c->id,
		.name = c->name,
		.from = c->from,
		.state = word(c),
		.why = c->state == COPY_IN_FAILED ? c->fault.what
		       : c->full		  ? "no disk takes any more"
		       : c->links		  ? ""
						  : "the sender is away",
		.stream = head_text(c, "stream"),
		.format = head_text(c, "format"),
		.bytes = f.durable_bytes,
		.total = f.bytes,
		.there = f.there_bytes,
		.chunks = f.durable,
		.told = f.told,
		.packets = f.packets,
		.rate = c->rate,
		.connections = c->links,
		.start = c->start_ns,
	};
	json = keys_json(copy_keys, &copy, ANSWER);
	pthread_mutex_unlock(&c->lock);
	return json;
}

json_t *
inbox_json(const struct inbox *inbox)
{
	struct inbox *in = (struct inbox *)inbox;
	json_t *list = json_array();

	if (!in)
		return list;
	pthread_mutex_lock(&in->lock);
	for (struct copy_in *c = in->copies; c; c = c->next)
		json_array_append_new(list, copy_json(c));
	pthread_mutex_unlock(&in->lock);
	return list;
}
