/* SPDX-License-Identifier: MIT */
/*
 * What write.h promises, asked of every write plugin that was built: what is
 * handed to it is in the file, wherever in the file, in whatever order, and
 * what it cannot write is -errno.  null stores nothing, and says so.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "contract/write.h"
#include "unit/dice.h"
#include "unit/scratch.h"
#include "unit/suite.h"

enum { PAGE = 4096, PAGES = 96, BYTES = PAGES * PAGE, FLIGHT = 8 };

static struct scratch scratch;
static uint8_t *data; /* BYTES, aligned */

static int64_t
no_time(void *ctx)
{
	(void)ctx;
	return 0;
}

static void __attribute__((format(printf, 3, 4)))
no_log(void *ctx, enum log_level level, const char *format, ...)
{
	(void)ctx;
	(void)level;
	(void)format;
}

static const struct host host = { .log = no_log, .now = no_time };

static void
each_write(void (*check)(const struct write_ops *ops))
{
	const char *folder = getenv("SPATE_PLUGINS");
	char pattern[4096];
	glob_t found;

	ck_assert_msg(folder, "SPATE_PLUGINS is not set");
	snprintf(pattern, sizeof pattern, "%s/write-*.so", folder);
	ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
	scratch_make(&scratch);
	ck_assert_int_eq(posix_memalign((void **)&data, PAGE, BYTES), 0);
	for (int i = 0; i < BYTES; i++)
		data[i] = (uint8_t)(i * 7 + (i >> 12) * 31 + 1);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		void *object = dlopen(found.gl_pathv[i], RTLD_NOW);
		const struct write_ops *ops;

		ck_assert_msg(object, "%s", dlerror());
		ops = dlsym(object, "spate_write");
		ck_assert_msg(ops, "%s", found.gl_pathv[i]);
		check(ops);
	}
	free(data);
	scratch_remove(&scratch);
	globfree(&found);
}

/* ---- one instance ---------------------------------------------------- */

struct bench {
	const struct write_ops *ops;
	struct write_state *state;
	void *options;
	unsigned queued;
};

static void
bench_open(struct bench *b, const struct write_ops *ops)
{
	struct write_args args = { .host = &host };

	*b = (struct bench){ .ops = ops };
	b->options = calloc(1, ops->head.options_bytes + 1);
	args.options = b->options;
	ck_assert_int_eq(ops->open(&b->state, &args), 0);
}

static void
bench_close(struct bench *b)
{
	ck_assert_uint_eq(b->queued, 0);
	b->ops->close(b->state);
	free(b->options);
}

/* -1 where the file system refuses O_DIRECT: nothing to be tested there. */
static int
file_open(const struct bench *b, const char *name, int flags)
{
	int direct = b->ops->head.flags & WRITE_DIRECT ? O_DIRECT : 0;
	int fd;

	if (b->ops->head.flags & WRITE_NOTHING)
		return open("/dev/null", O_WRONLY | O_CLOEXEC);
	fd = open(scratch_path(&scratch, name), flags | direct | O_CLOEXEC,
		  0600);
	ck_assert(fd >= 0 || (direct && errno == EINVAL));
	return fd;
}

static void
file_close(struct bench *b, int fd)
{
	if (b->ops->finish)
		ck_assert_int_eq(b->ops->finish(b->state, fd), 0);
	ck_assert_int_eq(close(fd), 0);
}

static unsigned
reap(struct bench *b)
{
	struct write_request *done[FLIGHT];
	unsigned n;

	ck_assert_ptr_nonnull(b->ops->reap);
	n = b->ops->reap(b->state, done, FLIGHT);
	ck_assert_uint_ge(n, 1);
	ck_assert_uint_le(n, b->queued);
	b->queued -= n;
	for (unsigned i = 0; i < n; i++)
		ck_assert_ptr_eq(done[i]->tag, done[i]);
	return n;
}

/* To the end of this one, whatever the plugin answers. */
static void
write_one(struct bench *b, struct write_request *r)
{
	enum write_answer a;

	r->tag = r;
	while ((a = b->ops->submit(b->state, r)) == WRITE_BUSY)
		reap(b);
	if (a == WRITE_QUEUED)
		b->queued++;
	while (b->queued)
		reap(b);
}

static void
write_pages(struct bench *b, int fd, unsigned page, unsigned pages)
{
	while (pages) {
		struct write_request r = { .fd = fd,
					   .data = data + page * PAGE,
					   .bytes = (size_t)pages * PAGE,
					   .offset = (uint64_t)page * PAGE };

		write_one(b, &r);
		ck_assert_int_gt(r.result, 0);
		ck_assert_int_le(r.result, (int64_t)pages * PAGE);
		ck_assert_int_eq(r.result % PAGE, 0);
		page += (unsigned)(r.result / PAGE);
		pages -= (unsigned)(r.result / PAGE);
	}
}

static void
file_check(const struct bench *b, const char *name)
{
	static uint8_t is[BYTES + 1];
	int fd;

	if (b->ops->head.flags & WRITE_NOTHING)
		return;
	fd = open(scratch_path(&scratch, name), O_RDONLY);
	ck_assert_int_eq(read(fd, is, sizeof is), BYTES);
	ck_assert(memcmp(is, data, BYTES) == 0);
	close(fd);
}

/* ---- promises -------------------------------------------------------- */

static void
is_complete(const struct write_ops *ops)
{
	ck_assert_uint_eq(ops->head.abi, SPATE_ABI);
	ck_assert_uint_eq(ops->head.bytes, sizeof *ops);
	ck_assert_ptr_nonnull(ops->head.name);
	ck_assert_ptr_nonnull(ops->head.help);
	ck_assert_ptr_nonnull(ops->open);
	ck_assert_ptr_nonnull(ops->submit);
	ck_assert_ptr_nonnull(ops->close);
	ck_assert(!strcmp(ops->head.name, "null") ==
		  !!(ops->head.flags & WRITE_NOTHING));
}

/* In any order, in pieces of any length; several files after each other. */
static void
writes_what_it_is_given(const struct write_ops *ops)
{
	struct dice dice = { 11 };
	struct bench b;

	bench_open(&b, ops);
	for (int file = 0; file < 20; file++) {
		char name[16];
		unsigned at[PAGES], from[PAGES + 1], n = 0;
		int fd;

		snprintf(name, sizeof name, "%s%d", ops->head.name, file);
		fd = file_open(&b, name, O_CREAT | O_EXCL | O_WRONLY);
		if (fd < 0)
			break;
		for (unsigned page = 0; page < PAGES; n++) {
			from[n] = page;
			at[n] = n;
			page += 1 + dice_roll(&dice, 30);
		}
		from[n] = PAGES;
		dice_shuffle(&dice, at, n);
		for (unsigned i = 0; i < n; i++)
			write_pages(&b, fd, from[at[i]],
				    from[at[i] + 1] - from[at[i]]);
		file_close(&b, fd);
		file_check(&b, name);
	}
	bench_close(&b);
}

static void
says_what_went_wrong(const struct write_ops *ops)
{
	struct write_request r = { .data = data, .bytes = PAGE };
	struct bench b;
	char name[16];
	int fd;

	if (ops->head.flags & WRITE_NOTHING)
		return;
	bench_open(&b, ops);
	snprintf(name, sizeof name, "ro-%s", ops->head.name);
	fd = file_open(&b, name, O_CREAT | O_RDONLY);
	if (fd >= 0) {
		r.fd = fd;
		write_one(&b, &r);
		ck_assert_int_eq(r.result, -EBADF);
		file_close(&b, fd);
	}
	/* And goes on to work. */
	snprintf(name, sizeof name, "rw-%s", ops->head.name);
	fd = file_open(&b, name, O_CREAT | O_WRONLY);
	if (fd >= 0) {
		write_pages(&b, fd, 0, PAGES);
		file_close(&b, fd);
		file_check(&b, name);
	}
	bench_close(&b);
}

/* One that is thrown away in the middle; the next gets its descriptor. */
static void
lets_go_of_a_file(const struct write_ops *ops)
{
	struct bench b;
	char name[16];

	bench_open(&b, ops);
	for (int i = 0; i < 3; i++) {
		int fd;

		snprintf(name, sizeof name, "go%d-%s", i, ops->head.name);
		fd = file_open(&b, name, O_CREAT | O_WRONLY);
		if (fd < 0)
			break;
		write_pages(&b, fd, 0, i < 2 ? 7 : PAGES);
		file_close(&b, fd);
		if (i < 2)
			unlink(scratch_path(&scratch, name));
		else
			file_check(&b, name);
	}
	bench_close(&b);
}

#define CONTRACT(what)                                                         \
	START_TEST(plugin_##what)                                              \
	{                                                                      \
		each_write(what);                                              \
	}                                                                      \
	END_TEST

CONTRACT(is_complete)
CONTRACT(writes_what_it_is_given)
CONTRACT(says_what_went_wrong)
CONTRACT(lets_go_of_a_file)

SUITE("write contract", plugin_is_complete, plugin_writes_what_it_is_given,
      plugin_says_what_went_wrong, plugin_lets_go_of_a_file)
