/* SPDX-License-Identifier: MIT */
/* The writer stores the checksums of a block before its record.  If a crash
 * came in between, a chunk without a record can be checked against them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/ease.h"
#include "store/disk/file.h"
#include "store/repair/recover_priv.h"

/* Cuts what is behind the last record, as in an index. */
static int
cut_sums(struct rescue *r, unsigned disk, int fd)
{
	struct sums_list *sums = &r->sums[disk];

	if (!sums->torn)
		return 0;
	if (!r->dry &&
	    (ftruncate(fd, (off_t)sums->end) < 0 || fdatasync(fd) < 0))
		return -errno;
	rescue_say(r,
		   "cut %" PRIu64 " bytes that are no record from the "
		   "checksums on %s",
		   sums->torn, r->disks->disk[disk].path);
	r->report->torn += sums->torn;
	return 0;
}

int
rescue_sums(struct rescue *r)
{
	char file[LAYOUT_FILE];
	int err = 0;

	r->sums = calloc(r->disks->n + 1, sizeof *r->sums);
	if (!r->sums)
		return -ENOMEM;
	for (unsigned i = 0; i < r->disks->n && !err; i++) {
		int fd;

		if (r->index[i] < 0)
			continue;
		fd = rescue_open(r, i, layout_sums(file, r->rec->name),
				 r->dry ? O_RDONLY : O_RDWR);
		if (fd < 0 && disk_hint(fd))
			err = fd;
		if (fd < 0)
			continue;
		if (!sums_read(fd, &r->sums[i]))
			err = cut_sums(r, i, fd);
		close(fd);
	}
	return err;
}

void
rescue_sums_clear(struct rescue *r)
{
	for (unsigned i = 0; r->sums && i < r->disks->n; i++)
		sums_clear(&r->sums[i]);
	free(r->sums);
}

bool
rescue_has_sum(const struct rescue *r, unsigned disk, uint64_t number,
	       const struct rescue_sum *sum)
{
	enum { PIECE = 1 << 20 };
	uint8_t *data = malloc(PIECE);
	uint64_t left = sum->bytes;
	uint32_t crc = 0;
	int fd = rescue_chunk_open(r, disk, number, O_RDONLY);

	if (fd >= 0)
		ease_file(fd);
	while (data && fd >= 0 && left) {
		size_t part = left < PIECE ? (size_t)left : PIECE;
		ssize_t got =
		    read_whole(fd, data, part, sum->at + sum->bytes - left);

		if (got != (ssize_t)part)
			break;
		crc = crc32c(crc, data, part);
		left -= part;
	}
	if (fd >= 0)
		close(fd);
	free(data);
	return data && fd >= 0 && !left && crc == sum->crc;
}

bool
rescue_noted_sum(const struct rescue *r, unsigned disk, uint64_t number,
		 struct rescue_sum *sum)
{
	const struct sums *s = sums_find(&r->sums[disk], number);

	if (s)
		*sum = (struct rescue_sum){ .bytes = s->bytes, .crc = s->crc };
	return s;
}

/* Computes the checksums of a chunk as it is now. */
static int
sums_take(const struct rescue *r, const struct orphan *o, struct block *b)
{
	int fd = rescue_chunk_open(r, o->disk, o->number, O_RDONLY);
	uint8_t *data = malloc(b->quantum);
	uint64_t left = block_bytes(b);
	int err = fd < 0 ? fd : data ? 0 : -ENOMEM;

	if (fd >= 0)
		ease_file(fd);
	for (uint32_t i = 0; !err && left; i++) {
		size_t part = left < b->quantum ? left : b->quantum;
		ssize_t got = read_whole(fd, data, part,
					 o->at + (uint64_t)i * b->quantum);

		if (got != (ssize_t)part) {
			err = got < 0 ? (int)got : -EIO;
			break;
		}
		b->sum[i].crc = crc32c(0, data, part);
		b->crc = crc32c_join(crc32c_shift(part), b->crc, b->sum[i].crc);
		left -= part;
	}
	if (fd >= 0)
		close(fd);
	free(data);
	return err;
}

/* Appends checksums to a disk's .sums file, durably. */
static int
sums_put(struct rescue *r, unsigned disk, const struct block *b)
{
	size_t bytes = sums_bytes(block_quanta(b));
	uint8_t *raw = malloc(bytes);
	char file[LAYOUT_FILE];
	int fd, err = 0;

	if (!raw)
		return -ENOMEM;
	sums_pack(raw, b);
	fd = rescue_open(r, disk, layout_sums(file, r->rec->name),
			 O_WRONLY | O_APPEND);
	if (fd < 0)
		err = fd;
	else if (write(fd, raw, bytes) != (ssize_t)bytes || fdatasync(fd) < 0)
		err = -EIO;
	if (fd >= 0)
		close(fd);
	free(raw);
	return err;
}

/* Takes new checksums of a chunk that lost data in a power cut.  The lost part
 * is on record as missing; the new checksums replace the old ones. */
static int
resum(struct rescue *r, const struct orphan *o, struct index_record *record)
{
	struct block b = { .number = o->number,
			   .slot_bytes = 1,
			   .used = (uint32_t)record->bytes,
			   .quantum = BLOCK_QUANTUM };
	int err = 0;

	if (record->bytes > UINT32_MAX)
		return -EFBIG;
	b.sum = calloc(block_quanta(&b) + 1, sizeof *b.sum);
	if (!b.sum)
		return -ENOMEM;
	err = sums_take(r, o, &b);
	if (!err)
		err = sums_put(r, o->disk, &b);
	if (!err) {
		record->crc = b.crc;
		record->flags |= INDEX_SUMMED;
	}
	free(b.sum);
	return err;
}

void
rescue_add_sum(struct rescue *r, const struct orphan *o,
	       struct index_record *record)
{
	struct rescue_sum sum;

	if (!rescue_noted_sum(r, o->disk, o->number, &sum))
		return;
	sum.at = o->at;
	if (sum.bytes == record->bytes &&
	    rescue_has_sum(r, o->disk, o->number, &sum)) {
		record->crc = sum.crc;
		record->flags |= INDEX_SUMMED;
		return;
	}
	rescue_say(r,
		   "chunk %" PRIu64 " on %s is not what was received: its "
		   "checksum differs",
		   o->number, r->disks->disk[o->disk].path);
	/* A chunk that lacks nothing is damaged: verify says where. */
	if (!r->dry && (record->missing || sum.bytes != record->bytes))
		resum(r, o, record);
}
