/* SPDX-License-Identifier: MIT */
#include "contract/write_bench.h"

struct scratch scratch;
uint8_t *data;

static int64_t
no_time(void *ctx)
{
	(void)ctx;
	return 0;
}

static void __attribute__((format(printf, 3, 4)))
tell(void *ctx, enum log_level level, const char *format, ...)
{
	struct told *told = ctx;
	va_list args;

	(void)level;
	told->lines++;
	va_start(args, format);
	vsnprintf(told->last, sizeof told->last, format, args);
	va_end(args);
}

int
bench_try(struct bench *b, const struct write_ops *ops, const void *arena,
	  size_t arena_bytes)
{
	struct write_args args = { .host = &b->host,
				   .arena = arena,
				   .arena_bytes = arena_bytes };

	*b = (struct bench){ .ops = ops };
	b->host = (struct host){ .ctx = &b->told, .log = tell, .now = no_time };
	b->options = calloc(1, ops->head.options_bytes + 1);
	args.options = b->options;
	return ops->open(&b->state, &args);
}

void
bench_open(struct bench *b, const struct write_ops *ops)
{
	ck_assert_int_eq(bench_try(b, ops, data, BYTES), 0);
}

void
bench_close(struct bench *b)
{
	ck_assert_uint_eq(b->queued, 0);
	b->ops->close(b->state);
	free(b->options);
}

bool
stores(const struct bench *b)
{
	return !(b->ops->head.flags & WRITE_NOTHING);
}

int
open_flags(const struct bench *b)
{
	return b->ops->head.flags & WRITE_DIRECT ? O_DIRECT : 0;
}

int
file_open(const struct bench *b, const char *name, int flags)
{
	int fd;

	if (!stores(b))
		return open("/dev/null", O_WRONLY | O_CLOEXEC);
	fd = open(scratch_path(&scratch, name),
		  flags | open_flags(b) | O_CLOEXEC, 0600);
	ck_assert(fd >= 0 || (open_flags(b) && errno == EINVAL));
	return fd;
}

void
file_close(struct bench *b, int fd)
{
	if (b->ops->finish)
		ck_assert_int_eq(b->ops->finish(b->state, fd), 0);
	ck_assert_int_eq(close(fd), 0);
}

void
file_check(const struct bench *b, const char *name)
{
	static uint8_t is[BYTES + 1];
	int fd;

	if (!stores(b))
		return;
	fd = open(scratch_path(&scratch, name), O_RDONLY);
	ck_assert_int_eq(read(fd, is, sizeof is), BYTES);
	ck_assert(memcmp(is, data, BYTES) == 0);
	close(fd);
}

struct write_request
request_of(int fd, unsigned page, unsigned pages)
{
	return (struct write_request){ .fd = fd,
				       .data = data + page * PAGE,
				       .bytes = (size_t)pages * PAGE,
				       .offset = (uint64_t)page * PAGE };
}

void
reap(struct bench *b)
{
	struct write_request *done[FLIGHT];
	unsigned n;

	ck_assert_ptr_nonnull(b->ops->reap);
	n = b->ops->reap(b->state, done, FLIGHT);
	ck_assert_uint_ge(n, 1);
	ck_assert_uint_le(n, b->queued);
	b->queued -= n;
	for (unsigned i = 0; i < n; i++) {
		ck_assert_ptr_eq(done[i]->tag, done[i]);
		done[i]->tag = NULL; /* once */
	}
}

bool
submit(struct bench *b, struct write_request *r)
{
	r->tag = r;
	r->result = UNDONE;
	switch (b->ops->submit(b->state, r)) {
	case WRITE_QUEUED: b->queued++; return true;
	case WRITE_DONE:
		ck_assert_int_ne(r->result, UNDONE);
		r->tag = NULL;
		return true;
	default: ck_assert_uint_gt(b->queued, 0); return false;
	}
}

void
drain(struct bench *b)
{
	while (b->queued)
		reap(b);
}

void
write_one(struct bench *b, struct write_request *r)
{
	while (!submit(b, r))
		reap(b);
	drain(b);
}

void
request_rest(struct bench *b, struct write_request *r)
{
	while (r->bytes) {
		ck_assert_int_gt(r->result, 0);
		ck_assert_int_le(r->result, (int64_t)r->bytes);
		ck_assert_int_eq(r->result % PAGE, 0);
		r->data = (const uint8_t *)r->data + r->result;
		r->offset += (uint64_t)r->result;
		r->bytes -= (size_t)r->result;
		if (r->bytes)
			write_one(b, r);
	}
}

void
write_pages(struct bench *b, int fd, unsigned page, unsigned pages)
{
	struct write_request r = request_of(fd, page, pages);

	write_one(b, &r);
	request_rest(b, &r);
}

/* Containers forbid io_uring to all that is in them, and this test as well. */
static bool
is_allowed(const struct write_ops *ops)
{
	struct bench b;
	int err = bench_try(&b, ops, NULL, 0);

	if (!err)
		ops->close(b.state);
	free(b.options);
	if (err == -EPERM || err == -ENOSYS)
		fprintf(stderr, "%s is not tested: %s\n", ops->head.name,
			b.told.last);
	return err != -EPERM && err != -ENOSYS;
}

void
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
		if (is_allowed(ops))
			check(ops);
	}
	free(data);
	scratch_remove(&scratch);
	globfree(&found);
}
