/* SPDX-License-Identifier: MIT */
/*
 * Checks the file that all blocks of a disk share, in layouts that have one.
 * The headers of blocks must say what the index says, because other programs
 * read the file without the index; and the file must end where the index ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk/file.h"
#include "store/repair/verify_priv.h"

/* State of checking one disk's file. */
struct data_look {
	struct verify_part *p;
	const struct recording *rec;
	int fd;
	uint64_t bytes; /* length of the file */
};

/* Compares the header of a block, if it has one, with its record.  A block that
 * is cut short is reported by its length instead. */
static void
hold(const struct data_look *l, const struct recording_block *b, uint64_t start,
     uint64_t end)
{
	uint64_t left = l->bytes > start ? l->bytes - start : 0;
	uint64_t number = 0, bytes = 0;
	uint8_t raw[SG_BLOCK] = { 0 };
	ssize_t got = read_whole(l->fd, raw, sizeof raw, start);
	int err;

	err = got < 0
		  ? (int)got
		  : layout_map_back(&l->rec->map, raw, left, &number, &bytes);
	if (err == -ENOTSUP || err == -ENODATA)
		return;
	if (err)
		verify_say(l->p, VERIFY_CONTENTS,
			   "block %" PRIu64 " on %s has no header that can "
			   "be read: %s",
			   b->record.number, verify_path(l->p),
			   err == -EBADMSG ? "it makes no sense"
					   : strerror(-err));
	else if (number != b->record.number ||
		 (bytes != end - b->at && start + SG_BLOCK + bytes != l->bytes))
		verify_say(l->p, VERIFY_CONTENTS,
			   "block %" PRIu64 " on %s says in its header that "
			   "it is block %" PRIu64 " of %" PRIu64 " bytes",
			   b->record.number, verify_path(l->p), number, bytes);
}

/* Goes through the index; returns the offset behind its last block. */
static uint64_t
walk(const struct data_look *l)
{
	const struct recording *rec = l->rec;
	const struct recording_part *part = &rec->part[l->p->disk];
	uint64_t start = layout_map_begin(&rec->map, NULL), end;

	for (size_t i = 0; i < part->records; i++) {
		struct recording_block b = { .record = part->record[i],
					     .disk = (int)l->p->disk };

		if (b.record.kind != INDEX_BLOCK)
			continue;
		end = recording_block_at(rec, &b, start);
		hold(l, &b, start, end);
		start = end;
	}
	return start;
}

void
verify_data(struct verify_part *p)
{
	struct data_look l = { .p = p, .rec = p->check->rec };
	const struct recording_block any = { .disk = (int)p->disk };
	struct stat st;
	uint64_t end;

	if (!layout_map_shared(&l.rec->map))
		return;
	l.fd = recording_chunk_open(l.rec, &any);
	if (l.fd < 0)
		return; /* reported for each of its blocks, if it has any */
	if (fstat(l.fd, &st) == 0)
		l.bytes = (uint64_t)st.st_size;
	end = walk(&l);
	if (l.bytes > end && l.rec->facts.state != RECORDING_LIVE)
		verify_say(p, VERIFY_UNINDEXED,
			   "%" PRIu64 " bytes on %s are behind the last block "
			   "that the index names; spate recover %s looks at "
			   "them",
			   l.bytes - end, verify_path(p), l.rec->name);
	close(l.fd);
}
