/* SPDX-License-Identifier: MIT */
/*
 * Finds the data of a block, by the recording's layout map; in another
 * program's recording by what foreign_open() found (foreign.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/recording/foreign.h"
#include "store/recording/recording_priv.h"

uint64_t
recording_block_at(const struct recording *rec, struct recording_block *b,
		   uint64_t start)
{
	struct layout_spot spot;

	if (!layout_map_shared(&rec->map))
		return 0;
	layout_map_spot(&rec->map, start, b->record.number, b->record.bytes,
			&spot);
	b->at = spot.offset;
	return spot.end;
}

int
recording_where(const struct recording *rec, const struct recording_block *b,
		struct recording_where *w)
{
	struct layout_spot spot;

	if (b->disk < 0 || rec->part[b->disk].dir < 0)
		return -ENOENT;
	w->links = rec->foreign ? DISK_LINKS : DISK_NO_LINKS;
	if (rec->foreign)
		return foreign_where(rec, b->record.number, w->file,
				     &w->offset);
	layout_map_spot(&rec->map, 0, b->record.number, b->record.bytes, &spot);
	memcpy(w->file, spot.file, sizeof spot.file);
	w->offset = b->at;
	return 0;
}

int
recording_chunk_open(const struct recording *rec,
		     const struct recording_block *b)
{
	struct layout_spot spot;

	if (b->disk < 0 || rec->part[b->disk].dir < 0)
		return -ENOENT;
	layout_map_spot(&rec->map, 0, b->record.number, b->record.bytes, &spot);
	return disk_open_at(rec->part[b->disk].dir, spot.file, O_RDONLY,
			    DISK_NO_LINKS);
}

int64_t
recording_chunk_bytes(const struct recording *rec,
		      const struct recording_block *b)
{
	struct layout_spot spot;
	uint64_t bytes;
	struct stat st;

	if (b->disk < 0 || rec->part[b->disk].dir < 0)
		return -ENOENT;
	if (rec->foreign)
		return foreign_chunk_bytes(rec, b->record.number);
	layout_map_spot(&rec->map, 0, b->record.number, b->record.bytes, &spot);
	if (fstatat(rec->part[b->disk].dir, spot.file, &st,
		    AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!layout_map_shared(&rec->map) && !rec->stored)
		return st.st_size;
	bytes = (uint64_t)st.st_size > b->at ? (uint64_t)st.st_size - b->at : 0;
	if (rec->stored) /* the bytes behind may be packets, too */
		bytes = bytes / rec->stored * rec->shape.payload;
	return (int64_t)(bytes < b->record.bytes ? bytes : b->record.bytes);
}
