/* SPDX-License-Identifier: MIT */
/* Records made from nothing but the frames of a chunk. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>

#include "lib/made_recover.h"
#include "lib/suite.h"

static struct made m;
static struct recover_report report;
static struct fault fault;

static struct made_block mb;

/* The last two blocks were written but not indexed, the last not wholly. */
START_TEST(bare_chunks)
{
	const struct recording_block *b;
	struct recording *rec;
	size_t n;

	made_begin(&m);
	made_blocks(&m, 5);
	made_block(&m, &mb, 5, 5 * MADE_SLOTS, MADE_SLOTS);
	made_chunk(&m, 2, &mb);
	made_block(&m, &mb, 6, 6 * MADE_SLOTS, 30);
	made_chunk(&m, 0, &mb);
	made_end(&m, 0);
	ck_assert_int_eq(truncate(made_path(&m, 0, MADE_NAME ".00000006"),
				  20 * MADE_PAYLOAD + 33),
			 0);
	append(made_path(&m, 0, MADE_NAME ".index"), "torn", 4);
	append(made_path(&m, 0, MADE_NAME ".meta.jsonl"), "{\"torn", 6);
	recovered(&m, &report);
	ck_assert_uint_eq(report.rebuilt, 2);
	ck_assert_uint_eq(report.cut, 33);
	ck_assert_uint_eq(report.torn, 4);
	is_whole(&m, 6 * MADE_SLOTS + 20);
	reads_as_sent(&m, 6 * MADE_SLOTS + 20);

	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault), 0);
	b = recording_blocks(rec, &n);
	ck_assert_uint_eq(n, 7);
	ck_assert_uint_eq(b[6].record.first, 6 * MADE_SLOTS);
	ck_assert_uint_eq(b[6].record.flags, INDEX_RECOVERED | INDEX_DATA_TIME);
	ck_assert_int_eq(b[5].record.first_ns, (MADE_SECOND + 32) * 1000000000);
	recording_close(rec);
	made_finish(&m);
}
END_TEST

/* A block that the writer noted as written, and did not sync. */
static struct index_record
written(unsigned disk, uint64_t number, uint64_t gap)
{
	struct index_record r;
	json_t *line;

	made_block(&m, &mb, number, number * MADE_SLOTS, MADE_SLOTS);
	made_chunk(&m, disk, &mb);
	r = made_record(&mb.b);
	r.first_ns += 5; /* no packet says that */
	line = meta_written(&r, gap);
	ck_assert_int_eq(folder_note(m.folder[disk], line), 0);
	json_decref(line);
	return r;
}

/* The line says more than the packets show: the gap before the block, its times
 * and counts. */
START_TEST(what_was_written_is_believed)
{
	const struct recording_block *b;
	struct recording *rec;
	struct index_record r;
	size_t n;

	made_begin(&m);
	made_blocks(&m, 5);
	r = written(0, 6, MADE_SLOTS);
	made_end(&m, 0);
	recovered(&m, &report);
	ck_assert_uint_eq(report.rebuilt, 1);
	is_whole(&m, 6 * MADE_SLOTS);
	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault), 0);
	b = recording_blocks(rec, &n);
	ck_assert_uint_eq(n, 7);
	ck_assert_uint_eq(b[5].record.kind, INDEX_GAP);
	ck_assert_int_eq(b[6].record.first_ns, r.first_ns);
	ck_assert_uint_eq(b[6].record.flags, INDEX_DATA_TIME);
	ck_assert_uint_eq(recording_facts(rec)->absent, 0);
	ck_assert_uint_eq(recording_facts(rec)->missing, MADE_SLOTS);
	recording_close(rec);
	made_finish(&m);
}
END_TEST

/* A line is not believed if a power cut took some of the data. */
START_TEST(what_was_written_and_is_torn)
{
	made_begin(&m);
	made_blocks(&m, 5);
	written(2, 5, 0);
	made_end(&m, 0);
	ck_assert_int_eq(truncate(made_path(&m, 2, MADE_NAME ".00000005"),
				  20 * MADE_PAYLOAD + 33),
			 0);
	recovered(&m, &report);
	ck_assert_uint_eq(report.rebuilt, 1);
	ck_assert_uint_eq(report.cut, 33);
	is_whole(&m, 5 * MADE_SLOTS + 20);
	made_finish(&m);
}
END_TEST

/* Nobody knows what it is, and it may be all there is of something. */
START_TEST(what_is_no_packet_stays)
{
	struct stat st;
	int fd;

	made_begin(&m);
	made_blocks(&m, 3);
	fd = folder_chunk(m.folder[1], 3, 0, 0);
	memset(mb.data, 0xff, MADE_BLOCK);
	ck_assert_int_eq(write(fd, mb.data, MADE_BLOCK), MADE_BLOCK);
	close(fd);
	made_end(&m, 0);
	recovered(&m, &report);
	ck_assert_uint_eq(report.rebuilt, 0);
	ck_assert_uint_eq(report.empty, 1);
	ck_assert_int_ne(access(made_path(&m, 1, MADE_NAME ".00000003"), F_OK),
			 0);
	ck_assert_int_eq(
	    stat(made_path(&m, 1, MADE_NAME ".00000003.aside"), &st), 0);
	ck_assert_int_eq(st.st_size, MADE_BLOCK);
	is_whole(&m, 3 * MADE_SLOTS);
	made_finish(&m);
}
END_TEST

static uint32_t holes_n;

static void
count_hole(void *arg, uint64_t slot, uint64_t count)
{
	(void)arg;
	(void)slot;
	holes_n += count;
}

/* What was filled is found to be missing, and on record again. */
START_TEST(holes)
{
	struct recording *rec;

	made_begin(&m);
	made_blocks(&m, 1);
	made_block(&m, &mb, 1, MADE_SLOTS, MADE_SLOTS);
	made_lose(&mb, 3);
	made_lose(&mb, 4);
	made_lose(&mb, 40);
	made_chunk(&m, 1, &mb);
	made_end(&m, 0);
	recovered(&m, &report);
	is_whole(&m, 2 * MADE_SLOTS - 3);
	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault), 0);
	ck_assert_uint_eq(recording_facts(rec)->missing, 3);
	ck_assert_int_eq(recording_holes(rec, 1, count_hole, NULL), 0);
	ck_assert_uint_eq(holes_n, 3);
	recording_close(rec);
	made_finish(&m);
}
END_TEST

/*
 * Mark5B: two packets to a frame, no mark for invalid data.  One chunk of
 * five frames, the last without its second half; of frame 1 nothing came, of
 * frame 2 not the first half, of frame 3 not the second.
 */
enum { HALF = 5008 };

static void
mark5b_head(struct folder **folder, struct format_shape *shape)
{
	struct geometry geometry;
	struct meta_head head = { .name = "halves",
				  .stream = "test",
				  .format = "mark5b",
				  .extension = "m5b",
				  .shape = shape,
				  .geometry = &geometry };
	json_t *line;

	ck_assert_int_eq(geometry_make(&geometry, HALF, 2, 1 << 20), 0);
	line = meta_head(&head);
	ck_assert_int_eq(
	    folder_create(folder, &m.disks.disk[0], "halves", line), 0);
	json_decref(line);
}

START_TEST(halves)
{
	static uint8_t data[10 * HALF];
	uint64_t present = 0x1 | 0x2 | 0x20 | 0x40 | 0x100;
	struct block b = { .data = data,
			   .present = &present,
			   .slots = 10,
			   .slot_bytes = HALF,
			   .used = 10,
			   .filled = 5 };
	struct format_shape shape = {
		.prefix = 8, .payload = HALF, .fps = 100, .around = MADE_SECOND
	};
	const struct format_ops *format;
	const struct recording_facts *f;
	struct recording *rec;
	struct folder *folder;
	struct fill fill;
	char why[256];
	int fd;

	made_begin(&m);
	ck_assert_int_eq(module_format("mark5b", &format, &fault), 0);
	ck_assert_int_eq(format->shape(&shape, why, sizeof why), 0);
	mark5b_head(&folder, &shape);
	memset(data, 0x5a, sizeof data);
	for (uint32_t i = 0; i < 10; i += 2) {
		struct format_packet p = { .has = FORMAT_TIME | FORMAT_VALID,
					   .second = MADE_SECOND,
					   .frame = 97 + i / 2 };

		p.second += p.frame / 100;
		p.frame %= 100;
		format->model(&shape, block_slot(&b, i));
		format->stamp(&shape, &p, NULL, block_slot(&b, i));
	}
	fill_init(&fill, FILL_INVALID, format, &shape);
	fill_block(&fill, &b);
	fill_finish(&fill);
	fd = folder_chunk(folder, 0, 0, sizeof data);
	ck_assert_int_eq(write(fd, data, sizeof data), sizeof data);
	close(fd);
	folder_close(folder, NULL, NULL);

	ck_assert_int_eq(recover(&m.disks, "halves", NULL, &report, &fault), 0);
	ck_assert_uint_eq(report.packets, 5);
	ck_assert_uint_eq(report.cut, 0);
	ck_assert_int_eq(recording_open(&rec, &m.disks, "halves", &fault), 0);
	f = recording_facts(rec);
	ck_assert_uint_eq(f->bytes, sizeof data);
	ck_assert_uint_eq(f->packets, 5);
	ck_assert_uint_eq(f->missing, 4); /* not the trailing half */
	ck_assert_uint_eq(f->run[0].last, 8);
	ck_assert_int_eq(f->run[0].first_ns,
			 MADE_SECOND * 1000000000 + 970000000);
	ck_assert_int_eq(f->run[0].last_ns,
			 (MADE_SECOND + 1) * 1000000000 + 10000000);
	recording_close(rec);
	made_finish(&m);
}
END_TEST

/*
 * Raw packets of two pages, without anything in them that tells.  A crash
 * left out what was still in flight: slot 3, the second page of 2, and all
 * behind 4, which really is zeros.
 */
START_TEST(unwritten)
{
	enum { PAGE = 4096, PAYLOAD = 2 * PAGE, SLOTS = 8 };
	static uint8_t data[5 * PAYLOAD];
	struct format_shape shape = { .payload = PAYLOAD };
	struct geometry geometry;
	struct meta_head head = { .name = "raw",
				  .stream = "test",
				  .format = "raw",
				  .extension = "raw",
				  .shape = &shape,
				  .geometry = &geometry };
	const struct format_ops *format;
	struct recording *rec;
	struct folder *folder;
	json_t *line;
	char why[256];
	int fd;

	made_begin(&m);
	ck_assert_int_eq(module_format("raw", &format, &fault), 0);
	ck_assert_int_eq(format->shape(&shape, why, sizeof why), 0);
	ck_assert_int_eq(geometry_make(&geometry, PAYLOAD, 1, 1 << 20), 0);
	line = meta_head(&head);
	ck_assert_int_eq(folder_create(&folder, &m.disks.disk[0], "raw", line),
			 0);
	json_decref(line);
	memset(data, 0x5a, 4 * PAYLOAD);
	fd = folder_chunk(folder, 0, 0, SLOTS * PAYLOAD);
	ck_assert_int_eq(pwrite(fd, data, 5 * PAGE, 0), 5 * PAGE);
	ck_assert_int_eq(pwrite(fd, data + 4 * PAYLOAD, PAYLOAD, 4 * PAYLOAD),
			 PAYLOAD);
	close(fd);
	folder_close(folder, NULL, NULL);

	ck_assert_int_eq(recover(&m.disks, "raw", NULL, &report, &fault), 0);
	ck_assert_uint_eq(report.packets, 3);
	ck_assert_int_eq(recording_open(&rec, &m.disks, "raw", &fault), 0);
	ck_assert_uint_eq(recording_facts(rec)->bytes, 5 * PAYLOAD);
	ck_assert_uint_eq(recording_facts(rec)->missing, 2);
	recording_close(rec);
	made_finish(&m);
}
END_TEST

/* Packets with a counter of their own: where they belong is in them. */
static void
counted_chunk(const char *name, enum sequence_kind kind, uint64_t base,
	      uint64_t first)
{
	static uint8_t data[10 * MADE_PAYLOAD];
	struct format_shape shape = { .payload = MADE_PAYLOAD,
				      .sequence = kind };
	struct geometry geometry;
	struct meta_head head = { .name = name,
				  .stream = "test",
				  .format = "raw",
				  .extension = "raw",
				  .shape = &shape,
				  .geometry = &geometry };
	const struct format_ops *format;
	struct folder *folder;
	json_t *line;
	char why[256];
	int fd;

	ck_assert_int_eq(module_format("raw", &format, &fault), 0);
	ck_assert_int_eq(format->shape(&shape, why, sizeof why), 0);
	ck_assert_int_eq(geometry_make(&geometry, MADE_PAYLOAD, 1, 1), 0);
	line = meta_head(&head);
	ck_assert_int_eq(folder_create(&folder, &m.disks.disk[0], name, line),
			 0);
	json_decref(line);
	line = meta_run(&(struct block){ .base = base }, 1, NULL);
	ck_assert_int_eq(folder_note(folder, line), 0);
	json_decref(line);
	memset(data, 0x5a, sizeof data);
	for (uint64_t i = 0; i < 10; i++)
		format_counter_write(&shape, base + first + i, NULL,
				     data + i * MADE_PAYLOAD);
	fd = folder_chunk(folder, 3, 0, sizeof data);
	ck_assert_int_eq(write(fd, data, sizeof data), sizeof data);
	close(fd);
	folder_close(folder, NULL, NULL);
}

static uint64_t
first_of(const char *name)
{
	const struct recording_block *b;
	struct recording *rec;
	uint64_t first;
	size_t n;

	ck_assert_int_eq(recover(&m.disks, name, NULL, &report, &fault), 0);
	ck_assert_uint_eq(report.rebuilt, 1);
	ck_assert_uint_eq(report.packets, 10);
	ck_assert_int_eq(recording_open(&rec, &m.disks, name, &fault), 0);
	b = recording_blocks(rec, &n);
	ck_assert_uint_eq(n, 4);
	first = b[3].record.first;
	recording_close(rec);
	return first;
}

START_TEST(counters)
{
	made_begin(&m);
	counted_chunk("be64", SEQUENCE_BE64, MADE_BASE, 123456);
	ck_assert_uint_eq(first_of("be64"), 123456);
	/* Of 32 bits, which wrap; the guess is 3 blocks of 64. */
	counted_chunk("le32", SEQUENCE_LE32, 0xffffff00, 300);
	ck_assert_uint_eq(first_of("le32"), 300);
	counted_chunk("le32back", SEQUENCE_LE32, 0xffffff00, 100);
	ck_assert_uint_eq(first_of("le32back"), 100);
	made_finish(&m);
}
END_TEST

SUITE_THREADS("recover_chunk", NULL, what_was_written_is_believed,
	      what_was_written_and_is_torn, what_is_no_packet_stays,
	      bare_chunks, holes, halves, unwritten, counters)
