/* SPDX-License-Identifier: MIT */
/*
 * The folder that a name lies in is found by comparing text; the rest of the
 * path is opened beneath it without following links (disk_open_at): clients of
 * the network choose names, and users who may write to the folder may put links
 * there.
 *
 * A new file to which nothing was written is removed, as jive5ab does, so that
 * a copy that never began does not block the next one.
 *
 * Threads: the event loop writes `from` and `to` before `go` (release).  The
 * thread writes size, why and data before `state` (release); the event loop
 * reads `state` (acquire) before them.  The second of both to set `left` frees
 * the struct.
 */
#include "vsi/vsi_file.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/module.h"
#include "net/allow.h"
#include "net/url.h"
#include "store/disk/disk.h"
#include "store/foreign/packet_form.h"

enum {
	ALLOW_MOST = 64,
	PIECE = 1 << 20, /* bytes copied at a time */
	PATIENCE = 10,	 /* seconds to wait for a peer */
};

struct vsi_file {
	enum vsi_file_what what;
	char folder[512], name[512]; /* name "" stands for /dev/null */
	char mode;
	char host[256];
	uint16_t port;
	char *allow_text[ALLOW_MOST];
	struct option_texts allow;
	pthread_t thread;
	int wake; /* eventfd, written for go and stop */
	uint64_t from, to;
	atomic_bool go, stop, left;

	/* Private to the thread until `state` says otherwise. */
	int fd, at;	  /* the file, and its folder; -1: not open */
	const char *base; /* file name within `at` */
	bool made;	  /* this thread created the file */
	int listen, peer; /* sockets; -1: none */
	uint64_t size;
	char why[320];
	struct vsi_file_data data;

	_Atomic uint64_t bytes;
	_Atomic int state; /* enum vsi_file_state; release here, acquire in
			    * vsi_file_facts() */
};

/* ---- the file -------------------------------------------------------- */

static int fail(struct vsi_file *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int
fail(struct vsi_file *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->why, sizeof f->why, format, args);
	va_end(args);
	return -1;
}

static int
open_failed(struct vsi_file *f, int err)
{
	return fail(f, "%s - %s/%s", disk_why(err), f->folder, f->name);
}

/* Opens the file's folder, beneath the one that the configuration names. */
static int
folder_open(struct vsi_file *f)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	char path[sizeof f->name];
	int root = open(f->folder, flags);
	char *slash;

	if (root < 0)
		return fail(f, "%s - %s", strerror(errno), f->folder);
	f->base = f->name;
	f->at = root;
	memcpy(path, f->name, sizeof path);
	slash = strrchr(path, '/');
	if (!slash)
		return 0;
	*slash = '\0';
	f->base = f->name + (slash + 1 - path);
	f->at = disk_open_at(root, path, flags, DISK_NO_LINKS);
	close(root);
	return f->at < 0 ? open_failed(f, f->at) : 0;
}

static int
file_open(struct vsi_file *f)
{
	bool writes = f->what == VSI_FILE_OUT || f->what == VSI_FILE_TAKE;
	int again = f->mode == 'w' ? O_WRONLY | O_TRUNC : O_WRONLY;
	off_t size;

	if (!*f->name) {
		f->fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		return f->fd < 0 ? fail(f, "%s - /dev/null", strerror(errno))
				 : 0;
	}
	if (folder_open(f) < 0)
		return -1;
	f->fd = disk_open_at(f->at, f->base,
			     writes ? O_WRONLY | O_CREAT | O_EXCL : O_RDONLY,
			     DISK_NO_LINKS);
	f->made = writes && f->fd >= 0;
	if (f->fd == -EEXIST && f->mode != 'n')
		f->fd = disk_open_at(f->at, f->base, again, DISK_NO_LINKS);
	if (f->fd < 0)
		return open_failed(f, f->fd);
	size = lseek(f->fd, 0, SEEK_END);
	if (size < 0)
		return open_failed(f, -errno);
	f->size = (uint64_t)size;
	return 0;
}

/* ---- the data in it -------------------------------------------------- */

/* Reads packet `n` and its header; false if it has no time. */
static bool
packet_read(struct vsi_file *f, const struct format_ops *ops,
	    const struct format_shape *shape, uint64_t n, uint8_t *data,
	    struct format_packet *p)
{
	if (pread(f->fd, data, f->data.packet, (off_t)(n * f->data.packet)) !=
	    f->data.packet)
		return false;
	*p = (struct format_packet){ 0 };
	ops->parse(shape, NULL, data, p);
	return p->has & FORMAT_TIME;
}

/* Counts the different threads among the first packets; at least 1. */
static unsigned
threads_count(struct vsi_file *f, const struct format_ops *ops,
	      const struct format_shape *shape, uint64_t packets, uint8_t *data)
{
	enum { LOOKS = 256 };
	uint64_t seen[1024 / 64] = { 0 };
	struct format_packet p;
	unsigned n = 0;

	for (uint64_t i = 0; i < packets && i < LOOKS; i++) {
		if (!packet_read(f, ops, shape, i, data, &p) ||
		    p.thread >= 1024 ||
		    seen[p.thread / 64] >> p.thread % 64 & 1)
			continue;
		seen[p.thread / 64] |= UINT64_C(1) << p.thread % 64;
		n++;
	}
	return n ? n : 1;
}

/*
 * Computes the rate from first and last packet: every whole second between them
 * has all its frames, of every thread.
 */
static void
rate_find(struct vsi_file *f, const struct format_packet *first,
	  const struct format_packet *last, uint64_t packets, unsigned threads)
{
	double seconds = (double)(last->second - first->second), each;
	double ends = ((double)last->frame - first->frame) * threads;
	uint32_t header =
	    !strcmp(f->data.format, "vdif") && !f->data.legacy ? 32 : 16;

	f->data.start_ns = first->second * NS_SECOND;
	if (seconds < 1)
		return;
	each = ((double)(packets - threads) - ends) / seconds;
	if (each < 1)
		return;
	f->data.start_ns += (int64_t)(first->frame * threads / each * 1e9);
	f->data.seconds = (double)packets / each;
	f->data.mbps = each * (f->data.packet - header) * 8 / 1e6;
}

static void
frames_look(struct vsi_file *f, uint8_t *data)
{
	struct vsi_file_data *d = &f->data;
	struct format_shape shape = { .payload = d->packet };
	uint64_t packets = f->size / d->packet;
	const struct format_ops *ops;
	struct fault fault = { 0 };
	struct format_packet first, last;
	unsigned threads;

	if (module_format(d->format, &ops, &fault) < 0 ||
	    !packet_read(f, ops, &shape, 0, data, &first))
		return;
	/* VDIF: legacy header, and bits of a sample of all channels. */
	if (!strcmp(d->format, "vdif")) {
		d->legacy = data[3] >> 6 & 1;
		d->tracks =
		    (1u << (data[11] & 31)) * ((data[15] >> 2 & 31) + 1u);
	}
	threads = threads_count(f, ops, &shape, packets, data);
	d->tracks *= threads;
	if (packets > threads &&
	    packet_read(f, ops, &shape, packets - 1, data, &last))
		rate_find(f, &first, &last, packets, threads);
}

static int
file_look(struct vsi_file *f)
{
	uint8_t *data = malloc(PIECE);
	struct packet_form form;
	ssize_t got;

	if (!data)
		return fail(f, "out of memory");
	got = pread(f->fd, data, PIECE, 0);
	if (got > 0 && packet_form_find(&form, data, (size_t)got, 0) &&
	    !form.prefix && form.packet && form.packet <= PIECE &&
	    strcmp(form.format, "raw")) {
		snprintf(f->data.format, sizeof f->data.format, "%s",
			 form.format);
		f->data.packet = form.packet;
		frames_look(f, data);
	}
	free(data);
	return got < 0 ? fail(f, "%s - %s", strerror(errno), f->name) : 0;
}

/* ---- the peer -------------------------------------------------------- */

/*
 * Waits for an event on fd, or for `go` if fd is negative.  False: the thread
 * has to stop, or `until` (steady ns; 0: never) has passed.
 */
static bool
wait_for(struct vsi_file *f, int fd, short events, int64_t until)
{
	struct pollfd set[2] = { { f->wake, POLLIN, 0 }, { fd, events, 0 } };
	eventfd_t n;

	while (!atomic_load(&f->stop)) {
		int64_t left = until ? (until - clock_steady()) / 1000000 : 0;

		if (until && left <= 0)
			return false;
		poll(set, fd < 0 ? 1 : 2, until ? (int)left + 1 : -1);
		if (set[0].revents)
			eventfd_read(f->wake, &n);
		if (fd < 0 ? atomic_load(&f->go) : set[1].revents)
			return true;
	}
	return false;
}

static int
listen_open(struct vsi_file *f)
{
	static const int one = 1;
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(f->port) };

	f->listen =
	    socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (f->listen < 0)
		return fail(f, "%s", strerror(errno));
	setsockopt(f->listen, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(f->listen, (struct sockaddr *)&to, sizeof to) < 0 ||
	    listen(f->listen, 4) < 0)
		return fail(f, "cannot listen on port %u - %s", f->port,
			    strerror(errno));
	return 0;
}

static int
peer_accept(struct vsi_file *f)
{
	union endpoint from = { 0 };
	char text[ENDPOINT_TEXT];

	while (f->peer < 0) {
		socklen_t length = sizeof from;

		if (!wait_for(f, f->listen, POLLIN, 0))
			return fail(f, "stopped");
		f->peer = accept4(f->listen, &from.any, &length,
				  SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (f->peer < 0 || allow_texts_have(&f->allow, &from.any))
			continue;
		log_line(LEVEL_WARN, "vsi",
			 "refused the data of %s for %s: it is in no network "
			 "of `allow`",
			 endpoint_show(&from, text), f->name);
		close(f->peer);
		f->peer = -1;
	}
	close(f->listen);
	f->listen = -1;
	return 0;
}

/* Tries to connect to one address.  0, or a positive errno. */
static int
peer_try(struct vsi_file *f, const union endpoint *to, int64_t until)
{
	socklen_t length = sizeof(int);
	int err = 0;

	f->peer = socket(to->any.sa_family,
			 SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (f->peer < 0)
		return errno;
	if (connect(f->peer, &to->any, endpoint_bytes(to)) < 0)
		err = errno;
	if (err == EINPROGRESS) {
		err = ETIMEDOUT;
		if (wait_for(f, f->peer, POLLOUT, until))
			getsockopt(f->peer, SOL_SOCKET, SO_ERROR, &err,
				   &length);
	}
	if (err) {
		close(f->peer);
		f->peer = -1;
	}
	return err;
}

/* Repeats for some seconds: the receiver may not listen yet. */
static int
peer_connect(struct vsi_file *f)
{
	int64_t until = clock_steady() + PATIENCE * NS_SECOND;
	struct url url = { .first = f->port, .last = f->port, .groups = 1 };
	struct resolved found;
	char why[sizeof f->why];
	int err = 0;

	snprintf(url.host, sizeof url.host, "%s", f->host);
	if (resolve(&found, &url, why, sizeof why))
		return fail(f, "%s", why);
	do {
		for (unsigned i = 0; i < found.n && f->peer < 0; i++)
			err = peer_try(f, &found.at[i], until);
		if (f->peer < 0)
			poll(&(struct pollfd){ f->wake, POLLIN, 0 }, 1, 200);
	} while (f->peer < 0 && !atomic_load(&f->stop) &&
		 clock_steady() < until);
	return f->peer < 0 ? fail(f, "cannot connect to %s port %u - %s",
				  f->host, f->port, strerror(err))
			   : 0;
}

/* ---- copying --------------------------------------------------------- */

static int
file_write(struct vsi_file *f, const uint8_t *data, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(f->fd, data, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(f, "%s - %s/%s", strerror(errno), f->folder,
				    f->name);
		data += n;
		bytes -= (size_t)n;
		atomic_fetch_add(&f->bytes, (uint64_t)n);
	}
	return 0;
}

/* Receives to the end of the connection, then makes the file durable. */
static int
take(struct vsi_file *f)
{
	uint8_t *data = malloc(PIECE);
	ssize_t n = 1;
	int err = data ? 0 : fail(f, "out of memory");

	while (!err && n) {
		if (!wait_for(f, f->peer, POLLIN, 0)) {
			err = fail(f, "stopped");
			break;
		}
		n = recv(f->peer, data, PIECE, 0);
		if (n > 0)
			err = file_write(f, data, (size_t)n);
		else if (n < 0 && errno != EAGAIN && errno != EINTR)
			err = fail(f, "the connection broke - %s",
				   strerror(errno));
	}
	free(data);
	/* Sync even if it was stopped: the client was told the byte count. */
	if (*f->name && fdatasync(f->fd) < 0 && !err)
		err =
		    fail(f, "%s - %s/%s", strerror(errno), f->folder, f->name);
	return err;
}

/*
 * Waits until the peer closes, which shows that it, or its kernel, has
 * everything.
 */
static int
give_end(struct vsi_file *f)
{
	int64_t until = clock_steady() + PATIENCE * NS_SECOND;
	char any[64];
	ssize_t n = 1;

	shutdown(f->peer, SHUT_WR);
	while (n > 0 && wait_for(f, f->peer, POLLIN, until)) {
		n = recv(f->peer, any, sizeof any, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			n = 1;
	}
	return n < 0 ? fail(f, "the connection broke - %s", strerror(errno))
		     : 0;
}

static int
give(struct vsi_file *f)
{
	off_t at = (off_t)f->from, to = (off_t)f->to;

	while (at < to) {
		size_t piece = to - at < PIECE ? (size_t)(to - at) : PIECE;
		ssize_t n;

		if (!wait_for(f, f->peer, POLLOUT, 0))
			return fail(f, "stopped");
		n = sendfile(f->peer, f->fd, &at, piece);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return fail(f, "the connection broke - %s",
				    strerror(errno));
		if (!n)
			return fail(f, "the file became shorter - %s/%s",
				    f->folder, f->name);
		atomic_fetch_add(&f->bytes, (uint64_t)n);
	}
	return give_end(f);
}

/* ---- the thread ------------------------------------------------------ */

static void
state_set(struct vsi_file *f, enum vsi_file_state state)
{
	atomic_store_explicit(&f->state, state, memory_order_release);
}

static int
run(struct vsi_file *f)
{
	int err = file_open(f);

	if (err || f->what == VSI_FILE_OUT)
		return err;
	if (f->what == VSI_FILE_LOOK)
		return file_look(f);
	if (f->what == VSI_FILE_TAKE)
		err = listen_open(f);
	if (err)
		return err;
	state_set(f, VSI_FILE_OPEN);
	err = f->what == VSI_FILE_TAKE ? peer_accept(f) : peer_connect(f);
	if (err)
		return err;
	state_set(f, VSI_FILE_CONNECTED);
	if (f->what == VSI_FILE_GIVE && !wait_for(f, -1, 0, 0))
		return fail(f, "stopped");
	state_set(f, VSI_FILE_RUNNING);
	return f->what == VSI_FILE_TAKE ? take(f) : give(f);
}

static void
close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Closes everything, except the file of a successful OUT. */
static void
run_end(struct vsi_file *f, int err)
{
	close_one(&f->peer);
	close_one(&f->listen);
	if (f->made && !atomic_load(&f->bytes) &&
	    (err || f->what == VSI_FILE_TAKE))
		unlinkat(f->at, f->base, 0);
	close_one(&f->at);
	if (err || f->what != VSI_FILE_OUT)
		close_one(&f->fd);
}

static void
destroy(struct vsi_file *f)
{
	for (unsigned i = 0; i < f->allow.n; i++)
		free(f->allow_text[i]);
	close_one(&f->fd);
	close_one(&f->wake);
	free(f);
}

static void *
thread(void *arg)
{
	struct vsi_file *f = arg;
	int err = run(f);

	run_end(f, err);
	state_set(f, err ? VSI_FILE_FAILED : VSI_FILE_DONE);
	if (atomic_exchange(&f->left, true))
		destroy(f);
	return NULL;
}

/* ---- the event loop's side ------------------------------------------- */

/*
 * Splits a path into folder and name; false if it is in none of the folders, or
 * contains "..".
 */
static bool
place(struct vsi_file *f, const struct vsi_file_args *args)
{
	const char *name = args->name, *rest = NULL, *folder = NULL;

	if (!strcmp(name, "/dev/null"))
		return args->what != VSI_FILE_LOOK;
	for (unsigned i = 0; i < args->folders->n && !rest; i++) {
		size_t length = strlen(args->folders->text[i]);

		folder = args->folders->text[i];
		while (length && folder[length - 1] == '/')
			length--; /* nothing is left of "/", which holds all */
		if (*name != '/')
			rest = name;
		else if (!strncmp(name, folder, length) && name[length] == '/')
			rest = name + length;
	}
	while (rest && *rest == '/')
		rest++;
	if (!rest || !*rest || strlen(rest) >= sizeof f->name ||
	    rest[strlen(rest) - 1] == '/' || strlen(folder) >= sizeof f->folder)
		return false;
	for (const char *at = rest; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (!strncmp(at, "..", 2) && (!at[2] || at[2] == '/'))
			return false;
	}
	snprintf(f->folder, sizeof f->folder, "%s", folder);
	snprintf(f->name, sizeof f->name, "%s", rest);
	return true;
}

static int
not_here(const struct vsi_file_args *args, struct fault *fault)
{
	if (!args->folders->n) {
		fault_set(fault, -EPERM, "usage",
			  "no files are read or written here");
		fault_hint(fault, "`files` in the group `vsi` names folders "
				  "where they are");
	} else {
		fault_set(fault, -EPERM, "usage",
			  "'%.200s' is in no folder of `files` (%s%s)",
			  args->name, args->folders->text[0],
			  args->folders->n > 1 ? ", ..." : "");
	}
	return -EPERM;
}

static bool
allow_copy(struct vsi_file *f, const struct option_texts *allow)
{
	for (unsigned i = 0; allow && i < allow->n && i < ALLOW_MOST; i++) {
		f->allow_text[i] = strdup(allow->text[i]);
		if (!f->allow_text[i])
			return false;
		f->allow.n++;
	}
	f->allow.text = (const char *const *)f->allow_text;
	return true;
}

int
vsi_file_start(struct vsi_file **file, const struct vsi_file_args *args,
	       struct fault *fault)
{
	struct vsi_file *f = calloc(1, sizeof *f);
	int err = -ENOMEM;

	if (!f)
		return fault_set(fault, err, "no-memory", "out of memory");
	f->fd = f->at = f->listen = f->peer = -1;
	f->what = args->what;
	f->mode = args->mode;
	f->port = args->port;
	snprintf(f->host, sizeof f->host, "%s", args->host ? args->host : "");
	f->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!place(f, args)) {
		destroy(f);
		return not_here(args, fault);
	}
	if (f->wake >= 0 && allow_copy(f, args->allow))
		err = -pthread_create(&f->thread, NULL, thread, f);
	if (err) {
		destroy(f);
		return fault_set(fault, err, "no-memory", "%s", strerror(-err));
	}
	*file = f;
	return 0;
}

void
vsi_file_go(struct vsi_file *f, uint64_t from, uint64_t to)
{
	f->from = from;
	f->to = to;
	atomic_store(&f->go, true);
	eventfd_write(f->wake, 1);
}

void
vsi_file_facts(const struct vsi_file *f, struct vsi_file_facts *facts)
{
	*facts = (struct vsi_file_facts){
		.state = (enum vsi_file_state)atomic_load_explicit(
		    &((struct vsi_file *)f)->state, memory_order_acquire),
		.bytes = atomic_load(&((struct vsi_file *)f)->bytes),
	};
	if (facts->state >= VSI_FILE_OPEN)
		facts->size = f->size;
	if (facts->state == VSI_FILE_FAILED)
		memcpy(facts->why, f->why, sizeof facts->why);
	if (facts->state == VSI_FILE_DONE)
		facts->data = f->data;
}

int
vsi_file_take(struct vsi_file *f)
{
	int fd = f->fd;

	f->fd = -1;
	return fd;
}

void
vsi_file_stop(struct vsi_file *f)
{
	if (!f)
		return;
	atomic_store(&f->stop, true);
	eventfd_write(f->wake, 1);
	if (!atomic_exchange(&f->left, true)) {
		pthread_detach(f->thread);
		return;
	}
	pthread_join(f->thread, NULL);
	destroy(f);
}
