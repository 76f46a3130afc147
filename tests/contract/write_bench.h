/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_WRITE_BENCH_H
#define SPATE_TESTS_WRITE_BENCH_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "contract/write.h"
#include "lib/dice.h"
#include "lib/scratch.h"
#include "lib/suite.h"

/*
 * A bench is an open write plugin and its requests, each of which has to come
 * back once, with a result, whatever happened to the others.
 */
enum { PAGE = 4096, PAGES = 96, BYTES = PAGES * PAGE, FLIGHT = 256 };

extern struct scratch scratch;
extern uint8_t *data; /* BYTES, aligned */

/* What the plugin told. */
struct told {
	unsigned lines;
	char last[512];
};

/* ---- one instance ---------------------------------------------------- */

struct bench {
	const struct write_ops *ops;
	struct write_state *state;
	struct host host;
	struct told told;
	void *options;
	unsigned queued;
};

int bench_try(struct bench *b, const struct write_ops *ops, const void *arena,
	      size_t arena_bytes);

/* With the data as the arena. */
void bench_open(struct bench *b, const struct write_ops *ops);
void bench_close(struct bench *b);
bool stores(const struct bench *b);
int open_flags(const struct bench *b);

/* -1 where the file system refuses O_DIRECT: nothing to be tested there. */
int file_open(const struct bench *b, const char *name, int flags);
void file_close(struct bench *b, int fd);
void file_check(const struct bench *b, const char *name);

/* ---- requests -------------------------------------------------------- */

enum { UNDONE = INT64_MIN };

struct write_request request_of(int fd, unsigned page, unsigned pages);
void reap(struct bench *b);

/* Once; false when the plugin is busy. */
bool submit(struct bench *b, struct write_request *r);
void drain(struct bench *b);

/* To the end of this one, whatever the plugin answers. */
void write_one(struct bench *b, struct write_request *r);

/* What it lacked is written after it, as a writer would. */
void request_rest(struct bench *b, struct write_request *r);
void write_pages(struct bench *b, int fd, unsigned page, unsigned pages);

/* ---- all of them ----------------------------------------------------- */

void each_write(void (*check)(const struct write_ops *ops));

#define CONTRACT(what)                                                         \
	START_TEST(plugin_##what)                                              \
	{                                                                      \
		each_write(what);                                              \
	}                                                                      \
	END_TEST

#endif
