/* SPDX-License-Identifier: MIT */
/*
 * Reads what a crash left of a recording from foreign bytes.  The first byte of
 * an input chooses the layout; half of the rest is the metadata, the other half
 * the file that blocks share.  What is believed must lie in that file.
 */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "store/finish/leftovers.c"

static void
require(int truth)
{
	if (!truth)
		abort();
}

static void
put(int dir, const char *name, const uint8_t *data, size_t size)
{
	int fd = openat(dir, name, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

static char top[] = "/tmp/fuzz-leftovers.XXXXXX";
static int disk = -1, dir = -1;

static void
clean(void)
{
	unlinkat(dir, "rec.meta.jsonl", 0);
	unlinkat(dir, "rec.vdif", 0);
	unlinkat(dir, "rec.00000007", 0);
	unlinkat(disk, "rec", 0);
	unlinkat(disk, "rec.spate", AT_REMOVEDIR);
	rmdir(top);
}

static void
check(const struct leftovers *l, uint64_t size)
{
	struct index_record *record = NULL;
	size_t n = 0;
	uint64_t stop;

	for (size_t i = 0; i < l->n; i++) {
		const struct leftover *b = &l->block[i];

		require(!b->whole || b->written);
		require(!l->shared || b->start >= l->end);
		require(!l->shared || !b->bytes || b->at + b->bytes <= size);
		require(!l->shared || !b->whole ||
			b->at + b->record.bytes <= size);
		require(l->shared || !i ||
			b->record.number > b[-1].record.number);
		require(b->record.number < l->next);
	}
	require(!leftovers_adopt(l, LAYOUT_CHUNKS, &record, &n, &stop));
	require(n <= 2 * l->n && stop <= l->next);
	free(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const layout[] = { "vbs", "file", "mark6" };
	static const struct index_record known = { .number = 3,
						   .bytes = 64,
						   .kind = INDEX_BLOCK };
	struct layout_plan plan;
	struct leftovers l;
	json_t *head;
	size_t half;

	if (!size)
		return 0;
	if (disk < 0) {
		require(mkdtemp(top) != NULL);
		disk = open(top, O_RDONLY | O_DIRECTORY);
		require(!mkdirat(disk, "rec.spate", 0700));
		dir = openat(disk, "rec.spate", O_RDONLY | O_DIRECTORY);
		require(dir >= 0 && !atexit(clean));
	}
	head = json_pack("{s:i, s:s, s:s, s:s, s:{s:i, s:i, s:i}}", "spate", 1,
			 "layout", layout[data[0] % 3], "format", "vdif",
			 "extension", "vdif", "geometry", "payload", 64,
			 "parts", 1, "block_bytes", 64);
	require(head && !layout_plan_make(&plan, "rec", head));
	half = (size - 1) / 2;
	put(dir, "rec.meta.jsonl", data + 1, half);
	put(dir, "rec.vdif", data + 1 + half, size - 1 - half);
	put(disk, "rec", data + 1 + half, size - 1 - half);
	put(dir, "rec.00000007", data + 1 + half, size - 1 - half);
	require(!leftovers_read(&l, dir, &plan, &known, 1));
	check(&l, size - 1 - half);
	leftovers_clear(&l);
	json_decref(head);
	return 0;
}
