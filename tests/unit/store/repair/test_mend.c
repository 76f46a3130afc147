/* SPDX-License-Identifier: MIT */
/*
 * Rebuild where a disk gives less than it should: metadata that were not read to
 * their end, a chunk that nothing gives, a disk that has nothing yet.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "store/recording/recording_priv.h"
#include "store/repair/mend_priv.h"
#include "lib/hang_fs.h"
#include "lib/made_parity.h"
#include "lib/made_recover.h"

static struct made m;
static struct mend_report report;
static struct fault fault;

/* The last thing that was said. */
static char said[512];

static void
listen(void *arg, const char *sentence)
{
	(void)arg;
	snprintf(said, sizeof said, "%s", sentence);
}

static const struct mend_args args = { .say = listen };

static void
make(unsigned blocks, unsigned parity)
{
	static struct made_block mb;

	m.parity = parity;
	m.quantum = 512;
	made_begin(&m);
	for (unsigned i = 0; i < MADE_DISKS; i++)
		made_run(&m, i, 0, MADE_BASE);
	for (unsigned i = 0; i < blocks; i++) {
		made_block(&m, &mb, i, i * MADE_SLOTS, MADE_SLOTS);
		if (!parity)
			made_lose(&mb, 3);
		made_write(&m, i % 2, &mb);
	}
}

static char *
text_of(unsigned disk, size_t *bytes)
{
	char file[LAYOUT_FILE], *text = malloc(1 << 20);
	FILE *f = fopen(made_path(&m, disk, layout_meta(file, MADE_NAME)), "r");

	ck_assert_ptr_nonnull(f);
	*bytes = fread(text, 1, 1 << 20, f);
	fclose(f);
	return text;
}

/* A line that is added is behind all that are there, also behind those that could
 * not be read; a torn one is cut off. */
START_TEST(line_behind_unread)
{
	struct mend w = { .a = &args,
			  .report = &report,
			  .verb = "rebuild",
			  .disks = &m.disks };
	char file[LAYOUT_FILE], *was, *is;
	size_t bytes, more;

	make(2, 0);
	made_end(&m, 2);
	was = text_of(1, &bytes);
	append(made_path(&m, 1, layout_meta(file, MADE_NAME)), "{\"to", 4);
	ck_assert_int_eq(mend_open(&w, MADE_NAME, &fault), 0);
	ck_assert_uint_eq(w.rec->part[1].meta_bytes, bytes);
	w.rec->part[1].meta_bytes = strchr(was, '\n') + 1 - was;
	ck_assert_int_eq(rebuild_holes(&w, w.rec, 0, 1), 0);
	mend_close(&w);
	is = text_of(1, &more);
	ck_assert_uint_gt(more, bytes);
	ck_assert_mem_eq(is, was, bytes);
	ck_assert_mem_eq(is + bytes, "{\"block\":0,", 11);
	free(was);
	free(is);
	made_finish(&m);
}
END_TEST

/* A disk that fails to read its metadata is named, and nothing is put there. */
START_TEST(unread)
{
	static struct hang_fs fs;
	char under[300], file[LAYOUT_FILE];
	struct recording *rec;

	make(2, 1);
	for (unsigned i = 0; i < 200; i++)
		append(made_path(&m, 2, layout_meta(file, MADE_NAME)),
		       "{\"a line that says nothing of note\":1}\n", 39);
	made_end(&m, 2);
	snprintf(under, sizeof under, "%s-under", m.disks.disk[2].path);
	if (!hang_fs_can(&fs)) {
		made_finish(&m);
		return;
	}
	disk_close(&m.disks.disk[2]);
	ck_assert_int_eq(rename(m.disks.disk[2].path, under), 0);
	ck_assert_int_eq(mkdir(m.disks.disk[2].path, 0755), 0);
	ck_assert_int_eq(hang_fs_mount(&fs, under, m.disks.disk[2].path), 0);
	atomic_store(&fs.told->fail_from, 4096);
	atomic_store(&fs.told->fail_to, 1 << 20);
	ck_assert_int_eq(disk_open(&m.disks.disk[2]), 0);
	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault), 0);
	ck_assert_int_eq(rec->part[2].meta_err, -EIO);
	recording_close(rec);
	ck_assert_int_eq(rebuild(&m.disks, MADE_NAME, &args, &report, &fault),
			 0);
	ck_assert_uint_eq(report.failed, 1);
	ck_assert_ptr_nonnull(strstr(said, "cannot be read to its end"));
	disk_close(&m.disks.disk[2]);
	hang_fs_unmount(&fs);
	m.disks.disk[2].mount = false;
	rmdir(m.disks.disk[2].path);
	ck_assert_int_eq(rename(under, m.disks.disk[2].path), 0);
	ck_assert_int_eq(disk_open(&m.disks.disk[2]), 0);
	made_finish(&m);
}
END_TEST

/* A file that is implausibly long was not read, so nothing is done. */
START_TEST(refuses)
{
	char file[LAYOUT_FILE];

	make(2, 1);
	made_end(&m, 2);
	ck_assert_int_eq(
	    truncate(made_path(&m, 2, layout_meta(file, MADE_NAME)), INT64_C(2)
									 << 30),
	    0);
	ck_assert_int_eq(rebuild(&m.disks, MADE_NAME, &args, &report, &fault),
			 -EFBIG);
	ck_assert_int_eq(scrub(&m.disks, MADE_NAME, &args, &report, &fault),
			 -EFBIG);
	made_finish(&m);
}
END_TEST

/* A chunk that is damaged does not keep the others of its group from new
 * parity. */
START_TEST(bad_member)
{
	char file[LAYOUT_FILE];

	make(2, 1);
	made_end(&m, 2);
	made_spoil(&m, 0, layout_chunk(file, MADE_NAME, 0), 700);
	ck_assert_int_eq(rebuild(&m.disks, MADE_NAME, &args, &report, &fault),
			 0);
	ck_assert_uint_eq(report.parity, 1);
	ck_assert_uint_eq(report.left, 1);
	ck_assert_uint_eq(report.failed, 1);
	ck_assert_ptr_nonnull(strstr(said, "chunk 0 on "));
	ck_assert_ptr_nonnull(strstr(said, "it is damaged"));
	/* Its disk goes, and the other chunk is there. */
	made_hide(&m, 1);
	ck_assert_int_eq(rebuild(&m.disks, MADE_NAME, &args, &report, &fault),
			 0);
	ck_assert_uint_eq(report.chunks, 1);
	made_finish(&m);
}
END_TEST

/* Takes all that a disk has: another one is in its place. */
static void
replace(unsigned disk)
{
	char were[300];

	snprintf(were, sizeof were, "%s-were%d", m.disks.disk[disk].path,
		 rand());
	disk_close(&m.disks.disk[disk]);
	ck_assert_int_eq(rename(m.disks.disk[disk].path, were), 0);
	ck_assert_int_eq(mkdir(m.disks.disk[disk].path, 0755), 0);
	ck_assert_int_eq(disk_open(&m.disks.disk[disk]), 0);
}

/* All bytes are there without any one of the disks. */
static void
is_safe(unsigned blocks)
{
	for (unsigned i = 0; i < MADE_DISKS; i++) {
		made_hide(&m, i);
		reads_as_sent(&m, blocks * MADE_SLOTS);
		made_show(&m, i);
	}
}

/* An empty disk in the place of one that had a chunk, or parity, takes that. */
START_TEST(new_disk)
{
	enum { BLOCKS = 8 };

	make(BLOCKS, 1);
	for (unsigned i = 0; i < BLOCKS; i += 2)
		made_parity(&m, i, 2, (unsigned[]){ 2 }, NULL);
	made_end(&m, BLOCKS);
	for (unsigned i = 1; i < MADE_DISKS; i++) {
		replace(i);
		m.disks.disk[i].mount = true;
		ck_assert_int_eq(
		    rebuild(&m.disks, MADE_NAME, &args, &report, &fault), 0);
		m.disks.disk[i].mount = false;
		ck_assert_uint_eq(report.lost + report.failed + report.left, 0);
		ck_assert_uint_eq(report.chunks, i == 1 ? BLOCKS / 2 : 0);
		ck_assert_uint_eq(report.parity, i == 1 ? 0 : BLOCKS / 2);
		is_whole(&m, BLOCKS * MADE_SLOTS);
		is_safe(BLOCKS);
	}
	made_finish(&m);
}
END_TEST

/* A run that was cut short began the folder; where nothing is mounted, none is
 * made. */
START_TEST(new_disk_begun)
{
	char dir[300], file[LAYOUT_FILE];
	struct stat st;
	FILE *f;

	make(2, 1);
	made_parity(&m, 0, 2, (unsigned[]){ 2 }, NULL);
	made_end(&m, 2);
	replace(1);
	snprintf(dir, sizeof dir, "%s/" MADE_NAME, m.disks.disk[1].path);
	ck_assert_int_eq(rebuild(&m.disks, MADE_NAME, &args, &report, &fault),
			 0);
	ck_assert_int_eq(stat(dir, &st), -1);
	made_finish(&m);

	make(2, 1);
	made_parity(&m, 0, 2, (unsigned[]){ 2 }, NULL);
	made_end(&m, 2);
	replace(1);
	snprintf(dir, sizeof dir, "%s/" MADE_NAME, m.disks.disk[1].path);
	ck_assert_int_eq(mkdir(dir, 0755), 0);
	f = fopen(made_path(&m, 1, layout_meta(file, MADE_NAME)), "w");
	fputs("{}\n", f);
	fclose(f);
	m.disks.disk[1].mount = true;
	ck_assert_int_eq(rebuild(&m.disks, MADE_NAME, &args, &report, &fault),
			 0);
	m.disks.disk[1].mount = false;
	ck_assert_uint_eq(report.chunks, 1);
	is_safe(2);
	made_finish(&m);
}
END_TEST

/* Two groups of which each has both members on one disk, and their parity on
 * another. */
static void
make_doubled(void)
{
	static struct made_block mb;

	m.parity = 1;
	m.quantum = 512;
	made_begin(&m);
	for (unsigned i = 0; i < MADE_DISKS; i++)
		made_run(&m, i, 0, MADE_BASE);
	for (unsigned i = 0; i < 4; i++) {
		made_block(&m, &mb, i, i * MADE_SLOTS, MADE_SLOTS);
		made_write(&m, i / 2, &mb);
	}
	made_parity(&m, 0, 2, (unsigned[]){ 2 }, NULL);
	made_parity(&m, 2, 2, (unsigned[]){ 2 }, NULL);
	made_end(&m, 4);
}

/* A chunk that only its group gives stays in that group: a new one of two such
 * chunks would give neither. */
START_TEST(damaged_members)
{
	char file[LAYOUT_FILE];

	make_doubled();
	made_spoil(&m, 0, layout_chunk(file, MADE_NAME, 0), 700);
	made_spoil(&m, 1, layout_chunk(file, MADE_NAME, 2), 700);
	reads_as_sent(&m, 4 * MADE_SLOTS);
	ck_assert_int_eq(rebuild(&m.disks, MADE_NAME, &args, &report, &fault),
			 0);
	ck_assert_uint_eq(report.failed, 2);
	ck_assert_uint_eq(report.left, 2);
	reads_as_sent(&m, 4 * MADE_SLOTS);
	ck_assert_int_eq(scrub(&m.disks, MADE_NAME, &args, &report, &fault), 0);
	ck_assert_uint_eq(report.chunks, 2);
	ck_assert_int_eq(rebuild(&m.disks, MADE_NAME, &args, &report, &fault),
			 0);
	ck_assert_uint_eq(report.failed + report.left, 0);
	reads_as_sent(&m, 4 * MADE_SLOTS);
	made_finish(&m);
}
END_TEST

/* Parity that came back with its disk is kept where the one that was made meanwhile
 * is damaged. */
START_TEST(older_group_stays)
{
	char file[LAYOUT_FILE];
	struct recording *rec;
	struct parity_record p;

	make(2, 1);
	made_parity(&m, 0, 2, (unsigned[]){ 2 }, NULL);
	made_end(&m, 2);
	made_hide(&m, 2);
	ck_assert_int_eq(rebuild(&m.disks, MADE_NAME, &args, &report, &fault),
			 0);
	made_show(&m, 2);
	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault), 0);
	p = rec->parity.block[parity_find(&rec->parity, 0)->block].record;
	ck_assert_uint_ne(p.generation, 0);
	layout_parity(file, MADE_NAME, p.group, p.generation);
	made_spoil(&m,
		   rec->parity.block[parity_find(&rec->parity, 0)->block].disk,
		   file, 50);
	recording_close(rec);
	made_spoil(&m, 0, layout_chunk(file, MADE_NAME, 0), 700);
	reads_as_sent(&m, 2 * MADE_SLOTS);
	ck_assert_int_eq(rebuild(&m.disks, MADE_NAME, &args, &report, &fault),
			 0);
	reads_as_sent(&m, 2 * MADE_SLOTS);
	made_finish(&m);
}
END_TEST

/* The disk that does not take parity is named. */
START_TEST(not_taken)
{
	char file[LAYOUT_FILE];

	make(2, 1);
	made_end(&m, 2);
	ck_assert_int_eq(
	    mkdir(made_path(&m, 2, layout_parity_new(file, MADE_NAME)), 0755),
	    0);
	ck_assert_int_eq(rebuild(&m.disks, MADE_NAME, &args, &report, &fault),
			 0);
	ck_assert_uint_eq(report.failed, 1);
	ck_assert(!report.few);
	snprintf(file, sizeof file,
		 "cannot be written to %s: ", m.disks.disk[2].path);
	ck_assert_ptr_nonnull(strstr(said, file));
	ck_assert_int_eq(
	    rmdir(made_path(&m, 2, layout_parity_new(file, MADE_NAME))), 0);
	made_finish(&m);
}
END_TEST

/* A list that is too long to be read is set aside, and the parity that is there is
 * listed anew, and not made again. */
START_TEST(list_too_long)
{
	char file[LAYOUT_FILE];
	struct stat st;

	make(8, 1);
	for (unsigned i = 0; i < 8; i += 2)
		made_parity(&m, i, 2, (unsigned[]){ 2 }, NULL);
	made_end(&m, 8);
	for (unsigned i = 0; i < 2; i++) {
		layout_parity_list(file, MADE_NAME);
		ck_assert_int_eq(truncate(made_path(&m, 2, file),
					  i ? INT64_C(5) << 30 : 1 << 20),
				 0);
		ck_assert_int_eq(
		    rebuild(&m.disks, MADE_NAME, &args, &report, &fault), 0);
		ck_assert_uint_eq(report.chunks + report.failed + report.left,
				  0);
		ck_assert_uint_eq(report.parity, i ? 1 + 4 : 1);
		ck_assert_int_eq(stat(made_path(&m, 2, file), &st), 0);
		ck_assert_int_eq(st.st_size, 4 * 3 * INDEX_BYTES);
		ck_assert_int_eq(
		    rebuild(&m.disks, MADE_NAME, &args, &report, &fault), 0);
		ck_assert_uint_eq(report.parity + report.left, 0);
		is_safe(8);
	}
	made_finish(&m);
}
END_TEST

SUITE_THREADS("mend", NULL, not_taken, list_too_long, line_behind_unread,
	      unread, refuses, bad_member, damaged_members, older_group_stays,
	      new_disk, new_disk_begun)
