/* SPDX-License-Identifier: MIT */
/*
 * Records are packed byte by byte and not with a packed struct, so that the
 * file is the same on every machine and a record in memory may grow.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "contract/bytes.h"
#include "store/disk/disk.h"
#include "store/disk/layout.h"
#include "store/record/index.h"
#include "store/disk/file.h"

enum {
	AT_NUMBER = 0,
	AT_FIRST = 8,
	AT_FIRST_NS = 16,
	AT_LAST_NS = 24,
	AT_BYTES = 32,
	AT_RUN = 40,
	AT_PRESENT = 44,
	AT_MISSING = 48,
	AT_SUB = 52,
	AT_KIND = 54,
	AT_FLAGS = 55,
	AT_CRC = 56,
	AT_CHECK = 60,
};

void
index_pack(uint8_t raw[INDEX_BYTES], const struct index_record *r)
{
	write_le64(raw + AT_NUMBER, r->number);
	write_le64(raw + AT_FIRST, r->first);
	write_le64(raw + AT_FIRST_NS, (uint64_t)r->first_ns);
	write_le64(raw + AT_LAST_NS, (uint64_t)r->last_ns);
	write_le64(raw + AT_BYTES, r->bytes);
	write_le32(raw + AT_RUN, r->run);
	write_le32(raw + AT_PRESENT, r->present);
	write_le32(raw + AT_MISSING, r->missing);
	write_le16(raw + AT_SUB, r->sub);
	raw[AT_KIND] = r->kind;
	raw[AT_FLAGS] = r->flags;
	write_le32(raw + AT_CRC, r->crc);
	write_le32(raw + AT_CHECK, crc32c(0, raw, AT_CHECK));
}

/* Limits a time to 1970 .. 2116, so that the difference of any two times fits
 * in 64 bits, however absurd they are. */
static int64_t
read_time(const uint8_t *raw)
{
	int64_t ns = (int64_t)read_le64(raw);

	if (ns < 0)
		return 0;
	return ns < INT64_MAX / 2 ? ns : INT64_MAX / 2;
}

int
index_unpack(struct index_record *r, const uint8_t raw[INDEX_BYTES])
{
	uint8_t kind = raw[AT_KIND];

	if (read_le32(raw + AT_CHECK) != crc32c(0, raw, AT_CHECK) ||
	    kind < INDEX_BLOCK || kind > INDEX_END)
		return -EBADMSG;
	*r = (struct index_record){
		.number = read_le64(raw + AT_NUMBER),
		.first = read_le64(raw + AT_FIRST),
		.first_ns = read_time(raw + AT_FIRST_NS),
		.last_ns = read_time(raw + AT_LAST_NS),
		.bytes = read_le64(raw + AT_BYTES),
		.run = read_le32(raw + AT_RUN),
		.present = read_le32(raw + AT_PRESENT),
		.missing = read_le32(raw + AT_MISSING),
		.sub = read_le16(raw + AT_SUB),
		.kind = kind,
		.flags = raw[AT_FLAGS],
		.crc = read_le32(raw + AT_CRC),
	};
	return 0;
}

int
index_read(int fd, struct index_record **records, size_t *n, uint64_t *torn)
{
	enum { BATCH = 256 };
	uint8_t raw[BATCH * INDEX_BYTES];
	struct index_record *list = NULL, *grown;
	struct stat st;
	size_t have = 0, room = 0, batch;
	ssize_t got;

	if (file_stat(fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size > INDEX_MOST)
		return -EFBIG;
	do {
		if (have + BATCH > room) {
			room = 2 * room + BATCH;
			grown = realloc(list, room * sizeof *list);
			got = -ENOMEM;
			if (!grown)
				goto fail;
			list = grown;
		}
		got = read_whole(fd, raw, sizeof raw, have * INDEX_BYTES);
		if (got < 0)
			goto fail;
		for (batch = 0; batch < (size_t)got / INDEX_BYTES; batch++) {
			if (index_unpack(&list[have],
					 raw + batch * INDEX_BYTES))
				break;
			have++;
		}
	} while (batch == BATCH);
	*records = list;
	*n = have;
	*torn = (uint64_t)st.st_size - have * INDEX_BYTES;
	return 0;
fail:
	free(list);
	return (int)got;
}

int
index_lock(int fd)
{
	const struct timespec moment = { .tv_nsec = 5000000 };
	unsigned tries = 100;

	while (file_lock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return -errno;
		if (!--tries)
			return -EBUSY;
		nanosleep(&moment, NULL);
	}
	return 0;
}

int
index_append(struct append_file *index, const struct index_record *records,
	     size_t n)
{
	enum { BATCH = 64 };
	uint8_t raw[BATCH * INDEX_BYTES];
	off_t was = index->bytes;
	int err = 0;

	while (n && !err) {
		size_t batch = n < BATCH ? n : BATCH;

		for (size_t i = 0; i < batch; i++)
			index_pack(raw + i * INDEX_BYTES, &records[i]);
		err = append_bytes(index, raw, batch * INDEX_BYTES);
		records += batch;
		n -= batch;
	}
	if (!err && file_sync_data(index->fd) < 0)
		err = -errno;
	if (err && file_cut(index->fd, was) == 0)
		index->bytes = was;
	return err;
}

int
index_replace(struct append_file *index, int dir, const char *name,
	      const struct index_record *records, size_t n)
{
	char file[LAYOUT_FILE], made[LAYOUT_FILE];
	struct append_file is = { 0 };
	int err;

	layout_index_new(made, name);
	is.fd = disk_open_at(dir, made, O_CREAT | O_TRUNC | O_RDWR | O_APPEND,
			     DISK_NO_LINKS);
	if (is.fd < 0)
		return is.fd;
	err = index_append(&is, records, n);
	if (!err)
		err = index_lock(is.fd);
	if (!err &&
	    file_rename_at(dir, made, dir, layout_index(file, name)) < 0)
		err = -errno;
	if (err)
		file_remove_at(dir, made, 0);
	else if (file_sync(dir) < 0)
		err = -errno;
	if (err)
		file_close(is.fd);
	else
		*index = is;
	return err;
}
