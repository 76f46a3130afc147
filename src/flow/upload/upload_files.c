/* SPDX-License-Identifier: MIT */
#include "flow/upload/upload_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/record/block.h"
#include "store/record/meta.h"
#include "store/record/sums.h"

/* Makes room for so many bytes more, and counts them.  Returns where they
 * begin; NULL without memory. */
static uint8_t *
more(struct upload_file *f, size_t bytes)
{
	size_t room = f->room ? f->room : 4096;
	uint8_t *grown = f->data;

	while (room < f->bytes + bytes)
		room *= 2;
	if (room != f->room)
		grown = realloc(f->data, room);
	if (!grown)
		return NULL;
	f->data = grown;
	f->room = room;
	f->bytes += bytes;
	return grown + f->bytes - bytes;
}

static int
text_add(struct upload_file *f, const char *text, size_t bytes)
{
	uint8_t *to = more(f, bytes);

	if (!to)
		return -ENOMEM;
	memcpy(to, text, bytes);
	return 0;
}

/* Adds a line, which it takes over. */
static int
line_add(struct upload_file *f, json_t *line)
{
	char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
	int err = text ? text_add(f, text, strlen(text)) : -ENOMEM;

	if (!err)
		err = text_add(f, "\n", 1);
	free(text);
	json_decref(line);
	return err;
}

static int
record_add(struct upload_file *f, const struct index_record *r)
{
	uint8_t *to = more(f, INDEX_BYTES);

	if (!to)
		return -ENOMEM;
	index_pack(to, r);
	return 0;
}

int
upload_files_begin(struct upload_files *f, const json_t *head, unsigned subs)
{
	*f = (struct upload_files){ .subs = subs ? subs : 1 };
	f->told = calloc(f->subs, sizeof *f->told);
	if (!f->told)
		return -ENOMEM;
	return line_add(&f->meta, json_incref((json_t *)head));
}

static int
run_add(struct upload_files *f, const struct copy_lines_block *b)
{
	const struct index_record *r = &b->record;
	const struct block of = { .run = r->run,
				  .sub = r->sub,
				  .base = b->base,
				  .first_ns = b->arrival_ns ? b->arrival_ns
							    : r->first_ns };
	uint64_t *told;

	if (r->sub >= f->subs)
		return 0;
	told = &f->told[r->sub];
	if (*told == r->run + UINT64_C(1))
		return 0;
	*told = r->run + UINT64_C(1);
	return line_add(&f->meta, meta_run(&of, f->subs, NULL));
}

static int
sums_add(struct upload_files *f, const struct index_record *r,
	 const struct upload_sums *sums)
{
	struct block_sum *sum = calloc(sums->n, sizeof *sum);
	const struct block b = { .number = r->number,
				 .quantum = BLOCK_QUANTUM,
				 .slot_bytes = 1,
				 .used = (uint32_t)r->bytes,
				 .crc = r->crc,
				 .sum = sum };
	uint8_t *to = NULL;

	if (sum)
		to = more(&f->sums, sums_bytes(sums->n));
	for (uint32_t i = 0; to && i < sums->n; i++)
		sum[i].crc = sums->crc[i];
	if (to)
		sums_pack(to, &b);
	free(sum);
	return to ? 0 : -ENOMEM;
}

int
upload_files_add(struct upload_files *f, const struct copy_lines_block *b,
		 const struct upload_sums *sums)
{
	const struct index_record *r = &b->record;
	struct index_record gap;
	int err = run_add(f, b);

	if (!err && b->bytes)
		err = text_add(&f->meta, b->lines, b->bytes);
	if (!err)
		err = line_add(&f->meta, meta_written(r, b->gap));
	if (!err && sums->crc && r->flags & INDEX_SUMMED)
		err = sums_add(f, r, sums);
	if (!err && b->gap) {
		gap = index_gap(r, b->gap);
		err = record_add(&f->index, &gap);
	}
	return err ? err : record_add(&f->index, r);
}

int
upload_files_end(struct upload_files *f, const char *lines,
		 const struct index_record *end)
{
	int err = text_add(&f->meta, lines, strlen(lines));

	return err || !end ? err : record_add(&f->index, end);
}

void
upload_files_free(struct upload_files *f)
{
	free(f->meta.data);
	free(f->sums.data);
	free(f->index.data);
	free(f->told);
	*f = (struct upload_files){ 0 };
}
