/* SPDX-License-Identifier: MIT */
/*
 * What is looked at before a recording goes on after a crash: what is there,
 * which numbers and runs are free, and what is refused.  And what a folder
 * then does with blocks that no index has.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>

#include "store/record/index.h"
#include "store/repair/protect.h"
#include "store/recording/recording_priv.h"
#include "store/finish/resume.h"
#include "lib/made_read.h"
#include "lib/suite.h"

static struct made m;
static struct recording *rec;
static struct fault fault;

static struct resume *r;

static void
look(int err)
{
	ck_assert_int_eq(resume_look(&r, &m.disks, MADE_NAME, &fault), err);
	ck_assert(err == 0 || strlen(fault.what) > 10);
	ck_assert(err == 0 || strlen(fault.why) > 10);
}

/* Written, told, and not in the index. */
static void
unindexed(unsigned disk, uint64_t number, uint64_t gap)
{
	static struct made_block mb;
	struct index_record record;
	json_t *line;

	made_block(&m, &mb, number, number * MADE_SLOTS, MADE_SLOTS);
	made_chunk(&m, disk, &mb);
	record = made_record(&mb.b);
	line = meta_written(&record, gap);
	ck_assert_int_eq(folder_note(m.folder[disk], line), 0);
	json_decref(line);
}

static const char *
file(unsigned disk, const char *name)
{
	static char path[2][300];
	static unsigned turn;
	char *p = path[turn++ % 2];

	snprintf(p, sizeof path[0], "%s/" MADE_NAME "/" MADE_NAME "%s",
		 m.disks.disk[disk].path, name);
	return p;
}

static size_t
indexed(unsigned disk)
{
	struct stat st;

	ck_assert_int_eq(stat(file(disk, ".index"), &st), 0);
	ck_assert_int_eq(st.st_size % INDEX_BYTES, 0);
	return (size_t)st.st_size / INDEX_BYTES;
}

static void
reopen(unsigned disk, int err)
{
	ck_assert_int_eq(folder_resume(&m.folder[disk], &m.disks.disk[disk],
				       MADE_NAME, m.head, r->next),
			 err);
}

static void
leave(void)
{
	resume_free(r);
	r = NULL;
	made_finish(&m);
}

START_TEST(what_is_there)
{
	made_begin(&m);
	made_blocks(&m, 6);
	made_run(&m, 1, 1, 5); /* begun, and nothing of it was written */
	unindexed(0, 6, 0);
	unindexed(2, 8, MADE_SLOTS); /* 7 is the gap */
	made_end(&m, 0);
	look(0);
	ck_assert_uint_eq(r->seen, 9);
	ck_assert_uint_eq(r->next, 9);
	ck_assert_uint_eq(r->run[0], 2);
	ck_assert_uint_eq(r->records, 9);
	ck_assert_uint_eq(r->missing, 0);
	ck_assert_uint_eq(r->absent, 0);
	ck_assert_uint_eq(r->facts->chunks, 8);
	ck_assert_uint_eq(r->facts->packets, 8 * MADE_SLOTS);
	ck_assert_uint_eq(r->facts->missing, MADE_SLOTS);
	ck_assert_uint_eq(r->bytes, 9 * MADE_BLOCK);
	ck_assert_int_ge(r->at_ns, r->stopped_ns);
	ck_assert_int_ge(r->stopped_ns, r->at_ns - INT64_C(60000000000));
	/* And nothing was written. */
	ck_assert_uint_eq(indexed(0), 2);
	leave();
}
END_TEST

/* The disk of blocks 6 to 11 is away, and no line says that it took part: only a
 * list of parity knows them. */
START_TEST(numbers_that_parity_knows)
{
	struct parity_record p = {
		.group = 11, .bytes = MADE_BLOCK, .members = 1, .rows = 1
	};
	struct index_record member = { .number = 11,
				       .bytes = MADE_BLOCK,
				       .kind = INDEX_BLOCK };
	uint8_t tail[2 * INDEX_BYTES];

	m.parity = 1;
	made_begin(&m);
	made_blocks(&m, 6);
	parity_pack(tail, &p, &member);
	ck_assert_int_eq(folder_parity_sync(m.folder[1], tail, sizeof tail), 0);
	made_end(&m, 0);
	m.parity = 0;
	look(0);
	ck_assert_uint_eq(r->seen, 12);
	ck_assert_uint_eq(r->next, 12);
	leave();
}
END_TEST

START_TEST(whole_blocks_are_adopted)
{
	struct index_record *record;
	uint64_t torn;
	size_t n;
	int fd;

	made_begin(&m);
	made_blocks(&m, 6);
	unindexed(0, 6, 0);
	unindexed(0, 8, MADE_SLOTS);
	made_end(&m, 0);
	look(0);
	reopen(0, 0);
	ck_assert_uint_eq(indexed(0), 5);
	fd = open(file(0, ".index"), O_RDONLY);
	ck_assert_int_eq(index_read(fd, &record, &n, &torn), 0);
	close(fd);
	ck_assert_uint_eq(record[2].number, 6);
	ck_assert_uint_eq(record[2].first, 6 * MADE_SLOTS);
	ck_assert_uint_eq(record[2].present, MADE_SLOTS);
	ck_assert_uint_eq(record[2].flags, INDEX_DATA_TIME);
	ck_assert_uint_eq(record[3].kind, INDEX_GAP);
	ck_assert_uint_eq(record[3].number, 7);
	ck_assert_uint_eq(record[3].missing, MADE_SLOTS);
	ck_assert_uint_eq(record[4].number, 8);
	free(record);
	/* Once. */
	ck_assert_int_eq(folder_close(m.folder[0], NULL, NULL), 0);
	reopen(0, 0);
	ck_assert_uint_eq(indexed(0), 5);
	leave();
}
END_TEST

/* Half written, a hole, gone, and one of a number that is not ours. */
START_TEST(others_are_left)
{
	int fd;

	made_begin(&m);
	made_blocks(&m, 3);
	unindexed(0, 3, 0);
	unindexed(0, 4, 0);
	unindexed(0, 5, 0);
	unindexed(0, 6, 0);
	unindexed(0, 7, 0);
	made_end(&m, 0);
	ck_assert_int_eq(truncate(file(0, ".00000003"), 100), 0);
	fd = open(file(0, ".00000004"), O_RDWR | O_TRUNC);
	ck_assert_int_eq(ftruncate(fd, MADE_BLOCK), 0);
	close(fd);
	ck_assert_int_eq(unlink(file(0, ".00000005")), 0);
	look(0);
	ck_assert_uint_eq(r->next, 8);
	ck_assert_uint_eq(r->records, 5);
	ck_assert_uint_eq(r->absent, 3);
	r->next = 7;
	reopen(0, 0);
	ck_assert_uint_eq(indexed(0), 2);
	ck_assert_int_eq(access(file(0, ".00000003"), F_OK), 0);
	ck_assert_int_eq(access(file(0, ".00000004"), F_OK), 0);
	leave();
}
END_TEST

/* What was being written has a name and nothing else. */
START_TEST(a_chunk_without_a_line_has_its_number)
{
	static struct made_block mb;

	made_begin(&m);
	made_blocks(&m, 3);
	made_block(&m, &mb, 20, 20 * MADE_SLOTS, 7);
	made_chunk(&m, 1, &mb);
	made_end(&m, 0);
	look(0);
	ck_assert_uint_eq(r->next, 21);
	ck_assert_uint_eq(r->absent, 18);
	ck_assert_uint_eq(r->records, 3);
	leave();
}
END_TEST

static void
tear(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND);

	ck_assert_int_eq(write(fd, "{\"half\":", 8), 8);
	close(fd);
}

START_TEST(torn_tails_go)
{
	made_begin(&m);
	made_blocks(&m, 6);
	unindexed(1, 6, 0);
	made_end(&m, 0);
	tear(file(1, ".index"));
	tear(file(1, ".meta.jsonl"));
	look(0);
	ck_assert_uint_eq(r->records, 7);
	reopen(1, 0);
	ck_assert_uint_eq(indexed(1), 3);
	leave();
}
END_TEST

static void
rename_disk(unsigned disk, bool away)
{
	char other[300];

	snprintf(other, sizeof other, "%s.away", m.disks.disk[disk].path);
	if (away)
		ck_assert_int_eq(rename(m.disks.disk[disk].path, other), 0);
	else
		ck_assert_int_eq(rename(other, m.disks.disk[disk].path), 0);
	disk_close(&m.disks.disk[disk]);
	ck_assert_int_eq(disk_open(&m.disks.disk[disk]), away ? -ENOENT : 0);
}

/* Its numbers may be higher than those that are known. */
START_TEST(a_disk_that_is_missing)
{
	const struct recording_block *b;
	json_t *line, *paths = json_array();
	size_t n;

	made_begin(&m);
	made_blocks(&m, 6); /* 5 is on disk 2 */
	made_end(&m, 0);
	rename_disk(2, true);
	look(0);
	ck_assert_uint_eq(r->missing, 1);
	ck_assert_uint_eq(r->seen, 5);
	ck_assert_uint_eq(r->next, 5 + RESUME_SPARE);
	ck_assert_uint_ge(r->run[0], 2);
	ck_assert_uint_eq(r->absent, 1);
	reopen(0, 0);
	line = resume_line(r, paths);
	ck_assert_int_eq(folder_note(m.folder[0], line), 0);
	made_index(&m, 0,
		   &(struct index_record){ .number = r->next,
					   .run = r->run[0],
					   .bytes = MADE_BLOCK,
					   .present = MADE_SLOTS,
					   .kind = INDEX_BLOCK });
	json_decref(line);
	json_decref(paths);
	made_end(&m, 0);
	resume_free(r);
	r = NULL;
	/* Those that were passed over are no blocks, unless a disk says so. */
	ck_assert_uint_eq(opened(&m, &rec)->absent, 1);
	ck_assert_uint_eq(rec->facts.bytes, 6 * MADE_BLOCK);
	recording_close(rec);
	rename_disk(2, false);
	ck_assert_uint_eq(opened(&m, &rec)->absent, 0);
	b = recording_blocks(rec, &n);
	ck_assert_uint_eq(n, 5 + RESUME_SPARE + 1);
	ck_assert_uint_eq(b[5].record.kind, INDEX_BLOCK);
	ck_assert_uint_eq(b[6].record.kind, RECORDING_UNUSED);
	ck_assert_uint_eq(rec->facts.bytes, 7 * MADE_BLOCK);
	ck_assert_uint_eq(rec->facts.packets, 7 * MADE_SLOTS);
	ck_assert_uint_eq(json_array_size(rec->facts.resumed), 1);
	done(&m, rec);
}
END_TEST

/* A reader of what is being written passes what will never come, when every
 * disk says so. */
START_TEST(a_number_that_is_settled)
{
	json_t *line, *paths = json_array();

	made_begin(&m);
	made_blocks(&m, 3);
	unindexed(0, 3, 0);
	made_end(&m, 0);
	ck_assert_int_eq(truncate(file(0, ".00000003"), 100), 0);
	look(0);
	ck_assert_uint_eq(r->next, 4);
	line = resume_line(r, paths);
	for (unsigned i = 0; i < MADE_DISKS; i++)
		reopen(i, 0);
	made_index(&m, 1,
		   &(struct index_record){ .number = 4,
					   .run = 1,
					   .bytes = MADE_BLOCK,
					   .present = MADE_SLOTS,
					   .kind = INDEX_BLOCK });
	for (unsigned i = 0; i < MADE_DISKS; i++) {
		ck_assert_uint_eq(opened(&m, &rec)->state, RECORDING_LIVE);
		ck_assert_uint_eq(rec->blocks, 3);
		recording_close(rec);
		ck_assert_int_eq(folder_note(m.folder[i], line), 0);
	}
	ck_assert_uint_eq(opened(&m, &rec)->absent, 1);
	ck_assert_uint_eq(rec->blocks, 5);
	json_decref(line);
	json_decref(paths);
	resume_free(r);
	r = NULL;
	done(&m, rec);
}
END_TEST

/* ---- what is refused ----------------------------------------------------- */

START_TEST(refused_as_complete)
{
	made_begin(&m);
	made_blocks(&m, 3);
	look(-EBUSY);
	made_end(&m, 3);
	look(-EALREADY);
	ck_assert_int_eq(resume_look(&r, &m.disks, "nobody", &fault), -ENOENT);
	leave();
}
END_TEST

START_TEST(refused_as_protected)
{
	json_t *done;

	made_begin(&m);
	made_blocks(&m, 3);
	made_end(&m, 0);
	ck_assert_int_eq(protect_set(&m.disks, MADE_NAME, true, &done, &fault),
			 0);
	json_decref(done);
	look(-EPERM);
	leave();
}
END_TEST

/* The same name, from another machine; or a disk that lost its index. */
START_TEST(refused_as_another)
{
	json_t *head;

	made_begin(&m);
	made_blocks(&m, 3);
	made_end(&m, 0);
	ck_assert_int_eq(rename(file(1, ".index"), file(1, ".lost")), 0);
	look(-EBADMSG);
	ck_assert_int_eq(unlink(file(1, ".00000001")), 0);
	ck_assert_int_eq(unlink(file(1, ".lost")), 0);
	ck_assert_int_eq(unlink(file(1, ".meta.jsonl")), 0);
	ck_assert_int_eq(rmdir(scratch_path(&m.scratch, "d1/" MADE_NAME)), 0);
	head = json_deep_copy(m.head);
	json_object_set_new(head, "start",
			    json_string("2020-01-01T00:00:00.000000000Z"));
	ck_assert_int_eq(
	    folder_create(&m.folder[1], &m.disks.disk[1], MADE_NAME, head), 0);
	ck_assert_int_eq(folder_close(m.folder[1], NULL, NULL), 0);
	m.folder[1] = NULL;
	json_decref(head);
	look(-EBADMSG);
	ck_assert_ptr_nonnull(strstr(fault.why, m.disks.disk[1].path));
	leave();
}
END_TEST

START_TEST(refused_as_of_another_stream)
{
	json_t *head, *shape;

	made_begin(&m);
	made_blocks(&m, 3);
	made_end(&m, 0);
	look(0);
	head = json_deep_copy(m.head);
	shape = json_object_get(head, "shape");
	json_object_set_new(head, "start", json_string("now"));
	json_object_set_new(shape, "fps", json_integer(0)); /* not learned */
	ck_assert_int_eq(resume_fits(r, head, &fault), 0);
	json_object_set_new(shape, "fps", json_integer(MADE_FPS + 1));
	ck_assert_int_eq(resume_fits(r, head, &fault), -EINVAL);
	ck_assert_ptr_nonnull(strstr(fault.why, "fps"));
	json_object_set_new(shape, "fps", json_integer(MADE_FPS));
	json_object_set_new(shape, "payload", json_integer(MADE_PAYLOAD + 8));
	ck_assert_int_eq(resume_fits(r, head, &fault), -EINVAL);
	json_object_set_new(shape, "payload", json_integer(MADE_PAYLOAD));
	json_object_set_new(head, "stream", json_string("other"));
	ck_assert_int_eq(resume_fits(r, head, &fault), -EINVAL);
	ck_assert_ptr_nonnull(strstr(fault.why, "stream"));
	json_decref(head);
	leave();
}
END_TEST

/* Killed while it was made: there is no index, and nothing else but what
 * comes before it. */
START_TEST(half_a_folder)
{
	char mark[300];

	made_begin(&m);
	made_blocks(&m, 2);
	made_end(&m, 0);
	ck_assert_int_eq(rename(file(2, ".index"), file(2, ".index.new")), 0);
	snprintf(mark, sizeof mark, "%s", file(2, ".keep"));
	close(open(mark, O_CREAT | O_WRONLY, 0644));
	look(0);
	reopen(2, -ENOENT); /* whatever that is, it stays */
	ck_assert_int_eq(access(file(2, ".meta.jsonl"), F_OK), 0);
	ck_assert_int_eq(unlink(mark), 0);
	ck_assert_int_eq(truncate(file(2, ".meta.jsonl"), 5), 0);
	resume_free(r);
	look(0);
	reopen(2, -ENOENT);
	ck_assert_int_eq(
	    folder_create(&m.folder[2], &m.disks.disk[2], MADE_NAME, m.head),
	    0);
	leave();
}
END_TEST

/* ---- many ---------------------------------------------------------------- */

/* No chunk is opened: they are not even there. */
START_TEST(many_chunks_are_not_read)
{
	enum { MANY = 10000 };
	struct index_record *list = calloc(MANY, sizeof *list);

	made_begin(&m);
	for (uint64_t i = 0; i < MANY; i++)
		list[i] = (struct index_record){ .number = i,
						 .first = i * MADE_SLOTS,
						 .bytes = MADE_BLOCK,
						 .present = MADE_SLOTS,
						 .kind = INDEX_BLOCK };
	ck_assert_int_eq(folder_sync(m.folder[0], list, MANY), 0);
	free(list);
	made_end(&m, 0);
	look(0);
	ck_assert_uint_eq(r->next, MANY);
	ck_assert_uint_eq(r->facts->packets, MANY * MADE_SLOTS);
	leave();
}
END_TEST

SUITE("resume", what_is_there, numbers_that_parity_knows,
      whole_blocks_are_adopted, others_are_left,
      a_chunk_without_a_line_has_its_number, torn_tails_go,
      a_disk_that_is_missing, a_number_that_is_settled, refused_as_complete,
      refused_as_protected, refused_as_another, refused_as_of_another_stream,
      half_a_folder, many_chunks_are_not_read)
