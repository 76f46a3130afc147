/* SPDX-License-Identifier: MIT */
/*
 * Shows recordings that grow beyond their indexes.  Blocks in the daemon's
 * memory behind the visible end are remembered in the recording
 * (store/recording/recording.h).  Blocks below the daemon's floor that no index
 * has were lost, once all disks are known that the daemon had then.
 *
 *   indexes    |########|##.#|
 *   memory              .    |  ###.####|
 *                       ^    floor      ^ the visible end
 *                       lost
 *
 * The order of reading matters.  A block goes from memory to an index, never
 * the other way, and the floor lies behind blocks that are in an index.  So the
 * page of the shared memory and the floor are read first, then the indexes.  A
 * block that is in neither is on its way: it was written and is not durable
 * yet.  If a reader wants just that block, the daemon is asked (verb `map`),
 * makes its disks sync, and the recording is looked at again.
 *
 * Memory of another process is read with care.  It must not become shorter, or
 * reading it would kill this process: it has to be sealed against shrinking.
 * Entries of the page are believed as far as they lie in the arena
 * (store/record/shm_blocks.c).  Reading it with pread(2), which needs no such
 * care, was tried: 3.3 GB/s out of small pages, against 12 GB/s from memory
 * that is mapped and was touched.
 *
 * One thread talks to the daemon.  It may wait for an answer for any time: no
 * other thread waits for it, and it holds no lock meanwhile.  Each name is
 * asked for every ASK while it is read, which keeps the daemon's side alive
 * (LIVE_TAP_PATIENCE in daemon/sessions/live_tap.h), and at once when a reader
 * misses a block.  A name that no reader wanted for FORGET is forgotten;
 * without names there is no connection.
 *
 * The daemon shows only blocks that come after its first answer.  Those of
 * before are made durable at once, if they are not: so a name that is new is
 * asked for every SOON, and its first reader waits until they are.
 *
 * A new daemon may want the huge pages of one that ended.  So the thread
 * notices at once when the connection is closed, and unmaps the memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "control/control.h"
#include "fuse/live/live.h"
#include "store/record/shm_blocks.h"
#include "store/recording/recording.h"

/* The daemon's arena and its page (a table of blocks), mapped read-only. */
struct live_memory {
	/* the last holder unmaps; acq_rel, so that it sees all reads done */
	atomic_uint refs;
	const struct shm_blocks *page;
	const uint8_t *arena;
	uint64_t page_bytes, arena_bytes;
};

/* A recording that grows. */
struct live_name {
	struct live_name *next; /* live::names */
	char name[256];
	uint64_t id;	/* in the page; valid for the present connection */
	uint64_t floor; /* all blocks below are durable or lost */
	/*
	 * The floor of an earlier answer, which came at `earlier_ns` (steady),
	 * and the part of it that may be settled: see settle_by().
	 */
	uint64_t earlier, settled;
	int64_t earlier_ns;
	uint64_t begun; /* the recording had blocks below at the first answer */
	bool known;	/* the daemon has it, and `id` is valid */
	bool answered;	/* the daemon has answered, whatever it said */
	bool waited;	/* a reader has waited for the first answer */
	int64_t wanted_ns; /* steady ns: when a reader looked at it last */
	int64_t asked_ns;  /* steady ns: when the daemon was asked last */
	int64_t due_ns;	   /* steady ns: when the daemon is to be asked next */
};

struct live {
	char *socket;
	int wake; /* an eventfd that wakes the thread */

	pthread_mutex_t lock; /* held for a moment only, never while waiting */
	/* signalled at an answer, and at the thread's end */
	pthread_cond_t news;
	/* ---- under the lock ----------------------------------------- */
	unsigned refs; /* holders: the opener and the thread */
	bool running, closing;
	struct live_name *names;
	struct live_memory *memory; /* NULL: none is shared */
	bool connected;
	int64_t retry_ns; /* steady ns: no connection before */
	struct live_facts facts;

	/* ---- used by the thread alone ------------------------------- */
	struct control *control; /* connection to the daemon; NULL: none */
	int64_t pause_ns;	 /* ns until the next attempt */
	int said;		 /* the error that was logged last */
};

/* ---- the daemon's memory -------------------------------------------- */

static int
map(int fd, uint64_t *bytes, const void **at)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *got;

	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return -EPERM;
	if (fstat(fd, &st) < 0)
		return -errno;
	*bytes = (uint64_t)st.st_size;
	got = mmap(NULL, *bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (got == MAP_FAILED)
		return -errno;
	*at = got;
	return 0;
}

static void
unmap(struct live_memory *m)
{
	if (m->page)
		munmap((void *)m->page, m->page_bytes);
	if (m->arena)
		munmap((void *)m->arena, m->arena_bytes);
	free(m);
}

/*
 * Maps both, and closes both descriptors, also on failure.  Returns 0 or
 * -errno.
 */
static int
live_memory_map(struct live_memory **memory, int arena, int page)
{
	struct live_memory *m = calloc(1, sizeof *m);
	const void *at = NULL;
	int err = m ? map(arena, &m->arena_bytes, &at) : -ENOMEM;

	if (!err) {
		m->arena = at;
		err = map(page, &m->page_bytes, &at);
	}
	if (!err) {
		m->page = at;
		if (!shm_blocks_good(m->page, m->page_bytes, m->arena_bytes))
			err = -EPROTO;
	}
	close(arena);
	close(page);
	if (err) {
		if (m)
			unmap(m);
		return err;
	}
	atomic_init(&m->refs, 1);
	*memory = m;
	return 0;
}

static struct live_memory *
live_memory_get(struct live_memory *m)
{
	if (m)
		atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
	return m;
}

static void
live_memory_put(struct live_memory *m)
{
	if (m &&
	    atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 1)
		unmap(m);
}

#define ASK    (3 * NS_SECOND)
#define SOON   (10 * NS_MS) /* while a reader waits for the first blocks */
#define FORGET (15 * NS_SECOND)
#define RETRY  NS_SECOND	/* first pause, which doubles each time */
#define RARELY (10 * NS_SECOND) /* longest pause of an unreachable daemon */
#define OLD    (60 * NS_SECOND) /* longest pause if it does not know the verb */

enum { ANSWER_MS = 5000 };

/* ---- recordings that are followed ---------------------------------------- */

/* Called with the lock. */
static struct live_name *
live_find(struct live *l, const char *name)
{
	struct live_name *n = l->names;

	while (n && strcmp(n->name, name) != 0)
		n = n->next;
	return n;
}

/* Wakes the thread.  With or without the lock. */
static void
live_wake(struct live *l)
{
	eventfd_write(l->wake, 1);
}

static void
live_drop(struct live *l)
{
	struct live_name *n;
	bool last;

	pthread_mutex_lock(&l->lock);
	last = --l->refs == 0;
	pthread_mutex_unlock(&l->lock);
	if (!last)
		return;
	while ((n = l->names)) {
		l->names = n->next;
		free(n);
	}
	if (l->wake >= 0)
		close(l->wake);
	pthread_cond_destroy(&l->news);
	pthread_mutex_destroy(&l->lock);
	free(l->socket);
	free(l);
}

/* ---- the connection ------------------------------------------------- */

/* Logs an error, once for each reason; readers go on without the daemon. */
static void
say(struct live *l, int err, const struct fault *fault)
{
	if (err == l->said)
		return;
	l->said = err;
	if (err)
		log_line(LEVEL_WARN, NULL,
			 "%s%s%s; recordings that are being made are followed "
			 "by their indexes",
			 fault->what, *fault->why ? ": " : "", fault->why);
	else
		log_line(LEVEL_INFO, NULL, "following spated at %s", l->socket);
}

static void
disconnect(struct live *l, int64_t retry_ns)
{
	struct live_memory *memory;

	control_close(l->control);
	l->control = NULL;
	pthread_mutex_lock(&l->lock);
	memory = l->memory;
	l->memory = NULL;
	l->connected = false;
	l->retry_ns = retry_ns;
	for (struct live_name *n = l->names; n; n = n->next)
		n->known = false;
	pthread_cond_broadcast(&l->news);
	pthread_mutex_unlock(&l->lock);
	live_memory_put(memory);
}

/* Disconnects after an error, with a longer pause than the last time. */
static void
give_up(struct live *l, int err, const struct fault *fault)
{
	int64_t most = err == -EINVAL ? OLD : RARELY;

	l->pause_ns = l->pause_ns ? 2 * l->pause_ns : RETRY;
	if (l->pause_ns > most || err == -EINVAL)
		l->pause_ns = most;
	say(l, err, fault);
	disconnect(l, clock_steady() + l->pause_ns);
}

static bool
is_connected(struct live *l)
{
	struct fault fault = { 0 };
	int err;

	if (l->control)
		return true;
	err = control_open(&l->control, l->socket, &fault);
	if (err) {
		give_up(l, err, &fault);
		return false;
	}
	control_wait(l->control, ANSWER_MS);
	pthread_mutex_lock(&l->lock);
	l->connected = true;
	pthread_mutex_unlock(&l->lock);
	return true;
}

/* ---- asking --------------------------------------------------------- */

/* A request to the daemon, and its answer. */
struct ask {
	char name[256];
	uint64_t floor;
	json_t *result;
	int fd[2];
};

static uint64_t
number_of(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

static void
share(struct live *l, struct ask *a)
{
	struct live_memory *memory, *old;
	int err;

	if (a->fd[0] < 0 || a->fd[1] < 0)
		return;
	err = live_memory_map(&memory, a->fd[0], a->fd[1]);
	if (err) {
		log_line(LEVEL_WARN, NULL,
			 "the memory of spated at %s cannot be used: %s; what "
			 "it records is read from disks",
			 l->socket, strerror(-err));
		return;
	}
	pthread_mutex_lock(&l->lock);
	old = l->memory;
	l->memory = memory;
	pthread_mutex_unlock(&l->lock);
	live_memory_put(old);
}

/*
 * Tells whether blocks from before the first answer are neither in an index nor
 * shown in memory.  The daemon is making them durable.  Called with the lock.
 */
static bool
is_behind(const struct live_name *n)
{
	return n->known && n->floor < n->begun;
}

/*
 * Takes an answer over.  Called with the lock; the name may be forgotten by
 * now.
 */
static void
answered(struct live *l, const struct ask *a)
{
	struct live_name *n = live_find(l, a->name);

	if (!n)
		return;
	n->asked_ns = clock_steady();
	n->due_ns = n->asked_ns + ASK;
	n->known = json_is_integer(json_object_get(a->result, "recording"));
	if (n->known) {
		n->id = number_of(a->result, "recording");
		n->floor = number_of(a->result, "floor");
	}
	if (n->known && !n->answered)
		n->begun = number_of(a->result, "end");
	n->answered = true;
	if (is_behind(n) && !n->waited)
		n->due_ns = n->asked_ns + SOON;
}

/*
 * Tells whether an error concerns this recording alone, so that the connection
 * is good.
 */
static bool
is_refused(int err)
{
	switch (-err) {
	case 0:
	case ENOENT: /* not being recorded, or no longer */
	case EBUSY:
	case EIO:
	case ENOMEM:
	case ENOSPC: return true;
	default: return false;
	}
}

static void
ask(struct live *l, struct ask *a)
{
	json_t *request = json_pack("{s:s, s:I}", "name", a->name, "from",
				    (json_int_t)a->floor);
	struct fault fault = { 0 };
	int err;

	err = control_ask_fds(l->control, "map", request, &a->result, a->fd, 2,
			      &fault);
	if (!err)
		share(l, a);
	if (!is_refused(err)) {
		give_up(l, err, &fault);
		return;
	}
	l->pause_ns = 0;
	say(l, 0, NULL);
	pthread_mutex_lock(&l->lock);
	l->facts.asked++;
	answered(l, a);
	pthread_cond_broadcast(&l->news);
	pthread_mutex_unlock(&l->lock);
	json_decref(a->result);
}

/* ---- the thread -------------------------------------------------------- */

/* Forgets names that are not read any more.  Called with the lock. */
static void
forget(struct live *l, int64_t now)
{
	struct live_name **at = &l->names, *n;

	while ((n = *at)) {
		if (now - n->wanted_ns < FORGET) {
			at = &n->next;
			continue;
		}
		*at = n->next;
		free(n);
	}
}

/* Finds the name to be asked for first, and when; false: there is none. */
static bool
next(struct live *l, struct ask *a, int64_t *at)
{
	const struct live_name *first = NULL;

	pthread_mutex_lock(&l->lock);
	forget(l, clock_steady());
	for (const struct live_name *n = l->names; n; n = n->next) {
		if (!first || n->due_ns < first->due_ns)
			first = n;
	}
	if (first) {
		*a = (struct ask){ .floor = first->floor, .fd = { -1, -1 } };
		strcpy(a->name, first->name);
		*at = first->due_ns > l->retry_ns ? first->due_ns : l->retry_ns;
	}
	pthread_mutex_unlock(&l->lock);
	return first != NULL;
}

/* Waits until a time, a wake-up, or the end of the connection. */
static void
wait(struct live *l, int64_t until)
{
	struct pollfd p[2] = {
		{ .fd = l->wake, .events = POLLIN },
		{ .fd = l->control ? control_fd(l->control) : -1,
		  .events = POLLRDHUP },
	};
	int64_t left = (until - clock_steady() + NS_MS - 1) / NS_MS;
	eventfd_t n;

	if (left > FORGET / NS_MS)
		left = FORGET / NS_MS;
	poll(p, 2, left > 0 ? (int)left : 0);
	eventfd_read(l->wake, &n);
	if (p[1].revents)
		disconnect(l, clock_steady() + RETRY);
}

static bool
is_closing(struct live *l)
{
	bool closing;

	pthread_mutex_lock(&l->lock);
	closing = l->closing;
	pthread_mutex_unlock(&l->lock);
	return closing;
}

static void *
run(void *arg)
{
	struct live *l = arg;
	struct ask a;
	int64_t at;

	pthread_setname_np(pthread_self(), "spate-live");
	while (!is_closing(l)) {
		if (!next(l, &a, &at)) {
			disconnect(l, 0);
			wait(l, INT64_MAX);
		} else if (at > clock_steady()) {
			wait(l, at);
		} else if (is_connected(l)) {
			ask(l, &a);
		}
	}
	disconnect(l, 0);
	pthread_mutex_lock(&l->lock);
	l->running = false;
	pthread_cond_broadcast(&l->news);
	pthread_mutex_unlock(&l->lock);
	live_drop(l);
	return NULL;
}

/*
 * Starts the thread if there is none, with all signals blocked: the main thread
 * takes them.  Called with the lock.  Returns 0 or -errno.
 */
static int
live_talk(struct live *l)
{
	pthread_attr_t how;
	pthread_t thread;
	sigset_t all, was;
	int err;

	if (l->running)
		return 0;
	sigfillset(&all);
	pthread_attr_init(&how);
	pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	err = pthread_create(&thread, &how, run, l);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	pthread_attr_destroy(&how);
	if (err)
		return -err;
	l->running = true;
	l->refs++;
	return 0;
}

#define MOMENT (300 * NS_MS) /* longest wait when a recording is first read */
/* least time between two requests for missed blocks */
#define MISSED NS_SECOND

enum { BATCH = 64 };

/* ---- glimpses ------------------------------------------------------- */

/*
 * Returns the name, added if it is new, and notes that it was wanted now.
 * Called with the lock; NULL: no memory.
 */
static struct live_name *
follow(struct live *l, const char *name)
{
	struct live_name *n = live_find(l, name);

	if (!n) {
		n = calloc(1, sizeof *n);
		if (!n || strlen(name) >= sizeof n->name || live_talk(l)) {
			free(n);
			return NULL;
		}
		strcpy(n->name, name);
		n->next = l->names;
		l->names = n;
		live_wake(l);
	}
	n->wanted_ns = clock_steady();
	return n;
}

/*
 * A short look at what the daemon knows of a recording.  It holds the memory
 * until live_memory_put().
 */
struct glimpse {
	struct live_memory *memory; /* NULL: no shared memory */
	uint64_t id, settled;
	bool known;
};

/*
 * Settles what the daemon said before `disks_ns`, when all its disks were
 * known.  A block below a newer floor may be on a disk that was added since.
 * Answers may come more often than disks are looked for, so an earlier one is
 * kept until then.  Called with the lock.
 */
static void
settle_by(struct live_name *n, int64_t disks_ns)
{
	if (n->asked_ns <= disks_ns)
		n->settled = n->floor;
	else if (n->earlier_ns <= disks_ns)
		n->settled = n->earlier;
	else
		return;
	n->earlier = n->floor;
	n->earlier_ns = n->asked_ns;
}

/* Called with the lock. */
static struct glimpse
glimpse_of(struct live *l, const struct live_name *n)
{
	struct glimpse g = { 0 };

	if (!n || !n->known)
		return g;
	g.memory = live_memory_get(l->memory);
	g.id = n->id;
	g.settled = n->settled;
	g.known = true;
	return g;
}

/*
 * Follows a recording.  The first time it waits up to MOMENT, for the daemon's
 * answer and until the blocks of before that answer are durable: so the first
 * size of a mount has them, too.
 */
static struct glimpse
glimpse(struct live *l, const char *name, int64_t disks_ns)
{
	int64_t until = clock_steady() + MOMENT;
	const struct timespec at = { .tv_sec = until / NS_SECOND,
				     .tv_nsec = until % NS_SECOND };
	struct live_name *n;
	struct glimpse g;
	int err = 0;

	pthread_mutex_lock(&l->lock);
	n = follow(l, name);
	while (n && (!n->answered || is_behind(n)) && !n->waited && !err &&
	       clock_steady() >= l->retry_ns) {
		err = pthread_cond_timedwait(&l->news, &l->lock, &at);
		n = live_find(l, name);
	}
	if (n)
		n->waited = true;
	if (n && n->known)
		settle_by(n, disks_ns);
	g = glimpse_of(l, n);
	pthread_mutex_unlock(&l->lock);
	return g;
}

/* ---- a look at the index ----------------------------------------------- */

/* Index records to be remembered with one call. */
struct batch {
	struct recording *rec;
	struct index_record record[BATCH];
	size_t n;
	int err;
};

static void
batch_remember(struct batch *b)
{
	int err = recording_remember(b->rec, b->record, b->n);

	if (err < 0)
		b->err = err;
	b->n = 0;
}

static void
batch_add(struct batch *b, const struct shm_block *found)
{
	if (b->n + 2 > BATCH)
		batch_remember(b);
	b->record[b->n++] = found->record;
	if (found->gap)
		b->record[b->n++] = index_gap(&found->record, found->gap);
}

/*
 * Remembers the blocks in memory from the visible end on.  The page has as many
 * entries as blocks, or a few more: looking at each entry takes less than
 * asking for every number that may be there.
 */
static void
see(const struct glimpse *g, struct batch *b)
{
	const struct shm_blocks *page = g->memory->page;
	size_t blocks;

	recording_blocks(b->rec, &blocks);
	for (uint32_t i = 0; i < page->entries; i++) {
		const struct shm_entry *e = &page->entry[i];
		struct shm_block found;

		/*
		 * The entry may be changing just now; shm_blocks_find() checks
		 * it.
		 */
		if (e->recording == g->id && e->number >= blocks &&
		    shm_blocks_find(page, g->id, e->number, &found) &&
		    found.record.number >= blocks)
			batch_add(b, &found);
	}
	batch_remember(b);
}

/*
 * Gives blocks below the floor up as lost if no index has them; not while a
 * disk hangs, because its index may have more than was read.
 */
static void
settle(struct recording *rec, const struct glimpse *g)
{
	if (g->known && !recording_hangs(rec))
		recording_settle(rec, g->settled);
}

static int
look(void *arg, struct recording *rec, int64_t disks_ns)
{
	const struct recording_facts *f = recording_facts(rec);
	struct batch b = { .rec = rec };
	struct glimpse g;

	if (f->state != RECORDING_LIVE || strcmp(f->made_by, "spate") != 0)
		return 0;
	g = glimpse(arg, f->name, disks_ns);
	if (g.memory)
		see(&g, &b);
	settle(rec, &g);
	live_memory_put(g.memory);
	return b.err;
}

/* ---- copying -------------------------------------------------------- */

static bool
copy_block(const struct glimpse *g, uint64_t number, uint64_t at,
	   uint64_t bytes, void *to)
{
	struct shm_block b;

	return shm_blocks_find(g->memory->page, g->id, number, &b) &&
	       b.record.number == number &&
	       shm_blocks_copy(&b, g->memory->arena, at, bytes, to);
}

/*
 * Has the daemon asked at once, because a reader misses a block that is not
 * below the floor.  Called with the lock.
 */
static void
miss(struct live *l, struct live_name *n, uint64_t number)
{
	int64_t now = clock_steady();

	l->facts.missed++;
	if (!n || number < n->floor || now - n->asked_ns < MISSED ||
	    n->due_ns <= now)
		return;
	n->due_ns = now;
	live_wake(l);
}

static bool
copy(void *arg, const char *name, uint64_t number, uint64_t at, uint64_t bytes,
     void *to)
{
	struct live *l = arg;
	struct glimpse g;
	bool done;

	pthread_mutex_lock(&l->lock);
	g = glimpse_of(l, live_find(l, name));
	pthread_mutex_unlock(&l->lock);
	if (!g.memory)
		return false;
	done = copy_block(&g, number, at, bytes, to);
	live_memory_put(g.memory);
	pthread_mutex_lock(&l->lock);
	if (done)
		l->facts.copied += bytes;
	else
		miss(l, live_find(l, name), number);
	pthread_mutex_unlock(&l->lock);
	return done;
}

struct open_recordings_hooks
live_hooks(struct live *l)
{
	return (struct open_recordings_hooks){ .arg = l,
					       .copy = copy,
					       .look = look };
}

/* ---- opening and closing ----------------------------------------------- */

int
live_open(struct live **live, const char *socket)
{
	struct live *l = calloc(1, sizeof *l);
	pthread_condattr_t how;

	if (!l)
		return -ENOMEM;
	l->refs = 1;
	l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->socket = strdup(socket);
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&how);
	pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
	pthread_cond_init(&l->news, &how);
	pthread_condattr_destroy(&how);
	if (l->wake < 0 || !l->socket) {
		int err = l->wake < 0 ? -errno : -ENOMEM;

		live_drop(l);
		return err;
	}
	*live = l;
	return 0;
}

void
live_close(struct live *l)
{
	int64_t until = clock_steady() + NS_SECOND;
	const struct timespec at = { .tv_sec = until / NS_SECOND,
				     .tv_nsec = until % NS_SECOND };
	int err = 0;

	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->closing = true;
	live_wake(l);
	while (l->running && !err)
		err = pthread_cond_timedwait(&l->news, &l->lock, &at);
	pthread_mutex_unlock(&l->lock);
	live_drop(l);
}

void
live_facts(struct live *l, struct live_facts *f)
{
	pthread_mutex_lock(&l->lock);
	*f = l->facts;
	f->connected = l->connected;
	f->shares = l->memory != NULL;
	f->recordings = 0;
	for (const struct live_name *n = l->names; n; n = n->next)
		f->recordings++;
	pthread_mutex_unlock(&l->lock);
}
