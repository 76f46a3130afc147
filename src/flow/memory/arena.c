/* SPDX-License-Identifier: MIT */
/*
 * All memory that packets ever lie in, mapped and touched once when the daemon
 * starts:
 * touching costs about half a second per GiB, and the kernel must never have to
 * zero a page while packets arrive.
 *
 * Pages are huge: a memfd of reserved hugetlb pages where the system has enough
 * of them, else anonymous memory with transparent huge pages requested.  Small
 * pages would cost a TLB miss for about every second packet.
 *
 * Only a memfd can be shared with live readers (shm_page.h).  The kernel backs a
 * memfd without reserved pages mostly with small pages, since few systems allow
 * transparent ones there (shmem_enabled); so sharing has to be requested.
 * *Measured* over loopback at 2 Gb/s: 0.33 CPU s/GB in anonymous memory, 0.38
 * in a memfd of small pages, 0.32 in a memfd of transparent huge pages, and the
 * same again with a program that reads all of it (scripts/bench record --live
 * 2e9).
 *
 *   arena  |pool A: b0 b1 b2 ...|  free  |pool B: b0 b1|     free      |
 */
#include "flow/memory/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "flow/memory/memfile.h"

enum { PAGE = 4096, HUGE_PAGE = 2 << 20, NODES = 1024 };

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
	struct extent *list;
};

struct arena {
	struct memory memory;
	uint64_t limit; /* bytes that may be borrowed */

	pthread_mutex_t lock; /* guards the fields below */
	struct extents extents;
	struct arena_borrower *borrowers;
	uint64_t borrowed;
};

/* ---- memory ------------------------------------------------------------ */

/* Touches every page: one madvise() call, or where the kernel does not know it
 * (before Linux 5.14) a write to each page. */
static int
touch(uint8_t *at, uint64_t bytes)
{
	if (madvise(at, bytes, MADV_POPULATE_WRITE) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	for (uint64_t i = 0; i < bytes; i += PAGE)
		*(volatile uint8_t *)(at + i) = 0;
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

static int
memory_ready(const struct memory *m, int node)
{
	memory_near(m, node);
	/* A core dump has no use for the packets, and no disk for so many GiB
	 * of them. */
	madvise(m->at, m->bytes, MADV_DONTDUMP);
	return touch(m->at, m->bytes);
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
		return memory_ready(m, wishes->node);

	m->at = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->at == MAP_FAILED)
		return -errno;
	m->pages = madvise(m->at, m->bytes, MADV_HUGEPAGE) == 0 ? "transparent"
								: "small";
	return memory_ready(m, wishes->node);
}

static void
memory_lock(struct memory *m)
{
	struct rlimit limit = { 0, 0 };
	char is[UNITS_TEXT], need[UNITS_TEXT];

	m->locked = mlock(m->at, m->bytes) == 0;
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
memory_make(struct memory *m, uint64_t bytes, const struct arena_wishes *wishes)
{
	char text[UNITS_TEXT];
	int err;

	*m = (struct memory){ .at = MAP_FAILED, .bytes = bytes };
	err = map_any(m, wishes);
	if (err) {
		memory_free(m);
		return err;
	}
	memory_lock(m);
	log_line(LEVEL_INFO, NULL, "memory: %s in %s pages%s%s",
		 units_show_bytes(text, m->bytes), m->pages,
		 m->locked ? ", locked" : "",
		 m->file.fd >= 0 ? ", shared with live readers" : "");
	return 0;
}

/* ---- pieces of it ------------------------------------------------------ */

/*
 * Streams come and go at the pace of people, so the list is short and a linear
 * search costs nothing.  One extent per borrower was tried first: after some
 * recordings of different lengths a third one was refused although two thirds
 * of the memory were free, in fragments.
 */

/* Free bytes from `from` up to extent `to`, or to the end of the arena if that
 * is NULL. */
static uint64_t
gap(const struct extents *e, const uint8_t *from, const struct extent *to)
{
	const uint8_t *end = to ? to->data : e->data + e->bytes;

	return (uint64_t)(end - from);
}

/* Number of pieces of `bytes` that fit into the free gaps. */
static uint64_t
extents_room(const struct extents *e, uint64_t bytes)
{
	const struct extent *at = e->list;
	const uint8_t *from = e->data;
	uint64_t room = gap(e, from, at) / bytes;

	for (; at; at = at->next) {
		from = at->data + at->bytes;
		room += gap(e, from, at->next) / bytes;
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

/* Takes n pieces for a borrower and calls `place` with the index and address of
 * each.  Returns 0, or -ENOMEM with nothing taken. */
static int
extents_take(struct extents *e, struct arena_borrower *borrower, unsigned n,
	     uint64_t bytes,
	     void (*place)(struct arena_borrower *borrower, unsigned i,
			   uint8_t *at))
{
	struct extent **at = &e->list;
	uint8_t *from = e->data;
	unsigned i = 0;
	uint64_t fit;

	if (extents_room(e, bytes) < n)
		return -ENOMEM;
	while (i < n) {
		fit = gap(e, from, *at) / bytes;
		fit = fit < n - i ? fit : n - i;
		if (fit && extent_add(at, borrower, from, fit * bytes) < 0) {
			extents_give(e, borrower);
			return -ENOMEM;
		}
		for (; fit; fit--, from += bytes)
			place(borrower, i++, from);
		if (i < n) {
			from = (*at)->data + (*at)->bytes;
			at = &(*at)->next;
		}
	}
	return 0;
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

/* ---- the arena --------------------------------------------------------- */

/* Linux grants more memory than the machine has and kills the daemon later;
 * refuse in time. */
int
arena_fits(uint64_t bytes, struct fault *fault)
{
	uint64_t ram =
	    (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	char want[UNITS_TEXT], is[UNITS_TEXT];

	if (bytes <= ram / 10 * 9)
		return 0;
	fault_set(fault, -ENOMEM, "no-memory", "cannot have %s of memory",
		  units_show_bytes(want, bytes));
	fault_why(fault, "this machine has %s", units_show_bytes(is, ram));
	fault_hint(fault, "set `memory` to at most nine tenths of that");
	return -ENOMEM;
}

int
arena_make(struct arena **arena, uint64_t bytes,
	   const struct arena_wishes *wishes, struct fault *fault)
{
	static const struct arena_wishes none = { .node = -1 };
	uint64_t whole = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	struct arena *a;
	char text[UNITS_TEXT];
	int err = arena_fits(bytes, fault);

	if (err)
		return err;
	a = calloc(1, sizeof *a);
	if (!a)
		return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
	pthread_mutex_init(&a->lock, NULL);
	a->limit = bytes;
	err = memory_make(&a->memory, whole, wishes ? wishes : &none);
	if (err) {
		fault_set(fault, err, "no-memory", "cannot have %s of memory",
			  units_show_bytes(text, whole));
		fault_why(fault, "%s", strerror(-err));
		fault_hint(fault, "set `memory` lower, or free some");
		arena_free(a);
		return err;
	}
	a->extents = (struct extents){ a->memory.at, a->memory.bytes, NULL };
	*arena = a;
	return 0;
}

void
arena_free(struct arena *a)
{
	if (!a)
		return;
	memory_free(&a->memory);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

struct arena_facts
arena_facts(struct arena *a)
{
	struct arena_facts f = { .bytes = a->limit,
				 .pages = a->memory.pages,
				 .locked = a->memory.locked,
				 .shared = a->memory.file.fd >= 0 };

	pthread_mutex_lock(&a->lock);
	f.borrowed = a->borrowed;
	pthread_mutex_unlock(&a->lock);
	return f;
}

const void *
arena_memory(const struct arena *a, uint64_t *bytes)
{
	*bytes = a->memory.bytes;
	return a->memory.at;
}

int
arena_fd(const struct arena *a)
{
	return a->memory.file.fd;
}

/* ---- borrowers --------------------------------------------------------- */

/* Number of such pieces that would fit now. */
static uint64_t
room_for(const struct arena *a, uint64_t piece)
{
	uint64_t room = extents_room(&a->extents, piece);
	uint64_t left = (a->limit - a->borrowed) / piece;

	return room < left ? room : left;
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
	     b = b->next)
		at += (size_t)snprintf(text + at, room - at, "%s%s has %s",
				       at ? ", " : "; ", b->who,
				       units_show_bytes(bytes, b->bytes));
}

/* Explains why a borrower was refused.  Call under the lock. */
static int
borrow_fault(const struct arena *a, const struct arena_borrower *b,
	     struct fault *fault)
{
	char need[UNITS_TEXT], has[UNITS_TEXT], left[UNITS_TEXT], who[160];
	uint64_t room = room_for(a, b->piece);

	show_borrowers(a, who, sizeof who);
	fault_set(fault, -ENOMEM, "no-memory",
		  "not enough memory for %u blocks of %s: %s are needed",
		  b->pieces, b->who, units_show_bytes(need, b->bytes));
	fault_why(fault, "`memory` is %s, of which %s are free%s",
		  units_show_bytes(has, a->limit),
		  units_show_bytes(left, a->limit - a->borrowed), who);
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

int
arena_borrow(struct arena_borrower *b, struct fault *fault)
{
	struct arena *a = b->arena;
	int err = 0;

	pthread_mutex_lock(&a->lock);
	if (b->bytes > a->limit - a->borrowed ||
	    extents_take(&a->extents, b, b->pieces, b->piece, b->place) < 0) {
		err = -ENOMEM;
		if (fault)
			borrow_fault(a, b, fault);
	} else {
		b->next = a->borrowers;
		a->borrowers = b;
		a->borrowed += b->bytes;
	}
	pthread_mutex_unlock(&a->lock);
	return err;
}

int
arena_could_lend(const struct arena_borrower *b, struct fault *fault)
{
	struct arena *a = b->arena;
	int err;

	if (b->bytes <= a->limit)
		return 0;
	pthread_mutex_lock(&a->lock);
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
		b->bytes -= b->piece;
		a->borrowed -= b->piece;
	}
	pthread_mutex_unlock(&a->lock);
}

void
arena_return(struct arena_borrower *b)
{
	struct arena *a = b->arena;
	struct arena_borrower **at;

	pthread_mutex_lock(&a->lock);
	for (at = &a->borrowers; *at != b; at = &(*at)->next)
		;
	*at = b->next;
	extents_give(&a->extents, b);
	a->borrowed -= b->bytes;
	pthread_mutex_unlock(&a->lock);
}
