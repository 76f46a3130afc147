/* SPDX-License-Identifier: MIT */
#include "lib/made.h"

void
made_frame(const struct made *m, uint64_t sequence, uint8_t *frame)
{
	struct format_packet p = {
		.has = FORMAT_TIME | FORMAT_VALID | FORMAT_READABLE,
		.second = MADE_SECOND + (int64_t)(sequence / MADE_FPS),
		.frame = (uint32_t)(sequence % MADE_FPS),
		.thread = m->sub,
	};

	memset(frame, (int)(sequence * 7 + m->sub * 31) | 1, MADE_PAYLOAD);
	if (m->store != HEAP_NONE)
		return;
	m->format->model(&m->shape, frame);
	m->format->stamp(&m->shape, &p, NULL, frame);
}

void
made_fill(const struct made *m, uint64_t sequence, uint8_t *frame)
{
	struct format_packet p = {
		.has = FORMAT_TIME | FORMAT_READABLE,
		.second = MADE_SECOND + (int64_t)(sequence / MADE_FPS),
		.frame = (uint32_t)(sequence % MADE_FPS),
		.thread = m->sub,
	};

	if (m->store != HEAP_NONE) {
		memset(frame, 0, MADE_PAYLOAD);
		return;
	}
	for (unsigned i = 0; i < MADE_PAYLOAD; i += 4)
		write_le32(frame + i, FILL_PATTERN);
	m->format->model(&m->shape, frame);
	m->format->stamp(&m->shape, &p, NULL, frame);
}

void
made_head(struct made *m)
{
	const char *paths[MADE_DISKS];
	struct meta_head head = {
		.name = MADE_NAME,
		.stream = "test",
		.format = m->store ? "spead" : "vdif",
		.extension = m->store ? "spead" : "vdif",
		.fill = m->fill,
		.start_ns = MADE_SECOND * 1000000000,
		.shape = &m->shape,
		.geometry = &m->geometry,
		.subs = m->subs,
		.channels_per_file = m->channels_per_file,
		.parity = m->parity,
		.disks = paths,
		.disks_n = MADE_DISKS,
	};

	for (unsigned i = 0; i < MADE_DISKS; i++)
		paths[i] = m->disks.disk[i].path;
	m->head = meta_head(&head);
	ck_assert_ptr_nonnull(m->head);
}

void
made_begin(struct made *m)
{
	static const char *const names[] = { "d0", "d1", "d2" };
	struct option_texts patterns = { NULL, MADE_DISKS };
	const char *paths[MADE_DISKS];
	struct fault fault = { 0 };
	char why[256];

	scratch_make(&m->scratch);
	for (unsigned i = 0; i < MADE_DISKS; i++) {
		paths[i] = scratch_path(&m->scratch, names[i]);
		ck_assert_int_eq(mkdir(paths[i], 0755), 0);
	}
	patterns.text = paths;
	ck_assert_int_eq(disks_find(&m->disks, &patterns, &fault), 0);
	ck_assert_int_eq(module_format("vdif", &m->format, &fault), 0);
	m->shape = (struct format_shape){ .prefix = 8,
					  .payload = MADE_PAYLOAD,
					  .fps = MADE_FPS,
					  .around = MADE_SECOND };
	ck_assert_int_eq(m->format->shape(&m->shape, why, sizeof why), 0);
	ck_assert_int_eq(
	    geometry_make(&m->geometry, MADE_PAYLOAD, 1, MADE_BLOCK), 0);
	ck_assert_uint_eq(m->geometry.slots, MADE_SLOTS);
	if (m->fps_unknown)
		m->shape.fps = 0;
	if (m->store) {
		m->shape.prefix = m->shape.header = 0;
		m->shape.sequence = SEQUENCE_ARRIVAL;
		m->shape.store = m->store;
		m->shape.item = 0x600a;
	}
	made_head(m);
	for (unsigned i = 0; i < MADE_DISKS; i++)
		ck_assert_int_eq(folder_create(&m->folder[i], &m->disks.disk[i],
					       MADE_NAME, m->head),
				 0);
}

void
made_run(struct made *m, unsigned disk, uint32_t run, uint64_t base)
{
	struct block begins = { .run = run, .base = base, .sub = m->sub };
	json_t *line = meta_run(&begins, m->subs, NULL);

	ck_assert_int_eq(folder_note(m->folder[disk], line), 0);
	json_decref(line);
}

void
made_block(const struct made *m, struct made_block *mb, uint64_t number,
	   uint64_t first, uint32_t used)
{
	mb->b = (struct block){
		.data = mb->data,
		.present = mb->present,
		.slots = MADE_SLOTS,
		.slot_bytes = MADE_PAYLOAD,
		.used = used,
		.filled = used,
		.first = first,
		.base = MADE_BASE,
		.number = number,
		.sub = m->sub,
	};
	memset(mb->present, 0xff, sizeof mb->present);
	for (uint32_t i = 0; i < used; i++)
		made_frame(m, first + i, block_slot(&mb->b, i));
}

void
made_lose(struct made_block *mb, uint32_t slot)
{
	mb->present[slot / 64] &= ~(UINT64_C(1) << slot % 64);
	mb->b.filled--;
}

void
made_chunk(struct made *m, unsigned disk, struct made_block *mb)
{
	struct block *b = &mb->b;
	uint64_t bytes = (uint64_t)b->used * b->slot_bytes;
	struct fill fill;
	int fd;

	fill_init(&fill, m->store ? FILL_ZERO : m->fill, m->format, &m->shape);
	fill_block(&fill, b);
	fill_finish(&fill);
	fd = folder_chunk(m->folder[disk], b->number, 0, bytes);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, b->data, bytes), (ssize_t)bytes);
	close(fd);
}

struct index_record
made_record(const struct block *b)
{
	return (struct index_record){
		.number = b->number,
		.first = b->first,
		.first_ns =
		    (MADE_SECOND + (int64_t)b->first / MADE_FPS) * 1000000000,
		.last_ns = (MADE_SECOND +
			    (int64_t)(b->first + b->used - 1) / MADE_FPS) *
			   1000000000,
		.bytes = (uint64_t)b->used * b->slot_bytes,
		.run = b->run,
		.sub = b->sub,
		.present = b->filled,
		.missing = b->used - b->filled,
		.kind = INDEX_BLOCK,
		.flags = INDEX_DATA_TIME,
	};
}

void
made_index(struct made *m, unsigned disk, const struct index_record *r)
{
	ck_assert_int_eq(folder_sync(m->folder[disk], r, 1), 0);
}

void
made_sum(struct made *m, unsigned disk, struct made_block *mb,
	 struct index_record *r)
{
	struct block_sum sum[MADE_BLOCK / 512];
	struct block *b = &mb->b;
	uint32_t bytes = (uint32_t)block_bytes(b);

	b->quantum = m->quantum;
	b->crc = r->crc = crc32c(0, b->data, bytes);
	b->sum = sum;
	for (uint32_t at = 0; at < bytes; at += m->quantum)
		sum[at / m->quantum].crc =
		    crc32c(0, b->data + at,
			   bytes - at < m->quantum ? bytes - at : m->quantum);
	ck_assert_int_eq(folder_sum(m->folder[disk], b), 0);
	r->flags |= INDEX_SUMMED;
	b->sum = NULL;
}

void
made_write(struct made *m, unsigned disk, struct made_block *mb)
{
	struct index_record r = made_record(&mb->b);
	json_t *holes = meta_holes(&mb->b);

	made_chunk(m, disk, mb);
	if (m->quantum)
		made_sum(m, disk, mb, &r);
	if (holes)
		ck_assert_int_eq(folder_note(m->folder[disk], holes), 0);
	json_decref(holes);
	made_index(m, disk, &r);
}

void
made_blocks(struct made *m, unsigned n)
{
	static struct made_block mb;

	for (unsigned i = 0; i < n; i++) {
		if (i < MADE_DISKS)
			made_run(m, i, 0, MADE_BASE);
		made_block(m, &mb, i, (uint64_t)i * MADE_SLOTS, MADE_SLOTS);
		made_write(m, i % MADE_DISKS, &mb);
	}
}

void
made_end_as(struct made *m, uint64_t numbers, json_t *tail)
{
	struct index_record end = {
		.kind = INDEX_END,
		.number = numbers,
		.first_ns = MADE_SECOND * 1000000000 + 5,
		.last_ns = MADE_SECOND * 1000000000 + 7000000000,
	};

	for (unsigned i = 0; i < MADE_DISKS; i++) {
		if (m->folder[i])
			ck_assert_int_eq(folder_close(m->folder[i],
						      numbers ? &end : NULL,
						      numbers ? tail : NULL),
					 0);
		m->folder[i] = NULL;
	}
	json_decref(tail);
}

void
made_end(struct made *m, uint64_t numbers)
{
	made_end_as(m, numbers,
		    json_pack("{s:{s:s, s:i, s:{s:i}}}", "end", "reason",
			      "asked", "packets_late", 3, "drops", "wrong_size",
			      2));
}

void
made_finish(struct made *m)
{
	made_end(m, 0);
	disks_clear(&m->disks);
	json_decref(m->head);
	scratch_remove(&m->scratch);
	*m = (struct made){ 0 };
}

const char *
made_path(const struct made *m, unsigned disk, const char *file)
{
	static char path[512];

	snprintf(path, sizeof path, "%s/%s/%s", m->disks.disk[disk].path,
		 MADE_NAME, file);
	return path;
}

void
made_hide(struct made *m, unsigned disk)
{
	close(m->disks.disk[disk].fd);
	m->disks.disk[disk].fd = -1;
}

void
made_show(struct made *m, unsigned disk)
{
	ck_assert_int_eq(disk_open(&m->disks.disk[disk]), 0);
}
