/* SPDX-License-Identifier: MIT */
/*
 * Two pieces of memory on their way into two files through a plugin with
 * whims: each arrives whole, or ends by its own error alone.
 */
#include "flow/write/writes_in_flight.h"

#include <string.h>
#include <sys/mman.h>

#include "lib/fake_write.h"
#include "lib/noise.h"
#include "lib/suite.h"

/* Some requests, and not a whole number of them. */
enum { BYTES = 21 << 20 };

static const struct write_ops ops = FAKE_WRITE_OPS("fake", 0);
static const struct write_ops single = {
	.head = { .name = "single" },
	.open = fake_write_open,
	.submit = fake_write_submit,
	.close = fake_write_close,
};

static struct fake_whim whim;
static struct writes_in_flight writes;
static struct file_write job[WRITES_FILES];
static uint8_t *data[WRITES_FILES];

static void
open_with(const struct write_ops *with, struct fake_whim w)
{
	struct write_args args = { .options = &whim };
	struct write_state *state;

	whim = w;
	ck_assert_int_eq(with->open(&state, &args), 0);
	writes_init(&writes, with, state, WRITES_LOCAL, 1, NULL);
	for (unsigned i = 0; i < WRITES_FILES; i++) {
		data[i] = malloc(BYTES);
		noise_fill(i, 0, data[i], BYTES);
		job[i] = (struct file_write){ .fd = memfd_create("t", 0),
					      .data = data[i],
					      .offset = i * 4096,
					      .bytes = BYTES };
	}
}

static void
close_all(void)
{
	ck_assert_uint_eq(writes.files, 0);
	ck_assert_uint_eq(writes.queued, 0);
	ck_assert_uint_eq(writes.idles, WRITES_LOCAL);
	for (unsigned i = 0; i < WRITES_FILES; i++) {
		close(job[i].fd);
		free(data[i]);
	}
	writes.state->fd = -1;
	writes.ops->close(writes.state);
	writes_finish(&writes);
}

static struct file_write *
next_done(void)
{
	struct file_write *done;

	while (writes_push(&writes), !(done = writes_done(&writes)))
		writes_wait(&writes);
	return done;
}

static void
check(const struct file_write *j)
{
	uint8_t *read = malloc(BYTES);

	ck_assert_int_eq(j->err, 0);
	ck_assert_int_eq(pread(j->fd, read, BYTES, (off_t)j->offset), BYTES);
	ck_assert(!memcmp(read, j->data, BYTES));
	free(read);
}

/* The bytes in front of the data, the data, and zeros. */
static void
check_copied(const struct file_write *j)
{
	uint64_t data_bytes = j->bytes - j->before_bytes;
	uint8_t *read = malloc(j->bytes + j->pad + 1);

	ck_assert_int_eq(j->err, 0);
	ck_assert_int_eq(
	    pread(j->fd, read, j->bytes + j->pad + 1, (off_t)j->offset),
	    (ssize_t)(j->bytes + j->pad));
	ck_assert(!memcmp(read, j->before, j->before_bytes));
	ck_assert(!memcmp(read + j->before_bytes, j->data, data_bytes));
	for (uint32_t i = 0; i < j->pad; i++)
		ck_assert_uint_eq(read[j->bytes + i], 0);
	free(read);
}

static void
is_aligned(const struct write_request *r)
{
	ck_assert_uint_eq((uintptr_t)r->data % 4096, 0);
	ck_assert_uint_eq(r->bytes % 4096, 0);
	ck_assert_uint_eq(r->offset % 4096, 0);
}

static void
copied(const struct write_ops *with, struct fake_whim w, uint32_t before_bytes)
{
	static uint8_t before[4096 + 8];

	noise_fill(7, 0, before, sizeof before);
	if (!w.most)
		w.look = is_aligned;
	open_with(with, w);
	for (unsigned i = 0; i < WRITES_FILES; i++) {
		job[i].before = before;
		job[i].before_bytes = before_bytes;
		job[i].bytes = before_bytes + BYTES - 1000 * (i + 1);
		job[i].pad = (uint32_t)(-job[i].bytes % 4096);
		writes_add(&writes, &job[i]);
	}
	next_done();
	next_done();
	check_copied(&job[0]);
	check_copied(&job[1]);
	close_all();
}

/* Pages at addresses that are pages, whatever stands in front. */
START_TEST(copied_to_whole_pages)
{
	static const uint32_t before[] = { 0, 28, 4092, 4096, 4100 };

	for (unsigned i = 0; i < sizeof before / sizeof *before; i++) {
		copied(&single, (struct fake_whim){ .most = 0 }, before[i]);
		copied(&ops, (struct fake_whim){ .depth = FAKE_QUEUE },
		       before[i]);
		copied(
		    &ops,
		    (struct fake_whim){ .depth = 5, .busy = 3, .most = 123457 },
		    before[i]);
	}
}
END_TEST

static void
both(const struct write_ops *with, struct fake_whim w)
{
	open_with(with, w);
	writes_add(&writes, &job[0]);
	writes_add(&writes, &job[1]);
	ck_assert_ptr_ne(next_done(), next_done());
	ck_assert_ptr_null(writes_done(&writes));
	check(&job[0]);
	check(&job[1]);
	close_all();
}

START_TEST(both_arrive)
{
	both(&single, (struct fake_whim){ .most = 0 });
	both(&single, (struct fake_whim){ .most = 999999 });
	for (unsigned depth = 1; depth <= FAKE_QUEUE; depth++) {
		both(&ops, (struct fake_whim){ .depth = depth });
		both(&ops, (struct fake_whim){
			       .depth = depth, .busy = 3, .most = 1234567 });
	}
}
END_TEST

/* A second is wanted when the first is all on its way, and never a third. */
START_TEST(hungry_in_time)
{
	open_with(&ops, (struct fake_whim){ .depth = FAKE_QUEUE });
	ck_assert(writes_hungry(&writes));
	writes_add(&writes, &job[0]);
	ck_assert(!writes_hungry(&writes));
	writes_push(&writes);
	ck_assert(writes_hungry(&writes));
	writes_add(&writes, &job[1]);
	ck_assert(!writes_hungry(&writes));
	next_done();
	next_done();
	close_all();
	open_with(&single, (struct fake_whim){ .most = 0 });
	ck_assert(!writes_hungry(&writes)); /* nothing to gain */
	close_all();
}
END_TEST

START_TEST(an_error_is_one_jobs_own)
{
	for (unsigned n = 1; n < 5; n++) {
		unsigned failed = 0;

		open_with(&ops, (struct fake_whim){
				    .depth = 4, .fail_at = n, .fail = -EIO });
		writes_add(&writes, &job[0]);
		writes_add(&writes, &job[1]);
		for (unsigned i = 0; i < WRITES_FILES; i++) {
			struct file_write *done = next_done();

			if (done->err)
				failed++;
			else
				check(done);
		}
		ck_assert_uint_eq(failed, 1);
		close_all();
	}
}
END_TEST

/* Between two requests, also of a plugin that queues nothing. */
START_TEST(no_more_of_what_is_away)
{
	static atomic_bool away;
	struct fake_whim w = { .depth = 0 };

	for (; w.depth < 4; w.depth += 3) {
		struct file_write *done[2];

		atomic_store(&away, true);
		open_with(w.depth ? &ops : &single, w);
		job[0].away = &away;
		writes_add(&writes, &job[0]);
		writes_add(&writes, &job[1]);
		done[0] = next_done();
		done[1] = next_done();
		ck_assert_ptr_ne(done[0], done[1]);
		ck_assert_int_eq(job[0].err, -ECANCELED);
		check(&job[1]);
		close_all();
	}
}
END_TEST

SUITE("writes_in_flight", both_arrive, copied_to_whole_pages, hungry_in_time,
      an_error_is_one_jobs_own, no_more_of_what_is_away)
