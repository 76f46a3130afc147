/* SPDX-License-Identifier: MIT */
/*
 * What write.h promises, asked of every write plugin that was built: what is
 * handed to it is in the file, wherever in the file, in whatever order, and
 * what it cannot write is -errno.  null stores nothing, and says so.
 */
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include "contract/write_bench.h"

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
	struct write_request r = request_of(-1, 0, 1);
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

enum { REQUEST = 1 << 20, REQUESTS = 48 };

/* Bytes of the file that are in the page cache. */
static size_t
cached(int fd)
{
	size_t pages = (size_t)REQUEST * REQUESTS / PAGE, n = 0;
	unsigned char in[(size_t)REQUEST * REQUESTS / PAGE];
	void *map = mmap(NULL, pages * PAGE, PROT_READ, MAP_SHARED, fd, 0);

	ck_assert_ptr_ne(map, MAP_FAILED);
	ck_assert_int_eq(mincore(map, pages * PAGE, in), 0);
	munmap(map, pages * PAGE);
	for (size_t i = 0; i < pages; i++)
		n += in[i] & 1;
	return n * PAGE;
}

/* Where files go through the page cache, at most two requests are dirty at a
 * time, and what is written does not stay; some is still in the lists of
 * another CPU.  On a tmpfs the cache is all there is. */
static void
leaves_little_in_the_cache(const struct write_ops *ops)
{
	uint8_t *large = calloc(1, REQUEST);
	struct statfs fs;
	struct bench b;
	int fd;

	ck_assert_int_eq(statfs(scratch.path, &fs), 0);
	bench_open(&b, ops);
	fd = open(scratch_path(&scratch, "large"), O_CREAT | O_RDWR, 0600);
	ck_assert_int_eq(ftruncate(fd, (off_t)REQUEST * REQUESTS), 0);
	for (uint64_t i = 0; !open_flags(&b) && stores(&b) && i < REQUESTS;
	     i++) {
		struct write_request r = { .fd = fd,
					   .data = large,
					   .bytes = REQUEST,
					   .offset = i * REQUEST };

		write_one(&b, &r);
		ck_assert_int_eq(r.result, REQUEST);
		if (fs.f_type != TMPFS_MAGIC && i % 8 == 7)
			ck_assert_uint_le(cached(fd), 4 * (size_t)REQUEST);
	}
	file_close(&b, fd);
	bench_close(&b);
	unlink(scratch_path(&scratch, "large"));
	free(large);
}

CONTRACT(is_complete)
CONTRACT(writes_what_it_is_given)
CONTRACT(says_what_went_wrong)
CONTRACT(lets_go_of_a_file)
CONTRACT(leaves_little_in_the_cache)

SUITE("write contract", plugin_is_complete, plugin_writes_what_it_is_given,
      plugin_says_what_went_wrong, plugin_lets_go_of_a_file,
      plugin_leaves_little_in_the_cache)
