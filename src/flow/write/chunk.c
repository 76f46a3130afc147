/* SPDX-License-Identifier: MIT */
/*
 * One block is written to one target:
 *
 *   create, reserve     the disk may refuse here, before any byte is written
 *   announce            facts that the chunk alone would not tell after a crash
 *   data                in requests, by writes_in_flight.c
 *   pad and truncate    only for a block that closed early: O_DIRECT writes
 *                       whole pages, so the bytes behind the data are written
 *                       too, and cut off again; where blocks share a file, the
 *                       next one is written over them instead
 *   notes               missing packets and heaps, in the metadata
 *
 * Durability comes seconds later, with the sync of its disk recording.
 */
#include "flow/write/chunk.h"
#include "store/disk/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

/* Bytes of a chunk with a file of its own, rounded up to the alignment of
 * O_DIRECT.  They stay inside the block: its memory is whole pages. */
static uint64_t
padded(const struct chunk *c)
{
	uint64_t align = c->plugin->writes.align;

	return (c->target.bytes + align - 1) / align * align;
}

static int
space_check(const struct disk *disk, uint64_t bytes)
{
	struct disk_space space;
	int err = disk_space(disk, &space);

	if (err)
		return err;
	return space.free < bytes ? -ENOSPC : 0;
}

static void
fly(struct chunk *c)
{
	const struct folder_target *p = &c->target;

	c->file = (struct file_write){ .fd = p->fd,
				       .data = c->b->data,
				       .offset = p->offset,
				       .bytes = p->before_bytes + p->bytes,
				       .before = p->before,
				       .before_bytes = p->before_bytes,
				       .pad = p->pad,
				       .away = c->away };
	if (p->own)
		c->file.bytes = padded(c);
	writes_add(&c->plugin->writes, &c->file);
}

int
chunk_begin(struct chunk *c, struct disk_writes *plugins,
	    const struct disk *disk)
{
	uint64_t bytes = block_bytes(c->b);
	int err;

	c->plugin = &plugins->main;
	c->nowhere = plugins->main.is->ops->head.flags & WRITE_NOTHING;
	if (c->nowhere) {
		c->target = (struct folder_target){ .fd = -1, .bytes = bytes };
		fly(c);
		return 0;
	}
	err = space_check(disk, bytes);
	if (!err && c->b->parity)
		err = folder_parity_make(c->rec->folder, c->b->parity->group,
					 bytes, disk_writes_flags(plugins),
					 &c->target);
	else if (!err)
		err =
		    folder_target_make(c->rec->folder, c->b->number, bytes,
				       disk_writes_flags(plugins), &c->target);
	if (err)
		return err;
	disk_recording_announce(c->rec, c->b);
	fly(c);
	return 0;
}

static int
data_end(struct chunk *c)
{
	const struct folder_target *p = &c->target;
	int err = c->file.err;

	if (!err && p->own && c->file.bytes != p->bytes &&
	    file_cut(p->fd, (off_t)(p->offset + p->bytes)) < 0)
		err = -errno;
	return err;
}

int
chunk_end(struct chunk *c)
{
	const struct write_ops *ops = c->plugin->is->ops;
	int err, finished = 0;

	if (c->nowhere)
		return c->file.err;
	err = data_end(c);
	/* Called after an error too: the next file may get the same descriptor
	 * number. */
	if (ops->finish)
		finished = ops->finish(c->plugin->state, c->target.fd);
	err = err ? err : finished;
	if (!err && !c->b->parity)
		folder_target_wrote(c->rec->folder, &c->target, c->b->data);
	if (!err)
		disk_recording_note(c->rec, c->b);
	return err;
}

void
chunk_keep(struct chunk *c)
{
	if (!c->nowhere)
		disk_recording_add(c->rec, c->b,
				   c->target.own ? c->target.fd : -1);
}

int
chunk_remove(struct chunk *c)
{
	return c->nowhere ? 0 : folder_target_undo(c->rec->folder, &c->target);
}

struct chunk *
chunk_of(struct file_write *file)
{
	return (struct chunk *)((char *)file - offsetof(struct chunk, file));
}
