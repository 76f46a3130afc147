/* SPDX-License-Identifier: MIT */
/*
 * The arena of a station with 256 GiB, on any machine: the system says that it
 * has 512 GiB and no control group, maps without reserving, and grants huge
 * pages without giving any.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "lib/suite.h"

static _Thread_local uint64_t touched_here;
static _Atomic uint64_t touched;

static long
sysconf_large(int name)
{
	return name == _SC_PHYS_PAGES ? (512l << 30) / sysconf(_SC_PAGESIZE)
				      : sysconf(name);
}

static FILE *
fopen_none(const char *path, const char *mode)
{
	(void)path;
	(void)mode;
	return NULL;
}

static void *
mmap_sparse(void *at, size_t bytes, int prot, int flags, int fd, off_t from)
{
	return mmap(at, bytes, prot, flags | MAP_NORESERVE, fd, from);
}

static void
touch_sparse(void *at, uint64_t bytes)
{
	(void)at;
	touched_here += bytes;
	touched += bytes;
}

#define sysconf		sysconf_large
#define fopen		fopen_none
#define mmap		mmap_sparse
#define hot_pages_touch touch_sparse
#include "flow/memory/arena.c"
#undef sysconf

enum { PIECE = 64 << 20, PIECES = 4096 };

static unsigned taken;

static void
piece_take(struct arena_borrower *b, uint8_t *at)
{
	(void)b;
	(void)at;
	taken++;
}

/*
 * Who makes it touches 64 MiB, however large it is, and threads touch the rest:
 * spated is ready as soon with 256 GiB as with 1 GiB.  One recording may borrow
 * all of it, gets what is touched, and by and by the rest.
 */
START_TEST(is_ready_before_it_is_touched)
{
	const uint64_t all = (uint64_t)PIECE * PIECES;
	struct arena_borrower b = { .who = "all",
				    .right = PIECES,
				    .most = PIECES,
				    .piece = PIECE,
				    .take = piece_take };
	struct arena *a;
	struct fault fault;

	log_level_set(LEVEL_ERROR);
	ck_assert_int_eq(arena_make(&a, all, NULL, &fault), 0);
	ck_assert_uint_eq(touched_here, FIRST);
	ck_assert_uint_eq(arena_facts(a).bytes, all);
	b.arena = a;
	ck_assert_int_eq(arena_borrow(&b, &fault), 0);
	for (int i = 0; i < 60000 && arena_fill(&b) < 0; i++)
		usleep(1000);
	ck_assert_uint_eq(taken, PIECES);
	ck_assert_uint_eq(touched, all);
	ck_assert_uint_eq(touched_here, FIRST);
	ck_assert_uint_eq(arena_facts(a).ready, all);
	ck_assert_uint_eq(arena_facts(a).borrowed, all);
	arena_return(&b);
	ck_assert_uint_eq(arena_facts(a).borrowed, 0);
	arena_free(a);
}
END_TEST

/* A reload, or a restart, need not wait until all is touched. */
START_TEST(ends_before_it_is_touched)
{
	struct arena *a;
	struct fault fault;

	log_level_set(LEVEL_ERROR);
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(
		    arena_make(&a, (uint64_t)PIECE * PIECES, NULL, &fault), 0);
		arena_free(a);
	}
	ck_assert_uint_eq(touched_here, 20ull * FIRST);
}
END_TEST

SUITE_THREADS("arena_large", NULL, is_ready_before_it_is_touched,
	      ends_before_it_is_touched)
