/* SPDX-License-Identifier: MIT */
/*
 * The file is read whole: it has 4 bytes for each MiB of data, so 4 MB for 1 TB
 * on this disk.  All records are multiples of 4 bytes, so after damage the next
 * record is looked for at every multiple of 4.  A record is recognised by its
 * magic, and accepted if its checks are right.
 */
#include "store/record/sums.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "store/disk/disk.h"
#include "store/disk/file.h"
#include "store/disk/layout.h"

enum {
	AT_MAGIC = 0,
	AT_COUNT = 4,
	AT_NUMBER = 8,
	AT_BYTES = 16,
	AT_QUANTUM = 24,
	AT_CRC = 28,
	STEP = 4,
};

void
sums_pack(uint8_t *raw, const struct block *b)
{
	uint32_t count = block_quanta(b);
	size_t check = sums_bytes(count) - SUMS_CHECK;

	write_le32(raw + AT_MAGIC, SUMS_MAGIC);
	write_le32(raw + AT_COUNT, count);
	write_le64(raw + AT_NUMBER, b->number);
	write_le64(raw + AT_BYTES, block_bytes(b));
	write_le32(raw + AT_QUANTUM, b->quantum);
	write_le32(raw + AT_CRC, b->crc);
	for (uint32_t i = 0; i < count; i++)
		write_le32(raw + SUMS_HEAD + (size_t)i * sizeof(uint32_t),
			   b->sum[i].crc);
	write_le32(raw + check, crc32c(0, raw, check));
}

/* True if the number of quanta follows from the number of bytes. */
static int
is_sane(const struct sums *s)
{
	if (s->quantum < SUMS_QUANTUM || s->count > SUMS_MOST)
		return 0;
	return s->bytes / s->quantum + (s->bytes % s->quantum != 0) == s->count;
}

static uint32_t
joined(const struct sums *s)
{
	uint32_t shift = crc32c_shift(s->quantum), crc = 0;
	uint64_t left = s->bytes;

	for (uint32_t i = 0; i < s->count; i++, left -= s->quantum) {
		if (left < s->quantum)
			shift = crc32c_shift(left);
		crc = crc32c_join(shift, crc, sums_at(s, i));
	}
	return crc;
}

size_t
sums_unpack(struct sums *s, const uint8_t *raw, size_t left)
{
	size_t bytes;

	if (left < SUMS_HEAD + SUMS_CHECK ||
	    read_le32(raw + AT_MAGIC) != SUMS_MAGIC)
		return 0;
	*s = (struct sums){ .number = read_le64(raw + AT_NUMBER),
			    .bytes = read_le64(raw + AT_BYTES),
			    .quantum = read_le32(raw + AT_QUANTUM),
			    .crc = read_le32(raw + AT_CRC),
			    .count = read_le32(raw + AT_COUNT),
			    .raw = raw + SUMS_HEAD };
	if (!is_sane(s))
		return 0;
	bytes = sums_bytes(s->count);
	if (bytes > left || read_le32(raw + bytes - SUMS_CHECK) !=
				crc32c(0, raw, bytes - SUMS_CHECK))
		return 0;
	return joined(s) == s->crc ? bytes : 0;
}

/* ---- a whole file ---------------------------------------------------- */

/* Orders by number; of two records with one number the one later in the file
 * comes last. */
static int
by_number(const void *a, const void *b)
{
	const struct sums *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->raw < y->raw ? -1 : 1;
}

static void
sort(struct sums_list *l)
{
	size_t kept = 0;

	qsort(l->sums, l->n, sizeof *l->sums, by_number);
	for (size_t i = 0; i < l->n; i++) {
		if (kept && l->sums[kept - 1].number == l->sums[i].number)
			kept--;
		l->sums[kept++] = l->sums[i];
	}
	l->n = kept;
}

static void
find_all(struct sums_list *l, size_t bytes)
{
	size_t at = 0, good = 0;

	while (at < bytes) {
		size_t is =
		    sums_unpack(&l->sums[l->n], l->raw + at, bytes - at);

		good += is;
		at += is ? is : STEP;
		if (is) {
			l->n++;
			l->end = at;
		}
	}
	l->torn = bytes - l->end;
	l->damaged = l->end - good;
	sort(l);
}

int
sums_read(int fd, struct sums_list *l)
{
	struct stat st;
	ssize_t got = -ENOMEM;

	if (file_stat(fd, &st) < 0)
		return -errno;
	*l = (struct sums_list){ .bytes = st.st_size };
	if (st.st_size > SUMS_FILE)
		return -EFBIG;
	l->raw = malloc((size_t)st.st_size + 1);
	l->sums = malloc(((size_t)st.st_size / (SUMS_HEAD + SUMS_CHECK) + 1) *
			 sizeof *l->sums);
	if (l->raw && l->sums)
		got = read_whole(fd, l->raw, (size_t)st.st_size, 0);
	if (got < 0) {
		sums_clear(l);
		return (int)got;
	}
	find_all(l, (size_t)got);
	return 0;
}

void
sums_clear(struct sums_list *l)
{
	free(l->sums);
	free(l->raw);
	*l = (struct sums_list){ 0 };
}

void
sums_refresh(struct sums_list *l, int dir, const char *name)
{
	char file[LAYOUT_FILE];
	struct sums_list list;
	struct stat st;
	int fd;

	fd =
	    disk_open_at(dir, layout_sums(file, name), O_RDONLY, DISK_NO_LINKS);
	if (fd < 0)
		return;
	if (!file_stat(fd, &st) && st.st_size != l->bytes &&
	    !sums_read(fd, &list)) {
		sums_clear(l);
		*l = list;
	}
	file_close(fd);
}

const struct sums *
sums_find(const struct sums_list *l, uint64_t number)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->sums[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == l->n || l->sums[low].number != number)
		return NULL;
	return &l->sums[low];
}
