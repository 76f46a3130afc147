/* SPDX-License-Identifier: MIT */
/*
 * Many requests of many files in flight, as many instances as there are disks,
 * and memory in and outside of the arena.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "contract/write_bench.h"

enum { FILES = 4 };

struct files {
	int fd[FILES];
	char name[FILES][32];
};

/* False where the file system refuses O_DIRECT. */
static bool
files_open(struct files *f, const struct bench *b, const char *what)
{
	for (int i = 0; i < FILES; i++) {
		snprintf(f->name[i], sizeof f->name[i], "%s%d-%s", what, i,
			 b->ops->head.name);
		f->fd[i] = file_open(b, f->name[i], O_CREAT | O_WRONLY);
		if (f->fd[i] < 0)
			return false;
	}
	return true;
}

static void
files_check(struct files *f, struct bench *b)
{
	for (int i = 0; i < FILES; i++) {
		file_close(b, f->fd[i]);
		file_check(b, f->name[i]);
	}
}

/* Every page of every file is a request, in any order; `most` of them at a
 * time at most. */
static void
pages_write(struct bench *b, const int *fd, unsigned most, struct dice *dice)
{
	static __thread struct write_request r[FILES * PAGES];
	unsigned order[FILES * PAGES];

	for (unsigned i = 0; i < FILES * PAGES; i++)
		order[i] = i;
	dice_shuffle(dice, order, FILES * PAGES);
	for (unsigned i = 0; i < FILES * PAGES; i++) {
		unsigned n = order[i];

		r[i] = request_of(fd[n % FILES], n / FILES, 1);
		while (b->queued >= most || !submit(b, &r[i]))
			reap(b);
		if (b->ops->start && dice_chance(dice, 5))
			b->ops->start(b->state);
	}
	drain(b);
	for (unsigned i = 0; i < FILES * PAGES; i++) {
		ck_assert_ptr_null(r[i].tag);
		ck_assert_int_eq(r[i].result, PAGE);
	}
}

/* Also more than the plugin takes: it is busy, and then goes on. */
static void
many_in_flight(const struct write_ops *ops)
{
	static const unsigned most[] = { 1, 2, 16, FLIGHT };
	struct dice dice = { 5 };
	struct files f;
	struct bench b;

	bench_open(&b, ops);
	for (unsigned i = 0; i < sizeof most / sizeof *most; i++) {
		if (!files_open(&f, &b, "many"))
			break;
		pages_write(&b, f.fd, most[i], &dice);
		files_check(&f, &b);
	}
	bench_close(&b);
}

/* Few are given back at a time where the caller has no room for more. */
static void
few_at_a_time(const struct write_ops *ops)
{
	struct write_request r[8], *one;
	struct bench b;
	int fd;

	if (!ops->reap)
		return;
	bench_open(&b, ops);
	ck_assert_uint_eq(ops->reap(b.state, &one, 1), 0);
	fd = file_open(&b, "few", O_CREAT | O_WRONLY);
	for (unsigned i = 0; fd >= 0 && i < 8; i++) {
		r[i] = request_of(fd, i, 1);
		ck_assert(submit(&b, &r[i]));
	}
	for (unsigned left = b.queued; left; left--) {
		ck_assert_uint_eq(ops->reap(b.state, &one, 1), 1);
		ck_assert_ptr_eq(one->tag, one);
		ck_assert_int_eq(one->result, PAGE);
		one->tag = NULL;
	}
	b.queued = 0;
	ck_assert_uint_eq(ops->reap(b.state, &one, 1), 0);
	if (fd >= 0)
		file_close(&b, fd);
	unlink(scratch_path(&scratch, "few"));
	bench_close(&b);
}

/* Signals come all the time; no request ends by one. */
static void
on_alarm(int number)
{
	(void)number;
}

static void
signals_change_nothing(const struct write_ops *ops)
{
	struct sigaction act = { .sa_handler = on_alarm };
	struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = { 0 };
	struct dice dice = { 6 };
	struct files f;
	struct bench b;

	ck_assert_int_eq(sigaction(SIGALRM, &act, NULL), 0);
	bench_open(&b, ops);
	if (files_open(&f, &b, "signals")) {
		ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
		for (int i = 0; i < 5; i++)
			pages_write(&b, f.fd, 32, &dice);
		ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
		files_check(&f, &b);
	}
	bench_close(&b);
}

/* ---- two disks ------------------------------------------------------- */

struct disk {
	const struct write_ops *ops;
	struct files f;
	unsigned seed;
	pthread_t thread;
};

static void *
disk_run(void *arg)
{
	struct disk *d = arg;
	struct dice dice = { d->seed };
	struct bench b;

	bench_open(&b, d->ops);
	for (int i = 0; i < 5; i++)
		pages_write(&b, d->f.fd, 32, &dice);
	if (d->ops->finish) {
		for (int i = 0; i < FILES; i++)
			ck_assert_int_eq(d->ops->finish(b.state, d->f.fd[i]),
					 0);
	}
	bench_close(&b);
	return NULL;
}

static void
two_threads(const struct write_ops *ops)
{
	struct bench b = { .ops = ops };
	struct disk d[2] = { { ops, .seed = 7 }, { ops, .seed = 8 } };

	if (!files_open(&d[0].f, &b, "left") ||
	    !files_open(&d[1].f, &b, "right"))
		return;
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(
		    pthread_create(&d[i].thread, NULL, disk_run, &d[i]), 0);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_join(d[i].thread, NULL), 0);
	for (int i = 0; i < 2 * FILES; i++) {
		close(d[i / FILES].f.fd[i % FILES]);
		file_check(&b, d[i / FILES].f.name[i % FILES]);
	}
}

/* ---- the arena ------------------------------------------------------- */

/* All of it, a part of it, none of it; and what stands across its end. */
static void
in_and_outside_of_the_arena(const struct write_ops *ops)
{
	static const unsigned from[] = { 0, 10, 0, PAGES },
			      to[] = { PAGES, 20, 17, PAGES };

	for (unsigned i = 0; i < 4; i++) {
		char name[32];
		struct bench b;
		int fd;

		ck_assert_int_eq(bench_try(&b, ops, data + from[i] * PAGE,
					   (to[i] - from[i]) * PAGE),
				 0);
		snprintf(name, sizeof name, "arena%u-%s", i, ops->head.name);
		fd = file_open(&b, name, O_CREAT | O_WRONLY);
		if (fd >= 0) {
			for (unsigned page = 0; page < PAGES; page += 8)
				write_pages(&b, fd, page, 8);
			file_close(&b, fd);
			file_check(&b, name);
		}
		bench_close(&b);
	}
}

/*
 * An arena of more than a GiB, which is the data again and again, so that it
 * takes no more memory than that.
 */
enum { TIMES = (1 << 30) / BYTES + 2 };

static uint8_t *
large_arena(void)
{
	int memory = memfd_create("arena", MFD_CLOEXEC);
	uint8_t *arena;

	ck_assert_int_eq(write(memory, data, BYTES), BYTES);
	arena = mmap(NULL, (size_t)TIMES * BYTES, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ck_assert_ptr_ne(arena, MAP_FAILED);
	for (size_t i = 0; i < TIMES; i++)
		ck_assert_ptr_ne(
		    mmap(arena + i * BYTES, BYTES, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED | MAP_POPULATE, memory, 0),
		    MAP_FAILED);
	close(memory);
	return arena;
}

static void
a_large_arena(const struct write_ops *ops)
{
	uint8_t *arena = large_arena(), *cut = arena + (1 << 30);
	uint8_t *first = cut - (size_t)(cut - arena) % BYTES;
	struct bench b;
	char name[32];
	int fd;

	ck_assert_int_eq(bench_try(&b, ops, arena, (size_t)TIMES * BYTES), 0);
	snprintf(name, sizeof name, "large-%s", ops->head.name);
	fd = file_open(&b, name, O_CREAT | O_WRONLY);
	if (fd >= 0) {
		struct write_request r = { .fd = fd,
					   .data = first,
					   .bytes = BYTES };

		ck_assert_ptr_ne(first, cut);
		write_one(&b, &r);
		request_rest(&b, &r);
		file_close(&b, fd);
		file_check(&b, name);
	}
	bench_close(&b);
	munmap(arena, (size_t)TIMES * BYTES);
}

CONTRACT(many_in_flight)
CONTRACT(few_at_a_time)
CONTRACT(signals_change_nothing)
CONTRACT(two_threads)
CONTRACT(in_and_outside_of_the_arena)
CONTRACT(a_large_arena)

SUITE("write contract: many", plugin_many_in_flight, plugin_few_at_a_time,
      plugin_signals_change_nothing, plugin_two_threads,
      plugin_in_and_outside_of_the_arena, plugin_a_large_arena)
