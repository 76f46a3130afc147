/* SPDX-License-Identifier: MIT */
#include "lib/made_parity.h"

#include <fcntl.h>

enum { MEMBERS = 8 };

static void
full_block(const struct made *m, struct made_block *mb, uint64_t number)
{
	made_block(m, mb, number, number * MADE_SLOTS, MADE_SLOTS);
}

struct index_record
made_parity_record(const struct made *m, uint64_t number)
{
	static struct made_block mb;
	struct index_record r;

	full_block(m, &mb, number);
	r = made_record(&mb.b);
	if (m->quantum) {
		r.crc = crc32c(0, mb.data, sizeof mb.data);
		r.flags |= INDEX_SUMMED;
	}
	return r;
}

static void
row_write(struct made *m, unsigned disk, const struct parity_record *p,
	  const uint8_t *row, const struct index_record *member)
{
	uint8_t tail[(MEMBERS + 1) * INDEX_BYTES];
	struct folder_target target;
	size_t bytes = parity_tail_bytes(p);

	parity_pack(tail, p, member);
	ck_assert_int_eq(folder_parity_make(m->folder[disk], p->group,
					    p->bytes + bytes, 0, &target),
			 0);
	ck_assert_int_eq(write_whole(target.fd, row, p->bytes, 0), 0);
	ck_assert_int_eq(write_whole(target.fd, tail, bytes, p->bytes), 0);
	close(target.fd);
	ck_assert_int_eq(folder_parity_sync(m->folder[disk], tail, bytes), 0);
}

void
made_parity(struct made *m, uint64_t first, unsigned members,
	    const unsigned disk[], const struct index_record *record)
{
	static uint8_t row[PARITY_ROWS][MADE_BLOCK];
	static struct made_block mb;
	struct index_record member[MEMBERS];
	uint8_t *const to[] = { row[0], row[1] };

	memset(row, 0, sizeof row);
	for (unsigned i = 0; i < members; i++) {
		full_block(m, &mb, first + i);
		parity_add(to, m->parity, i, mb.data, MADE_BLOCK);
		member[i] =
		    record ? record[i] : made_parity_record(m, first + i);
	}
	for (unsigned i = 0; i < m->parity; i++) {
		const struct parity_record p = {
			.group = first,
			.bytes = MADE_BLOCK,
			.members = members,
			.crc = crc32c(0, row[i], MADE_BLOCK),
			.row = (uint16_t)i,
			.rows = (uint16_t)m->parity,
		};

		row_write(m, disk[i], &p, row[i], member);
	}
}

void
made_spoil(struct made *m, unsigned disk, const char *file, off_t at)
{
	int fd = open(made_path(m, disk, file), O_RDWR);
	uint8_t byte;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 4;
	ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}
