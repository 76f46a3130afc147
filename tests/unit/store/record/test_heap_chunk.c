/* SPDX-License-Identifier: MIT */
/* A chunk of heaps is walked from header to header, and no further than they
 * make sense. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "store/record/heap_chunk.h"
#include "lib/scratch.h"
#include "lib/suite.h"

enum { HEAD = 24 };
#define MAGIC UINT32_C(0x48454150)

/* magic, length of this header; heap, length; offset, bytes: all of 4 bytes,
 * and padding as long as the header says. */
static int
fake_piece(const void *head, uint32_t head_bytes, uint32_t bytes,
	   struct format_piece *p)
{
	const uint8_t *at = head;

	ck_assert_uint_eq(bytes, 0); /* nobody knows a datagram here */
	if (head_bytes < HEAD)
		return HEAD;
	if (read_le32(at) != MAGIC)
		return -EBADMSG;
	if (read_le32(at + 4) > head_bytes)
		return (int)read_le32(at + 4);
	*p = (struct format_piece){
		.header = read_le32(at + 4),
		.heap = read_le32(at + 8),
		.length = read_le32(at + 12),
		.offset = read_le32(at + 16),
		.bytes = read_le32(at + 20),
	};
	return 0;
}

static const struct format_ops fake = { .piece = fake_piece };

static uint8_t chunk[1 << 20];
static size_t size;
static struct heap_chunk row;

static void
put(uint32_t heap, uint32_t length, uint32_t offset, uint32_t bytes)
{
	uint32_t header = heap == 99 ? 5000 : HEAD;
	uint8_t *at = chunk + size;

	memset(at, 0, header);
	write_le32(at, MAGIC);
	write_le32(at + 4, header);
	write_le32(at + 8, heap);
	write_le32(at + 12, length);
	write_le32(at + 16, offset);
	write_le32(at + 20, bytes);
	memset(at + header, 0x48, bytes);
	size += header + bytes;
}

static void
look(void)
{
	struct scratch scratch;
	const char *path;
	int fd;

	scratch_make(&scratch);
	path = scratch_path(&scratch, "chunk");
	fd = open(path, O_RDWR | O_CREAT, 0644);
	ck_assert_int_eq(write(fd, chunk, size), (ssize_t)size);
	ck_assert_int_eq(heap_chunk_read(&fake, fd, size, &row), 0);
	close(fd);
	unlink(path);
	scratch_remove(&scratch);
	size = 0;
}

START_TEST(whole)
{
	size_t all;

	put(7, 1000, 0, 1000);
	put(9, 300, 0, 300);
	put(8, 0, 0, 50); /* its sender tells no length */
	put(99, 70000, 0, 70000);
	all = size;
	look();
	ck_assert_uint_eq(row.packets, 4);
	ck_assert_uint_eq(row.heaps, 4);
	ck_assert_uint_eq(row.incomplete, 0);
	ck_assert_uint_eq(row.contradicted, 0);
	ck_assert_uint_eq(row.first, 7);
	ck_assert_uint_eq(row.bytes, all);
	look();
	ck_assert_uint_eq(row.heaps + row.bytes, 0);
}
END_TEST

START_TEST(incomplete)
{
	put(1, 1000, 0, 400);
	put(1, 1000, 600, 100);
	put(1, 1000, 900, 100);
	put(2, 1000, 500, 500);
	put(2, 1000, 0, 1000); /* of another sender */
	put(2, 1000, 0, 1000);
	put(3, 0, 0, 50);
	put(3, 0, 70, 50);
	look();
	ck_assert_uint_eq(row.packets, 8);
	ck_assert_uint_eq(row.heaps, 5);
	ck_assert_uint_eq(row.incomplete, 3);
	ck_assert_uint_eq(row.contradicted, 0);
}
END_TEST

START_TEST(contradicted)
{
	put(1, 1000, 0, 400);
	put(1, 1001, 600, 100);
	put(2, 1000, 0, 400);
	put(2, 1000, 399, 100);
	look();
	ck_assert_uint_eq(row.heaps, 2);
	ck_assert_uint_eq(row.contradicted, 2);
}
END_TEST

START_TEST(torn)
{
	size_t good;

	for (unsigned lack = 1; lack < 250 + HEAD; lack += 23) {
		put(1, 1000, 0, 1000);
		good = size;
		put(2, 250, 0, 250);
		size -= lack;
		look();
		ck_assert_uint_eq(row.heaps, 1);
		ck_assert_uint_eq(row.bytes, good);
	}
	put(1, 10, 0, 10);
	good = size;
	memset(chunk + size, 0, 4096); /* never written */
	size += 4096;
	look();
	ck_assert_uint_eq(row.bytes, good);
	put(99, 10, 0, 10);
	size -= 3000; /* within a long header */
	look();
	ck_assert_uint_eq(row.bytes + row.heaps, 0);
}
END_TEST

SUITE("heap_chunk", whole, incomplete, contradicted, torn)
