/* SPDX-License-Identifier: MIT */
/*
 * Streams that share a receiver with one that takes all it can get; and where
 * its thread runs.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "flow/memory/arena.h"
#include "lib/receiver_bench.h"

enum {
	FLOOD = 20000000, /* far more than anyone waits for */
	GEN = MOST - 1,
};

static const char endless[] = "packets = 20000000L; first = 77;";

/* Garbage as fast as it goes, of right and of wrong size. */
static void *
flood_run(void *arg)
{
	struct sender *s = arg;
	uint64_t n = 0;

	while (n < FLOOD && !atomic_load(&s->stop)) {
		sender_send(s, n * 0x9e3779b97f4a7c15, 1 + n % 2 * (TRAIN - 1));
		send(s->fd, "short", 5, 0);
		n++;
	}
	s->from = n;
	return NULL;
}

/*
 * Neighbours of a flooded stream, and of one that always has more, go on, a
 * burst at a time: the next is sent when the one before has come.  If they
 * had to wait for an end of the flood, it would come to its own first.
 */
START_TEST(a_flood_starves_nobody)
{
	struct sender flood, sender[MOST];
	struct receiver *r;
	struct counts c;

	pool_open();
	ck_assert_int_eq(receiver_start(&r, NULL), 0);
	for (unsigned i = 0; i < MOST; i++) {
		stream_open(&stream[i], i == GEN ? "gen" : "udp",
			    i == GEN ? endless : one);
		ck_assert_int_eq(receiver_subscribe(r, stream[i].subscriber),
				 0);
		if (i != GEN)
			sender_connect(&sender[i], &stream[i], 0);
	}
	flood = sender[0];
	pthread_create(&flood.thread, NULL, flood_run, &flood);
	for (uint64_t n = 0; n < SENT; n += TRAIN) {
		for (unsigned i = 1; i < GEN; i++)
			sender_send(&sender[i], n, TRAIN);
		for (unsigned i = 1; i < GEN; i++) {
			do
				counts_read(&c,
					    &stream[i].subscriber->shown[0]);
			while (c.datagrams < n + TRAIN && !sched_yield());
		}
	}
	atomic_store(&flood.stop, true);
	pthread_join(flood.thread, NULL);
	ck_assert_uint_lt(flood.from, FLOOD);
	counts_read(&c, &stream[GEN].subscriber->shown[0]);
	ck_assert_uint_lt(c.datagrams, FLOOD);
	for (unsigned i = 0; i < MOST; i++) {
		stream_stop(r, &stream[i]);
		c = stream_check(&stream[i]);
		if (i && i < GEN)
			ck_assert_uint_eq(c.placed, SENT);
		if (i != GEN)
			close(sender[i].fd);
		stream_close(&stream[i]);
	}
	receiver_stop(r);
	arena_free(arena);
}
END_TEST

/* A thread's own, by its name; -1. */
static int
thread_find(const char *name)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *e;
	int found = -1;

	while (dir && (e = readdir(dir))) {
		char file[300], comm[32] = "";
		FILE *f;

		snprintf(file, sizeof file, "/proc/self/task/%s/comm",
			 e->d_name);
		f = fopen(file, "r");
		if (!f)
			continue;
		if (fgets(comm, sizeof comm, f) &&
		    !strncmp(comm, name, strlen(name)))
			found = atoi(e->d_name);
		fclose(f);
	}
	closedir(dir);
	return found;
}

/* What may not be had is left out, and packets are received all the same. */
START_TEST(a_thread_runs_where_it_is_told)
{
	static const uint32_t cpu[] = { 0, 4000 };
	struct receiver_args args = { .priority = 3, .cpu = cpu, .cpus = 2 };
	struct receiver *r;
	cpu_set_t set;
	int thread, policy;

	log_level_set(LEVEL_ERROR);
	ck_assert_int_eq(receiver_start(&r, &args), 0);
	do
		thread = thread_find("spate-receive");
	while (thread < 0 && !sched_yield());
	ck_assert_int_eq(sched_getaffinity(thread, sizeof set, &set), 0);
	if (CPU_ISSET(0, &set))
		ck_assert_int_eq(CPU_COUNT(&set), 1);
	policy = sched_getscheduler(thread);
	ck_assert(policy == SCHED_FIFO || policy == SCHED_OTHER);
	if (policy == SCHED_OTHER)
		ck_assert_int_eq(
		    pthread_setschedparam(pthread_self(), SCHED_FIFO,
					  &(struct sched_param){ 3 }),
		    EPERM);
	receiver_stop(r);
}
END_TEST

SUITE_THREADS("receiver_many", NULL, a_flood_starves_nobody,
	      a_thread_runs_where_it_is_told)
