/* SPDX-License-Identifier: MIT */
/* A torn chunk that its group gives, on a disk that does not take it. */
#include "config.h"

#include <signal.h>
#include <sys/resource.h>

#include "lib/made_parity.h"
#include "lib/made_recover.h"

static struct made m;
static struct recover_report report;

/* No file grows beyond so many bytes. */
static void
files_end_at(rlim_t bytes)
{
	const struct rlimit limit = { bytes, RLIM_INFINITY };

	signal(SIGXFSZ, bytes == RLIM_INFINITY ? SIG_DFL : SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Blocks 0 and 1 on disks 0 and 1, with parity on disk 2; 1 is torn, and in no
 * index. */
static void
make(void)
{
	static struct made_block mb;
	char file[LAYOUT_FILE];

	m.parity = 1;
	m.quantum = 512;
	made_begin(&m);
	for (unsigned i = 0; i < MADE_DISKS; i++)
		made_run(&m, i, 0, MADE_BASE);
	made_block(&m, &mb, 0, 0, MADE_SLOTS);
	made_write(&m, 0, &mb);
	made_block(&m, &mb, 1, MADE_SLOTS, MADE_SLOTS);
	made_chunk(&m, 1, &mb);
	made_parity(&m, 0, 2, (unsigned[]){ 2 }, NULL);
	made_end(&m, 0);
	ck_assert_int_eq(
	    truncate(made_path(&m, 1, layout_chunk(file, MADE_NAME, 1)), 100),
	    0);
}

START_TEST(written)
{
	make();
	recovered(&m, &report);
	ck_assert_uint_eq(report.rebuilt, 1);
	ck_assert_uint_eq(report.aside + report.failed, 0);
	is_whole(&m, 2 * MADE_SLOTS);
	reads_as_sent(&m, 2 * MADE_SLOTS);
	made_finish(&m);
}
END_TEST

START_TEST(not_taken)
{
	char file[LAYOUT_FILE];
	struct stat st;

	make();
	files_end_at(MADE_BLOCK - 1000);
	recovered(&m, &report);
	files_end_at(RLIM_INFINITY);
	ck_assert_uint_eq(report.rebuilt, 0);
	ck_assert_uint_eq(report.failed, 1);
	ck_assert_uint_eq(report.aside, 1);
	ck_assert(report.closed);
	ck_assert_int_eq(
	    stat(made_path(&m, 1, layout_aside(file, MADE_NAME, 1, 0)), &st),
	    0);
	ck_assert(!recover_needed(&m.disks, MADE_NAME));
	reads_as_sent(&m, 2 * MADE_SLOTS);
	made_finish(&m);
}
END_TEST

SUITE_THREADS("recover_parity", NULL, written, not_taken)
