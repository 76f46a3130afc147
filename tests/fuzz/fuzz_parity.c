/* SPDX-License-Identifier: MIT */
/*
 * Reads lists of parity from foreign bytes: an input is a file of them, and the
 * same bytes are the file of a parity block.  What is believed must be bounded,
 * and members must be found again.
 */
#include "config.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "store/parity/parity.c"
#include "store/parity/parity_file.c"

static void
require(int truth)
{
	if (!truth)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A block that is as believed, and each of its members. */
static void
block_try(const struct parity_table *t, const struct parity_block *b)
{
	uint64_t most = 0;

	require(b->record.members && b->record.members <= PARITY_MEMBERS);
	require(b->record.row < b->record.rows &&
		b->record.rows <= PARITY_ROWS);
	require(b->first + b->record.members <= t->members);
	for (uint32_t i = 0; i < b->record.members; i++) {
		const struct index_record *r = &t->member[b->first + i];

		require(r->kind == INDEX_BLOCK && r->number < LAYOUT_CHUNKS);
		require(parity_find(t, r->number) != NULL);
		if (r->bytes > most)
			most = r->bytes;
	}
	require(b->record.bytes == most && most <= PARITY_MOST);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("parity", MFD_CLOEXEC);
	struct parity_table t = { 0 };
	struct parity_record p;
	uint64_t at = 0, again;
	uint8_t *tail;

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	require(parity_read(&t, fd, 1, &at) == 0);
	require(at <= size);
	again = at;
	require(parity_read(&t, fd, 1, &again) == 0 && again == at);
	require(parity_sort(&t) == 0);
	for (size_t i = 0; i < t.blocks; i++)
		block_try(&t, &t.block[i]);
	for (size_t i = 0; i < t.numbers; i++) {
		const struct parity_member *m = &t.by_number[i];

		require(m->block < t.blocks &&
			m->column < t.block[m->block].record.members);
		require(parity_member_record(&t, m)->number == m->number);
	}
	parity_clear(&t);
	if (!parity_tail_read(fd, &p, &tail)) {
		require(p.members <= PARITY_MEMBERS && p.bytes < size);
		require(p.bytes + parity_tail_bytes(&p) == size);
		free(tail);
	}
	close(fd);
	return 0;
}
