/* SPDX-License-Identifier: MIT */
/*
 * The checksums of a block are appended to the .sums file as soon as the block
 * is written, because its memory is freed then; they become durable with its
 * sync round.  The file is made with the first checksums: a recording without
 * any has none.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/write/folder_priv.h"
#include "store/record/sums.h"

/* Opens the .sums file, and cuts off what is behind its last good record. */
static int
open_sums(struct folder *f)
{
	struct sums_list list;
	char file[LAYOUT_FILE];
	int err;

	f->sums.fd = disk_open_at(f->dir, layout_sums(file, f->map.name),
				  O_CREAT | O_RDWR | O_APPEND, DISK_NO_LINKS);
	if (f->sums.fd < 0)
		return f->sums.fd;
	err = sums_read(f->sums.fd, &list);
	if (!err) {
		f->sums.bytes = (off_t)list.end;
		if (ftruncate(f->sums.fd, f->sums.bytes) < 0)
			err = -errno;
		sums_clear(&list);
	}
	if (err) {
		close(f->sums.fd);
		f->sums.fd = -1;
	}
	return err;
}

int
folder_sum(struct folder *f, const struct block *b)
{
	size_t bytes = sums_bytes(block_quanta(b));
	uint8_t *raw;
	int err = 0;

	if (!b->quantum)
		return 0;
	raw = malloc(bytes);
	if (!raw)
		return -ENOMEM;
	if (f->sums.fd < 0)
		err = open_sums(f);
	if (!err) {
		sums_pack(raw, b);
		err = folder_append(&f->sums, raw, bytes);
	}
	f->summed |= !err;
	free(raw);
	return err;
}
