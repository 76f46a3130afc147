/* SPDX-License-Identifier: MIT */
#include "lib/made_row.h"

void
made_heap(struct made_row *row, uint64_t heap, uint32_t length, uint32_t from,
	  uint32_t to)
{
	const struct format_ops *spead;
	struct format_piece p = { .heap = heap,
				  .length = length,
				  .offset = from,
				  .bytes = to - from,
				  .flavour = 48 };
	/* Item 0x600a, at byte 0 of the heap. */
	uint64_t item = htobe64(UINT64_C(0x600a) << 48);
	struct fault fault;

	ck_assert_int_eq(module_format("spead", &spead, &fault), 0);
	p.items = from ? 0 : 1;
	row->bytes += spead->wrap(&p, &item, p.items, row->data + row->bytes);
	for (uint32_t i = from; i < to; i++)
		row->data[row->bytes++] = (uint8_t)(heap * 3 + i);
	if (!row->record.bytes)
		row->record.first = heap;
	row->record.bytes = row->bytes;
	row->record.present += 2; /* each came in two pieces */
}

void
made_row_chunk(struct made *m, unsigned disk, uint64_t number,
	       struct made_row *row)
{
	int fd = folder_chunk(m->folder[disk], number, 0, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, row->data, row->bytes), (ssize_t)row->bytes);
	close(fd);
	row->record.number = number;
	row->record.sub = m->sub;
	row->record.kind = INDEX_BLOCK;
}

void
made_row_write(struct made *m, unsigned disk, uint64_t number,
	       struct made_row *row)
{
	made_row_chunk(m, disk, number, row);
	made_index(m, disk, &row->record);
}

void
made_note(struct made *m, unsigned disk, const struct index_record *r)
{
	const struct block b = {
		.number = r->number,
		.run = r->run,
		.sub = r->sub,
		.first = r->first,
		.filled = r->present,
		.missing = r->missing,
		.bytes = r->bytes,
		.notes = 1,
	};
	json_t *line = meta_chunk(&b, m->subs);

	ck_assert_int_eq(folder_note(m->folder[disk], line), 0);
	json_decref(line);
}
