/* SPDX-License-Identifier: MIT */
/*
 * All memory that packets ever lie in, mapped once when the daemon starts.  The
 * kernel must never have to zero a page while packets arrive, so each page is
 * touched before it is given to anybody.
 *
 * Touching costs about half a second per GiB: minutes for what a large station
 * has.  So only the first FIRST bytes are touched before arena_make() returns.
 * Threads touch the rest in pieces of CHUNK, in the order of addresses, and
 * `extents.ready` is where the touched part ends.  They run at the lowest
 * priority, because a receiver may be at work already.
 *
 * Pages are locked by MLOCK_ONFAULT, which locks each page when it is touched:
 * plain mlock() would touch all of them at once.
 *
 * Pages are huge: a memfd of reserved hugetlb pages where the system has enough
 * of them, else anonymous memory with transparent huge pages requested.  Small
 * pages would cost a TLB miss for about every second packet.
 *
 * Only a memfd can be shared with live readers (shm_page.h).  The kernel backs
 * a memfd without reserved pages mostly with small pages, since few systems
 * allow transparent ones there (shmem_enabled); so sharing has to be
 * requested.  *Measured* over loopback at 2 Gb/s: 0.33 CPU s/GB in anonymous
 * memory, 0.38 in a memfd of small pages, 0.32 in a memfd of transparent huge
 * pages, and the same again with a program that reads all of it (scripts/bench
 * record --live 2e9).
 *
 *   arena  |pool A: b0 b1 b2 ...|  free  |pool B: b0 b1|     free      |
 */
#include "flow/memory/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "flow/memory/hot_pages.h"
#include "flow/memory/memfile.h"

enum {
	PAGE = 4096,
	HUGE_PAGE = 2 << 20,
	NODES = 1024,
	FIRST = 64 << 20, /* bytes that are touched at once */
	CHUNK = 16 << 20, /* bytes that a thread touches at a time: some 8 ms */
	TOUCHERS = 4,	  /* threads at most */
};

/* One mapping, touched when it is made, in the largest pages that the system
 * gives. */
struct memory {
	uint8_t *at;
	uint64_t bytes;
	const char *pages;   /* "hugetlb", "transparent" or "small" */
	bool locked;	     /* cannot be swapped out */
	struct memfile file; /* the memfd behind it; file.fd is -1 where the
				memory cannot be shared */
};

/*
 * Extents record which pieces of the memory belong to which borrower, in a list
 * ordered by address; the gaps between them are free.
 *
 * A borrower takes the first gaps that hold at least one piece, so free memory
 * that is fragmented still serves every request that fits in it.  The owner of
 * the list locks.
 */
struct extent {
	uint8_t *data;
	uint64_t bytes;
	struct arena_borrower *borrower;
	struct extent *next; /* extents::list */
};

struct extents {
	uint8_t *data;
	uint64_t bytes;
	uint64_t ready; /* bytes from `data` on that are touched */
	struct extent *list;
};

/* Threads that touch the memory behind.  Guarded by arena::lock but for what is
 * constant after the start. */
struct touching {
	pthread_t thread[TOUCHERS];
	unsigned threads;
	uint64_t chunks, next; /* the next chunk that nobody has taken */
	bool *done;	       /* per chunk */
	int64_t since;	       /* steady ns */
	bool stop;
};

struct arena {
	struct memory memory;

	pthread_mutex_t lock; /* guards the fields below */
	uint64_t limit;	      /* bytes that may be borrowed */
	struct extents extents;
	struct arena_borrower *borrowers;
	uint64_t borrowed, lent;
	struct touching touching;

	_Atomic size_t ready; /* extents.ready, for who has no lock; the
			       * release says that the bytes are touched */

	/* Written under the lock, read without: hints. */
	atomic_uint changes;
	atomic_bool asks_back;
};

void
memory_lock_make(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

/* ---- how much there may be ---------------------------------------------- */

/* Lowers *limit to the number in a file.  A file that says "max", or is not
 * there, limits nothing. */
static void
limit_read(const char *path, uint64_t *limit)
{
	FILE *f = fopen(path, "re");
	char text[64] = "", *end = text;
	uint64_t n = 0;

	if (!f)
		return;
	if (fgets(text, sizeof text, f))
		n = strtoull(text, &end, 10);
	fclose(f);
	if (end != text && n < *limit)
		*limit = n;
}

/* Lowers *limit to that of a control group and of all groups above it.  `line`
 * is one of /proc/self/cgroup, "0::/a/b" of version 2 or "4:memory:/a/b" of
 * version 1, and is changed. */
static void
group_limit(char *line, uint64_t *limit)
{
	char *kind = strchr(line, ':'), *cut;
	char *group = kind ? strchr(kind + 1, ':') : NULL;
	char path[4096 + 100];

	if (!group)
		return;
	*group++ = '\0';
	group[strcspn(group, "\n")] = '\0';
	if (*++kind && !strstr(kind, "memory"))
		return;
	do {
		snprintf(path, sizeof path,
			 *kind ? "/sys/fs/cgroup/memory%s/memory.limit_in_bytes"
			       : "/sys/fs/cgroup%s/memory.max",
			 group);
		limit_read(path, limit);
		cut = strrchr(group, '/');
		if (cut)
			*cut = '\0';
	} while (cut);
}

static uint64_t
machine_bytes(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) *
	       (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t
arena_may_have(void)
{
	uint64_t limit = machine_bytes();
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[4096];

	if (!f)
		return limit;
	while (fgets(line, sizeof line, f))
		group_limit(line, &limit);
	fclose(f);
	return limit;
}

/* Linux grants more memory than the machine has and kills the daemon later;
 * refuse in time. */
int
arena_fits(uint64_t bytes, struct fault *fault)
{
	uint64_t ram = machine_bytes();
	char want[UNITS_TEXT], is[UNITS_TEXT];

	if (bytes <= ram / 10 * 9)
		return 0;
	fault_set(fault, -ENOMEM, "no-memory", "cannot have %s of memory",
		  units_show_bytes(want, bytes));
	fault_why(fault, "this machine has %s", units_show_bytes(is, ram));
	fault_hint(fault, "set `memory` to at most nine tenths of that");
	return -ENOMEM;
}

/* ---- memory ------------------------------------------------------------ */

/*
 * Touches every page, so that the kernel has zeroed it before packets come.
 *
 * Anonymous memory is written to: such a fault locks this mapping alone (since
 * Linux 6.4), and for one page.  madvise(MADV_POPULATE_WRITE) locks the whole
 * address space meanwhile; a thread of low priority that is preempted in it
 * keeps all others from mapping memory, and so from starting threads.
 * *Measured* with 4 GiB and ten busy threads on two processors: until spated
 * was ready 18 s so and 1.4 s by writes, until a recording had begun 20 s and
 * 0.1 s; with nothing else running 3.7 s and 0.04 s until it was ready.
 *
 * In a memfd a write raises SIGBUS where there is no page for it, as where a
 * container may have fewer huge pages than the system has; madvise()
 * fails.  One call is for one huge page then.  It is the system call, not the
 * function of libc: libucx replaces that by one that shares a lock, which
 * libucx needs alone when it starts, in the event loop.
 */
static int
touch(const struct memory *m, uint64_t from, uint64_t bytes)
{
	uint64_t n;

	for (uint64_t i = 0; i < bytes; i += n) {
		uint8_t *at = m->at + from + i;

		n = bytes - i < HUGE_PAGE ? bytes - i : HUGE_PAGE;
		if (m->at == m->file.at &&
		    syscall(SYS_madvise, at, n, MADV_POPULATE_WRITE) == 0)
			continue;
		/* Linux before 5.14 does not know it. */
		if (m->at == m->file.at && errno != EINVAL)
			return -errno;
		hot_pages_touch(at, n);
	}
	return 0;
}

/* Asks for memory of one NUMA node.  Call it before the first touch, which is
 * when the kernel allocates pages.  MPOL_PREFERRED, not MPOL_BIND: a full node
 * is no reason to fail.  The raw system call spares us libnuma. */
static void
memory_near(const struct memory *m, int node)
{
	unsigned long nodes[NODES / 64] = { 0 };

	if (node < 0)
		return;
	errno = EINVAL;
	if (node < NODES) {
		nodes[node / 64] = 1ul << (node % 64);
		if (syscall(SYS_mbind, m->at, m->bytes, MPOL_PREFERRED, nodes,
			    NODES + 1ul, 0) == 0)
			return;
	}
	log_line(LEVEL_WARN, NULL,
		 "memory cannot be on NUMA node %d: %s; going on without", node,
		 errno == EINVAL ? "there is no such node" : strerror(errno));
}

static uint64_t
first_bytes(const struct memory *m)
{
	return m->bytes < FIRST ? m->bytes : FIRST;
}

static int
memory_ready(const struct memory *m, int node)
{
	memory_near(m, node);
	/* A core dump has no use for the packets, and no disk for so many GiB
	 * of them. */
	madvise(m->at, m->bytes, MADV_DONTDUMP);
	return touch(m, 0, first_bytes(m));
}

/* True if the system gives files in memory (memfd, tmpfs) transparent huge
 * pages. */
static bool
files_huge(void)
{
	static const char path[] =
	    "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[128] = "";
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 && !strstr(text, "[never]") && !strstr(text, "[deny]");
}

static bool
map_small(struct memory *m)
{
	int err = memfile_make(&m->file, "spate-arena", m->bytes, false);

	m->pages = "small";
	if (!err && madvise(m->file.at, m->bytes, MADV_HUGEPAGE) == 0 &&
	    files_huge())
		m->pages = "transparent";
	return !err;
}

static void
file_tell(const struct memory *m, bool share)
{
	if (share && m->file.fd < 0)
		log_line(
		    LEVEL_WARN, NULL,
		    "memory cannot be shared: live readers read from disk");
	if (m->file.fd >= 0 && !m->file.sealed)
		log_line(LEVEL_WARN, NULL,
			 "memory that is shared cannot be sealed: root, and "
			 "programs of this user, could write to it");
}

/* Maps the arena as a memfd: of reserved huge pages if there are enough, else
 * of ordinary pages if `share` asks for it.  False if neither worked. */
static bool
map_file(struct memory *m, bool share)
{
	bool mapped =
	    memfile_make(&m->file, "spate-arena", m->bytes, true) == 0;

	m->pages = "hugetlb";
	if (!mapped && share)
		mapped = map_small(m);
	file_tell(m, share);
	m->at = m->file.at;
	return mapped;
}

static int
map_any(struct memory *m, const struct arena_wishes *wishes)
{
	if (map_file(m, wishes->share))
		return 0;
	m->at = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->at == MAP_FAILED)
		return -errno;
	m->pages = madvise(m->at, m->bytes, MADV_HUGEPAGE) == 0 ? "transparent"
								: "small";
	return 0;
}

static void
memory_lock(struct memory *m)
{
	struct rlimit limit = { 0, 0 };
	char is[UNITS_TEXT], need[UNITS_TEXT];

	m->locked = mlock2(m->at, m->bytes, MLOCK_ONFAULT) == 0;
	if (m->locked)
		return;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	log_line(LEVEL_WARN, NULL,
		 "memory is not locked: the limit for locked memory "
		 "(RLIMIT_MEMLOCK) is %s, it would take %s; going on",
		 units_show_bytes(is, limit.rlim_cur),
		 units_show_bytes(need, m->bytes));
}

static void
memory_free(struct memory *m)
{
	if (m->file.at == MAP_FAILED && m->at != MAP_FAILED)
		munmap(m->at, m->bytes);
	memfile_free(&m->file);
	m->at = MAP_FAILED;
}

static int
make_fault(struct fault *fault, int err, uint64_t bytes)
{
	char text[UNITS_TEXT];

	fault_set(fault, err, "no-memory", "cannot have %s of memory",
		  units_show_bytes(text, bytes));
	fault_why(fault, "%s", strerror(-err));
	fault_hint(fault, "set `memory` lower, or free some");
	return err;
}

/* Checks the limit of the control group: beyond it the kernel would kill the
 * daemon when it records already, because most memory is touched behind.  The
 * group does not account for reserved huge pages. */
static int
group_fits(const struct memory *m, struct fault *fault)
{
	uint64_t limit = arena_may_have();
	char want[UNITS_TEXT], is[UNITS_TEXT];

	if (strcmp(m->pages, "hugetlb") == 0 || m->bytes <= limit / 10 * 9)
		return 0;
	fault_set(fault, -ENOMEM, "no-memory", "cannot have %s of memory",
		  units_show_bytes(want, m->bytes));
	fault_why(fault, "the control group of spated is limited to %s",
		  units_show_bytes(is, limit));
	fault_hint(fault, "set `memory` to at most nine tenths of that, or "
			  "raise MemoryMax= of the service or of its slice");
	return -ENOMEM;
}

static int
memory_make(struct memory *m, uint64_t bytes, const struct arena_wishes *wishes,
	    struct fault *fault)
{
	char text[UNITS_TEXT];
	int err;

	*m = (struct memory){ .at = MAP_FAILED, .bytes = bytes };
	err = map_any(m, wishes);
	if (err) {
		make_fault(fault, err, bytes);
		goto unmap;
	}
	err = group_fits(m, fault);
	if (err)
		goto unmap;
	err = memory_ready(m, wishes->node);
	if (err) {
		make_fault(fault, err, bytes);
		goto unmap;
	}
	memory_lock(m);
	log_line(LEVEL_INFO, NULL, "memory: %s in %s pages%s%s%s",
		 units_show_bytes(text, m->bytes), m->pages,
		 m->locked ? ", locked" : "",
		 m->file.fd >= 0 ? ", shared with live readers" : "",
		 m->bytes > FIRST ? "; most of it is being made ready" : "");
	return 0;

unmap:
	memory_free(m);
	return err;
}

/* ---- pieces of it ------------------------------------------------------ */

/*
 * Streams come and go at the pace of people, so the list is short and a linear
 * search costs nothing.  One extent per borrower was tried first: after some
 * recordings of different lengths a third one was refused although two thirds
 * of the memory were free, in fragments.
 */

/* Free bytes from `from` up to extent `to`, or to `end` if that is NULL or
 * behind it. */
static uint64_t
gap(const uint8_t *from, const struct extent *to, const uint8_t *end)
{
	if (to && to->data < end)
		end = to->data;
	return end > from ? (uint64_t)(end - from) : 0;
}

/* Number of pieces of `bytes` that fit into the free gaps, touched or not. */
static uint64_t
extents_room(const struct extents *e, uint64_t bytes)
{
	const struct extent *at = e->list;
	const uint8_t *from = e->data, *end = e->data + e->bytes;
	uint64_t room = gap(from, at, end) / bytes;

	for (; at; at = at->next) {
		from = at->data + at->bytes;
		room += gap(from, at->next, end) / bytes;
	}
	return room;
}

static int
extent_add(struct extent **at, struct arena_borrower *borrower, uint8_t *data,
	   uint64_t bytes)
{
	struct extent *new = malloc(sizeof *new);

	if (!new)
		return -ENOMEM;
	*new = (struct extent){ data, bytes, borrower, *at };
	*at = new;
	return 0;
}

/* Frees all extents of a borrower. */
static void
extents_give(struct extents *e, const struct arena_borrower *borrower)
{
	struct extent **at = &e->list, *gone;

	while (*at) {
		gone = *at;
		if (gone->borrower != borrower) {
			at = &gone->next;
			continue;
		}
		*at = gone->next;
		free(gone);
	}
}

/* Takes up to n pieces of what is touched for a borrower, and gives them to its
 * take().  Returns how many.  Pieces that follow each other are one extent. */
static unsigned
extents_take(struct extents *e, struct arena_borrower *borrower, unsigned n)
{
	const uint8_t *end = e->data + e->ready;
	struct extent **at = &e->list, *before = NULL;
	uint8_t *from = e->data;
	unsigned taken = 0;

	while (taken < n) {
		uint64_t fit = gap(from, *at, end) / borrower->piece;

		fit = fit < n - taken ? fit : n - taken;
		if (fit && before && before->borrower == borrower)
			before->bytes += fit * borrower->piece;
		else if (fit && extent_add(at, borrower, from,
					   fit * borrower->piece) < 0)
			break;
		taken += (unsigned)fit;
		for (; fit; fit--, from += borrower->piece)
			borrower->take(borrower, from);
		before = *at;
		if (!before)
			break;
		from = before->data + before->bytes;
		at = &before->next;
	}
	return taken;
}

/* Frees one piece of an extent; returns 0, or -ENOMEM with nothing freed.
 * Splits the extent: the bytes behind the piece become an extent of their own,
 * the bytes before it keep the old one.  An empty part gets none. */
static int
extents_cut(struct extents *e, const uint8_t *piece, uint64_t bytes)
{
	struct extent **at = &e->list, *is;
	uint64_t before, behind;

	while ((*at)->data + (*at)->bytes <= piece)
		at = &(*at)->next;
	is = *at;
	before = (uint64_t)(piece - is->data);
	behind = is->bytes - before - bytes;
	if (behind && extent_add(&is->next, is->borrower,
				 is->data + before + bytes, behind) < 0)
		return -ENOMEM;
	is->bytes = before;
	if (!before) {
		*at = is->next;
		free(is);
	}
	return 0;
}

/* ---- touching it behind ------------------------------------------------- */

/* Tells pools that there is more to borrow.  Call under the lock. */
static void
changes_tell(struct arena *a)
{
	atomic_fetch_add_explicit(&a->changes, 1, memory_order_relaxed);
}

/* Takes the next chunk.  False: none is left, or the arena ends. */
static bool
chunk_next(struct arena *a, uint64_t *chunk)
{
	struct touching *t = &a->touching;
	bool more;

	pthread_mutex_lock(&a->lock);
	more = !t->stop && t->next < t->chunks;
	if (more)
		*chunk = t->next++;
	pthread_mutex_unlock(&a->lock);
	return more;
}

/* Bytes from the beginning up to the end of the chunks before this one. */
static uint64_t
chunk_at(const struct arena *a, uint64_t chunk)
{
	uint64_t at = FIRST + chunk * CHUNK;

	return at < a->memory.bytes ? at : a->memory.bytes;
}

/* The system has no more memory: what is touched is all there is.  Call under
 * the lock. */
static void
touching_fails(struct arena *a, int err)
{
	char has[UNITS_TEXT], asked[UNITS_TEXT];

	if (a->touching.stop)
		return;
	a->touching.stop = true;
	log_line(LEVEL_ERROR, NULL,
		 "only %s of `memory` = %s can be had: %s; set `memory` "
		 "lower, or free some and start spated anew",
		 units_show_bytes(has, a->extents.ready),
		 units_show_bytes(asked, a->limit), strerror(-err));
	if (a->limit > a->extents.ready)
		a->limit = a->extents.ready;
}

static void
chunk_done(struct arena *a, uint64_t chunk, int err)
{
	struct touching *t = &a->touching;
	struct extents *e = &a->extents;
	uint64_t ready = 0;

	pthread_mutex_lock(&a->lock);
	t->done[chunk] = !err;
	while (ready < t->chunks && t->done[ready])
		ready++;
	e->ready = chunk_at(a, ready);
	atomic_store_explicit(&a->ready, e->ready, memory_order_release);
	changes_tell(a);
	if (err)
		touching_fails(a, err);
	else if (e->ready == e->bytes)
		log_line(LEVEL_INFO, NULL,
			 "all memory is ready, %.1f s after the start",
			 (double)(clock_steady() - t->since) / 1e9);
	pthread_mutex_unlock(&a->lock);
}

static void *
touching_run(void *arg)
{
	struct arena *a = arg;
	uint64_t chunk;

	pthread_setname_np(pthread_self(), "spate-memory");
	setpriority(PRIO_PROCESS, (id_t)gettid(), 19);
	while (chunk_next(a, &chunk)) {
		uint64_t at = chunk_at(a, chunk);

		chunk_done(a, chunk,
			   touch(&a->memory, at, chunk_at(a, chunk + 1) - at));
	}
	return NULL;
}

static int
touching_begin(struct arena *a)
{
	struct touching *t = &a->touching;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int err = 0;

	t->since = clock_steady();
	t->chunks =
	    (a->memory.bytes - first_bytes(&a->memory) + CHUNK - 1) / CHUNK;
	t->done = calloc(t->chunks + 1, sizeof *t->done);
	if (!t->done)
		return -ENOMEM;
	while (t->threads < TOUCHERS && (long)t->threads < cpus &&
	       t->threads < t->chunks && !err) {
		err = -pthread_create(&t->thread[t->threads], NULL,
				      touching_run, a);
		t->threads += !err;
	}
	return t->threads ? 0 : err;
}

static void
touching_end(struct arena *a)
{
	struct touching *t = &a->touching;

	pthread_mutex_lock(&a->lock);
	t->stop = true;
	pthread_mutex_unlock(&a->lock);
	for (unsigned i = 0; i < t->threads; i++)
		pthread_join(t->thread[i], NULL);
	free(t->done);
}

/* ---- making and freeing ------------------------------------------------- */

int
arena_make(struct arena **arena, uint64_t bytes,
	   const struct arena_wishes *wishes, struct fault *fault)
{
	static const struct arena_wishes none = { .node = -1 };
	uint64_t whole = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	struct arena *a;
	int err = arena_fits(bytes, fault);

	if (err)
		return err;
	a = calloc(1, sizeof *a);
	if (!a)
		return fault_no_memory(fault);
	memory_lock_make(&a->lock);
	a->limit = bytes;
	err = memory_make(&a->memory, whole, wishes ? wishes : &none, fault);
	if (err) {
		arena_free(a);
		return err;
	}
	a->extents = (struct extents){ a->memory.at, a->memory.bytes,
				       first_bytes(&a->memory), NULL };
	atomic_init(&a->ready, a->extents.ready);
	err = touching_begin(a);
	if (err) {
		make_fault(fault, err, whole);
		arena_free(a);
		return err;
	}
	*arena = a;
	return 0;
}

void
arena_free(struct arena *a)
{
	if (!a)
		return;
	touching_end(a);
	memory_free(&a->memory);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

struct arena_facts
arena_facts(struct arena *a)
{
	struct arena_facts f = { .pages = a->memory.pages,
				 .locked = a->memory.locked,
				 .shared = a->memory.file.fd >= 0 };

	pthread_mutex_lock(&a->lock);
	f.bytes = a->limit;
	f.borrowed = a->borrowed;
	f.lent = a->lent;
	f.ready = a->extents.ready < a->limit ? a->extents.ready : a->limit;
	pthread_mutex_unlock(&a->lock);
	return f;
}

const void *
arena_memory(const struct arena *a, uint64_t *bytes)
{
	*bytes = a->memory.bytes;
	return a->memory.at;
}

const _Atomic size_t *
arena_ready(const struct arena *a)
{
	return &a->ready;
}

int
arena_fd(const struct arena *a)
{
	return a->memory.file.fd;
}

/* ---- borrowers --------------------------------------------------------- */

/*
 * Three sums over the borrowers, who are few, decide:
 *
 *   committed  what those that have begun have a right to, and what those that
 *              wait for others have: a new one is refused if its right does not
 *              fit beside it
 *   owed       what borrowers lack of their rights: nothing is lent beyond a
 *              right unless as much stays free, and who has more returns it
 *   lent       what borrowers have beyond their rights
 */
static uint64_t
right_of(const struct arena_borrower *b)
{
	return b->right * b->piece;
}

static uint64_t
committed(const struct arena *a)
{
	uint64_t bytes = 0;

	for (const struct arena_borrower *b = a->borrowers; b; b = b->next)
		bytes += b->leaves || (b->waits && b->has < b->right)
			     ? b->has * b->piece
			     : right_of(b);
	return bytes;
}

static uint64_t
owed(const struct arena *a)
{
	uint64_t bytes = 0;

	for (const struct arena_borrower *b = a->borrowers; b; b = b->next)
		bytes += !b->leaves && b->has < b->right
			     ? (b->right - b->has) * b->piece
			     : 0;
	return bytes;
}

/* Counts anew after a change of what borrowers have.  Call under the lock. */
static void
borrowers_count(struct arena *a)
{
	a->borrowed = a->lent = 0;
	for (const struct arena_borrower *b = a->borrowers; b; b = b->next) {
		a->borrowed += b->has * b->piece;
		if (b->has > b->right && !b->leaves)
			a->lent += (b->has - b->right) * b->piece;
	}
	atomic_store_explicit(&a->asks_back, owed(a) > 0, memory_order_relaxed);
}

/* Takes up to n pieces.  Call under the lock; returns how many. */
static unsigned
pieces_take(struct arena *a, struct arena_borrower *b, unsigned n)
{
	uint64_t left = (a->limit - a->borrowed) / b->piece;

	if (a->limit < a->borrowed)
		left = 0;
	n = extents_take(&a->extents, b, left < n ? (unsigned)left : n);
	b->has += n;
	borrowers_count(a);
	return n;
}

static void
borrower_join(struct arena *a, struct arena_borrower *b)
{
	if (b->joined)
		return;
	b->joined = true;
	b->next = a->borrowers;
	a->borrowers = b;
}

static void
borrower_leave(struct arena *a, struct arena_borrower *b)
{
	struct arena_borrower **at;

	if (!b->joined)
		return;
	for (at = &a->borrowers; *at != b; at = &(*at)->next)
		;
	*at = b->next;
	extents_give(&a->extents, b);
	b->joined = false;
	b->has = 0;
	borrowers_count(a);
	changes_tell(a);
}

/* Writes "; r1 has 1.2 GiB, r2 has 300 MiB": as many as fit in the
 * text. */
static void
show_borrowers(const struct arena *a, char *text, size_t room)
{
	char bytes[UNITS_TEXT];
	size_t at = 0;

	text[0] = '\0';
	for (const struct arena_borrower *b = a->borrowers; b && at < room;
	     b = b->next) {
		if (b->has)
			at += (size_t)snprintf(
			    text + at, room - at, "%s%s has %s",
			    at ? ", " : "; ", b->who,
			    units_show_bytes(bytes, b->has * b->piece));
	}
}

/* Explains why a borrower was refused.  Call under the lock. */
static int
borrow_fault(const struct arena *a, const struct arena_borrower *b,
	     struct fault *fault)
{
	char need[UNITS_TEXT], has[UNITS_TEXT], left[UNITS_TEXT], who[160];
	uint64_t taken = committed(a);
	uint64_t free_bytes = a->limit > taken ? a->limit - taken : 0;
	uint64_t room = extents_room(&a->extents, b->piece);

	if (room > free_bytes / b->piece || a->lent)
		room = free_bytes / b->piece;
	show_borrowers(a, who, sizeof who);
	fault_set(fault, -ENOMEM, "no-memory",
		  "not enough memory for %u blocks of %s: %s are needed",
		  b->right, b->who, units_show_bytes(need, right_of(b)));
	fault_why(fault, "`memory` is %s, of which %s are free%s",
		  units_show_bytes(has, a->limit),
		  units_show_bytes(left, free_bytes), who);
	if (room >= b->least)
		fault_hint(fault,
			   "`blocks` = %llu of the stream would fit now; or "
			   "raise `memory`, lower the stream's `block`, or "
			   "stop another recording",
			   (unsigned long long)room);
	else
		fault_hint(fault, "raise `memory`, lower the stream's `block` "
				  "or `blocks`, or stop another recording");
	return -ENOMEM;
}

/* True if a right that fits by its bytes, but not into the gaps that are free
 * now, is only a matter of time. */
static bool
will_fit(const struct arena *a)
{
	return a->lent > 0 || a->extents.ready < a->extents.bytes;
}

int
arena_borrow(struct arena_borrower *b, struct fault *fault)
{
	struct arena *a = b->arena;
	int err = 0;

	pthread_mutex_lock(&a->lock);
	if (committed(a) + right_of(b) > a->limit) {
		err = -ENOMEM;
	} else {
		borrower_join(a, b);
		if (pieces_take(a, b, b->right) < b->right && !will_fit(a)) {
			borrower_leave(a, b);
			err = -ENOMEM;
		}
	}
	if (err && fault)
		borrow_fault(a, b, fault);
	pthread_mutex_unlock(&a->lock);
	return err;
}

int
arena_fill(struct arena_borrower *b)
{
	struct arena *a = b->arena;
	bool full;

	pthread_mutex_lock(&a->lock);
	if (!b->joined) {
		b->waits = true;
		borrower_join(a, b);
	}
	if (b->has < b->right)
		pieces_take(a, b, b->right - b->has);
	full = b->has >= b->right;
	pthread_mutex_unlock(&a->lock);
	return full ? 0 : -ENOMEM;
}

bool
arena_grow(struct arena_borrower *b)
{
	struct arena *a = b->arena;
	bool grown = false;

	pthread_mutex_lock(&a->lock);
	if (b->joined && (b->has < b->right ||
			  (b->has < b->most &&
			   a->limit >= a->borrowed + owed(a) + b->piece)))
		grown = pieces_take(a, b, 1) == 1;
	pthread_mutex_unlock(&a->lock);
	return grown;
}

bool
arena_asks_back(const struct arena *a)
{
	return atomic_load_explicit(&a->asks_back, memory_order_relaxed);
}

unsigned
arena_changes(const struct arena *a)
{
	return atomic_load_explicit(&a->changes, memory_order_relaxed);
}

int
arena_could_lend(const struct arena_borrower *b, struct fault *fault)
{
	struct arena *a = b->arena;
	int err = 0;

	pthread_mutex_lock(&a->lock);
	if (right_of(b) > a->limit)
		err = borrow_fault(a, b, fault);
	pthread_mutex_unlock(&a->lock);
	return err;
}

void
arena_return_piece(struct arena_borrower *b, const uint8_t *at)
{
	struct arena *a = b->arena;

	pthread_mutex_lock(&a->lock);
	if (extents_cut(&a->extents, at, b->piece) == 0) {
		b->has--;
		borrowers_count(a);
		changes_tell(a);
	}
	pthread_mutex_unlock(&a->lock);
}

void
arena_leave(struct arena_borrower *b)
{
	struct arena *a = b->arena;

	pthread_mutex_lock(&a->lock);
	b->leaves = true;
	borrowers_count(a);
	changes_tell(a);
	pthread_mutex_unlock(&a->lock);
}

void
arena_return(struct arena_borrower *b)
{
	struct arena *a = b->arena;

	pthread_mutex_lock(&a->lock);
	borrower_leave(a, b);
	pthread_mutex_unlock(&a->lock);
}
