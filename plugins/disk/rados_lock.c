/* SPDX-License-Identifier: MIT */
/*
 * A lock is one of RADOS's own, on the file's first object, by the name
 * "spate".  It ends by itself after 20 s, and is renewed every 5 s: so the lock
 * of a machine that died is free soon, and that of a writer that waits for a
 * cluster is kept.  A writer whose lock ended, because it stood still or the
 * cluster did, takes it again if it is free and nobody else had it (as its term
 * says).  Else another one, such as `recover`, took over: this one writes it no
 * more, -ESTALE.
 *
 * Each renewal has a thread of its own: locks are in many placement groups, and
 * one that does not answer must not keep the locks in the others from being
 * renewed.
 *
 * A process that was killed would keep others of its machine waiting for 20
 * s.  So a lock's cookie says which process it is of (boot, name space of
 * processes, number, start time), and whoever finds such a lock of a process of
 * the same name space that is not there breaks it.
 *
 * A user who may only read takes no lock, and only learns whether anybody
 * writes at that moment.
 *
 * A term keeps off who lost its lock without knowing it: a process that stood
 * still, or a write that waited in the network and comes when another recorder
 * has resumed the file.  It is a number, written as text so that RADOS compares
 * it, and rises in a folder with each exclusive lock of a file in it.
 *
 *   folder "r1/"           term of the last lock in r1
 *   each piece of a file   term in which it was last opened to be written
 *
 * Whoever has a lock in a folder opens its files in the lock's term: all pieces
 * are marked with it, and each later write, cut, removal and change of a name
 * says in the same operation that there is no later term.  The OSD compares,
 * whenever the operation comes.  So what was under way when another one opened
 * the file is refused from then on, piece by piece.  Files that are written
 * once, as chunks are, do without, since comparing costs rate (rados_data.c).
 *
 * To have the former client blocklisted, as block devices of RADOS do, was
 * rejected.  It needs a right of the monitors; the whole daemon would lose its
 * connection, with recordings whose locks are good, when somebody recovers one;
 * and where the lock had ended RADOS does not know any more whose it was.
 *
 * A term is the time, so that a folder that is removed and made anew does not
 * begin before what a late write left of the old one; and at least one more
 * than the last, whatever clocks say.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "rados.h"

static const char lock_name[] = "spate", term_key[] = "term";

static int64_t
steady_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * NS_SECOND + t.tv_nsec;
}

/* ---- processes ----------------------------------------------------------- */

/* Returns when a process was started, in ticks since the boot; 0: there is none
 * of that number. */
static unsigned long long
started(int process)
{
	char path[64], text[1024], *at;
	unsigned long long ticks = 0;
	size_t got = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", process);
	f = fopen(path, "re");
	if (f) {
		got = fread(text, 1, sizeof text - 1, f);
		fclose(f);
	}
	text[got] = '\0';
	at = strrchr(text, ')'); /* the program's name may have anything */
	for (int i = 0; at && i < 20; i++)
		at = strchr(at + 1, ' ');
	if (at)
		sscanf(at, " %llu", &ticks);
	return ticks;
}

/* Writes the beginning of a cookie, which is the same for all processes of this
 * machine and PID namespace: the boot's ID and the namespace's number. */
static void
home_write(char *text, size_t bytes)
{
	char boot[64] = "";
	struct stat st = { 0 };
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (f) {
		if (fscanf(f, "%63s", boot) != 1)
			*boot = '\0';
		fclose(f);
	}
	if (stat("/proc/self/ns/pid", &st) < 0)
		*boot = '\0';
	snprintf(text, bytes, "%s/%" PRIu64 "/", *boot ? boot : "?",
		 (uint64_t)st.st_ino);
}

static void
cookie_write(char *cookie, size_t bytes)
{
	static atomic_uint number;
	char home[96];

	home_write(home, sizeof home);
	snprintf(cookie, bytes, "%s%d/%llu/%u", home, (int)getpid(),
		 started(getpid()), atomic_fetch_add(&number, 1));
}

/* True if the process that a cookie names was of this machine and is gone. */
static bool
is_dead(const char *cookie)
{
	unsigned long long ticks, now;
	char home[96];
	int process;

	home_write(home, sizeof home);
	if (*home == '?' || strncmp(cookie, home, strlen(home)) != 0 ||
	    sscanf(cookie + strlen(home), "%d/%llu/", &process, &ticks) != 2 ||
	    !ticks)
		return false;
	now = started(process);
	/* A process that this user may not see counts as alive. */
	return now ? now != ticks : kill(process, 0) < 0 && errno == ESRCH;
}

/* ---- other lockers ------------------------------------------------------- */

struct lockers {
	char clients[8192], cookies[8192], addresses[8192], tag[256];
	ssize_t n;
	bool exclusive;
};

static int
lockers_list(struct disk_file *f, struct lockers *l)
{
	size_t tag = sizeof l->tag, clients = sizeof l->clients,
	       cookies = sizeof l->cookies, addresses = sizeof l->addresses;
	int exclusive = 0;

	l->n = rados_list_lockers(
	    f->io, f->object, lock_name, &exclusive, l->tag, &tag, l->clients,
	    &clients, l->cookies, &cookies, l->addresses, &addresses);
	l->exclusive = exclusive;
	return l->n < 0 ? (int)l->n : 0;
}

/* Breaks the locks of dead processes.  True if there was one. */
static bool
dead_break(struct disk_file *f)
{
	struct lockers *l = malloc(sizeof *l);
	const char *client, *cookie;
	bool broke = false;

	if (!l)
		return false;
	if (!lockers_list(f, l)) {
		client = l->clients;
		cookie = l->cookies;
		for (ssize_t i = 0; i < l->n; i++) {
			if (is_dead(cookie))
				broke |= !rados_break_lock(f->io, f->object,
							   lock_name, client,
							   cookie);
			client += strlen(client) + 1;
			cookie += strlen(cookie) + 1;
		}
	}
	free(l);
	return broke;
}

/* A reader that may not lock asks whether a writer has a lock. */
static int
look(struct disk_file *f)
{
	struct lockers *l = malloc(sizeof *l);
	int err = -ENOMEM;

	if (l) {
		err = lockers_list(f, l);
		if (!err && l->n && l->exclusive)
			err = -EWOULDBLOCK;
	}
	free(l);
	return err == -ENOENT ? 0 : err;
}

/* ---- terms --------------------------------------------------------------- */

void
ceph_folder_of(const char *object, char folder[RADOS_OBJECT])
{
	const char *slash = strrchr(object, '/');

	snprintf(folder, RADOS_OBJECT, "%.*s/",
		 slash ? (int)(slash - object) : 0, object);
}

int
ceph_term_of(struct disk_store *s, const char *folder, char term[RADOS_TERM])
{
	char of[RADOS_OBJECT];
	int err = 0;

	*term = '\0';
	pthread_mutex_lock(&s->lock);
	for (struct disk_file *f = s->locked; f; f = f->next) {
		if (f->has != DISK_EXCLUSIVE || strcmp(f->term, term) <= 0)
			continue;
		ceph_folder_of(f->object, of);
		if (strcmp(of, folder) != 0)
			continue;
		memcpy(term, f->term, RADOS_TERM);
		err = f->lost ? -ESTALE : 0;
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

int
ceph_belongs(struct disk_file *f, const char *folder)
{
	char object[RADOS_OBJECT];
	int err;

	snprintf(object, sizeof object, "%s/", folder);
	err = ceph_term_of(f->store, object, f->term);
	return err ? err : ceph_data_mark(f);
}

void
ceph_term_guard(rados_write_op_t op, const char *term)
{
	if (*term)
		rados_write_op_cmpxattr(op, term_key, LIBRADOS_CMPXATTR_OP_GTE,
					term, strlen(term));
}

void
ceph_term_set(rados_write_op_t op, const char *term)
{
	if (*term)
		rados_write_op_setxattr(op, term_key, term, strlen(term));
}

/* Reads a folder's term; "": it has none, or is not there.  0 or -errno. */
static int
term_read(struct disk_store *s, const char *folder, char term[RADOS_TERM])
{
	int got = rados_getxattr(s->io, folder, term_key, term, RADOS_TERM - 1);

	if (got == -ENODATA || got == -ENOENT)
		got = 0; /* or the folder was removed, under an open file */
	term[got < 0 ? 0 : got] = '\0';
	return got < 0 ? got : 0;
}

int
ceph_term_check(struct disk_store *s, const char *folder, const char *term)
{
	char is[RADOS_TERM];
	int err = term_read(s, folder, is);

	return !err && strcmp(is, term) ? -ESTALE : err;
}

/* Sets the folder's term, if it is `last`. */
static int
term_set(struct disk_store *s, const char *folder, const char *last,
	 const char *term)
{
	rados_write_op_t op = rados_create_write_op();
	int err;

	if (!op)
		return -ENOMEM;
	rados_write_op_assert_exists(op);
	rados_write_op_cmpxattr(op, term_key, LIBRADOS_CMPXATTR_OP_EQ, last,
				strlen(last));
	ceph_term_set(op, term);
	err = rados_write_op_operate2(op, s->io, folder, NULL, 0);
	rados_release_write_op(op);
	return err;
}

/* Begins a term behind `last` in a folder, for a file in it that is locked.
 * -ECANCELED: another one did so meanwhile; -ESTALE: and marked the file. */
static int
term_begin(struct disk_file *f, const char *folder, const char *last)
{
	const struct host *host = f->store->host;
	uint64_t now = (uint64_t)host->now(host->ctx),
		 next = strtoull(last, NULL, 16) + 1;
	int err;

	snprintf(f->term, sizeof f->term, "%016" PRIx64,
		 now > next ? now : next);
	err = term_set(f->store, folder, last, f->term);
	if (!err)
		err = ceph_data_mark(f);
	if (err)
		*f->term = '\0';
	/* The file or its folder was removed, and nobody else can open it; or
	 * this user may lock (x), but not write. */
	return err == -ENOENT || err == -EPERM || err == -EACCES ? 0 : err;
}

/* ---- this one's lock ----------------------------------------------------- */

static int
take(struct disk_file *f, enum disk_lock how, const char *cookie, uint8_t flags)
{
	struct timeval span = { .tv_sec = RADOS_LOCK_S };
	int err;

	if (how == DISK_EXCLUSIVE)
		err = rados_lock_exclusive(f->io, f->object, lock_name, cookie,
					   "spate", &span, flags);
	else
		err = rados_lock_shared(f->io, f->object, lock_name, cookie, "",
					"spate", &span, flags);
	return err == -EBUSY || err == -EEXIST ? -EWOULDBLOCK : err;
}

/* Takes the file out of the list.  Waits while it is being renewed. */
static enum disk_lock
let_go(struct disk_file *f)
{
	struct disk_store *s = f->store;
	struct disk_file **at = &s->locked;
	enum disk_lock had;

	pthread_mutex_lock(&s->lock);
	while (f->renewing)
		pthread_cond_wait(&s->renewed, &s->lock);
	had = f->has;
	while (had && *at && *at != f)
		at = &(*at)->next;
	if (had && *at)
		*at = f->next;
	f->has = DISK_UNLOCK;
	pthread_mutex_unlock(&s->lock);
	return had;
}

/* Takes the lock.  That of a process that is gone is broken. */
static int
take_or_break(struct disk_file *f, enum disk_lock how, uint8_t flags)
{
	int err = take(f, how, f->cookie, flags);

	if (err == -EWOULDBLOCK && dead_break(f))
		err = take(f, how, f->cookie, flags);
	return err;
}

/* Unlocks after a request to lock that was not answered in time and may still
 * be carried out: an object's operations are done in their order.  Waits for no
 * answer. */
static void
give_up(struct disk_file *f)
{
	rados_completion_t is;

	if (rados_aio_create_completion2(NULL, NULL, &is) < 0)
		return;
	rados_aio_unlock(f->io, f->object, lock_name, f->cookie, is);
	rados_aio_release(is);
}

/* Takes an exclusive lock, and begins a term.  The last term is read first, and
 * the new one is set only if the folder still has that: if not (-ECANCELED),
 * another process had the lock in between, and the term is read again. */
static int
take_to_write(struct disk_file *f)
{
	char folder[RADOS_OBJECT], last[RADOS_TERM];
	uint8_t flags = 0;
	int err;

	ceph_folder_of(f->object, folder);
	do {
		err = term_read(f->store, folder, last);
		if (!err)
			err = take_or_break(f, DISK_EXCLUSIVE, flags);
		if (err)
			break;
		flags = LIBRADOS_LOCK_FLAG_MUST_RENEW;
		err = term_begin(f, folder, last);
	} while (err == -ECANCELED);
	if (err == -ETIMEDOUT)
		give_up(f);
	else if (err && flags)
		rados_unlock(f->io, f->object, lock_name, f->cookie);
	/* Another one took it over in this moment. */
	if ((err == -ENOENT && flags) || err == -ESTALE)
		err = -EWOULDBLOCK;
	return err;
}

int
ceph_lock_set(struct disk_file *f, enum disk_lock how)
{
	struct disk_store *s = f->store;
	int err;

	if (let_go(f))
		rados_unlock(f->io, f->object, lock_name, f->cookie);
	if (how == DISK_UNLOCK)
		return 0;
	cookie_write(f->cookie, sizeof f->cookie);
	if (how == DISK_EXCLUSIVE && !f->folder)
		err = take_to_write(f);
	else
		err = take_or_break(f, how, 0);
	if ((err == -EPERM || err == -EACCES) && how == DISK_SHARED)
		return look(f);
	if (err)
		return err;
	pthread_mutex_lock(&s->lock);
	f->has = how;
	f->lost = false;
	f->taken_ns = steady_ns();
	f->next = s->locked;
	s->locked = f;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

bool
ceph_lock_lost(struct disk_file *f)
{
	bool lost;

	pthread_mutex_lock(&f->store->lock);
	lost = f->lost;
	pthread_mutex_unlock(&f->store->lock);
	return lost;
}

/* Returns a lock that is due.  Under the store's lock. */
static struct disk_file *
due(const struct disk_store *s)
{
	int64_t before = steady_ns() - RADOS_RENEW_S * NS_SECOND;
	struct disk_file *f = s->locked;

	while (f && (f->lost || f->renewing || f->taken_ns > before))
		f = f->next;
	return f;
}

/* Takes a lock again that ended.  -EWOULDBLOCK: another process has it;
 * -ESTALE: another one had it.  The first check finds a folder that was
 * removed: a lock would make the object of its file again. */
static int
take_again(struct disk_file *f)
{
	bool writes = f->has == DISK_EXCLUSIVE && !f->folder;
	char folder[RADOS_OBJECT];
	int err = 0;

	ceph_folder_of(f->object, folder);
	if (writes)
		err = ceph_term_check(f->store, folder, f->term);
	if (!err)
		err = take(f, f->has, f->cookie, 0);
	if (err || !writes)
		return err;
	err = ceph_term_check(f->store, folder, f->term);
	if (err)
		rados_unlock(f->io, f->object, lock_name, f->cookie);
	return err;
}

static void *
renew(void *arg)
{
	struct disk_file *f = arg;
	struct disk_store *s = f->store;
	int err = take(f, f->has, f->cookie, LIBRADOS_LOCK_FLAG_MUST_RENEW);

	if (err == -ENOENT)
		err = take_again(f);
	/* Readers have it for a moment, unless another one is seen to write. */
	if (err == -EWOULDBLOCK)
		err = look(f) == -EWOULDBLOCK ? -ESTALE : -EAGAIN;
	if (err == -ESTALE)
		s->host->log(s->host->ctx, LEVEL_ERROR,
			     "the lock of %s ended, and another one went on "
			     "with it: this one writes it no more",
			     f->object);
	pthread_mutex_lock(&s->lock);
	f->lost |= err == -ESTALE;
	/* After an error it is tried again in a second. */
	f->taken_ns = steady_ns() - (err ? (RADOS_RENEW_S - 1) * NS_SECOND : 0);
	f->renewing = false;
	/* The file may be freed from here on. */
	pthread_cond_broadcast(&s->renewed);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

void
ceph_locks_renew(struct disk_store *s)
{
	struct disk_file *f;
	int err = 0;

	pthread_mutex_lock(&s->lock);
	while (!err && (f = due(s))) {
		f->renewing = true;
		err = ceph_thread(renew, f);
		if (err)
			f->renewing = false; /* in a second it is due again */
	}
	pthread_mutex_unlock(&s->lock);
}
