/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <fcntl.h>
#include <linux/ioprio.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/ease.h"
#include "lib/scratch.h"
#include "lib/suite.h"

enum { PAGE = 4096, PAGES = 256 };

START_TEST(process_is_idle)
{
	ease_process();
	ck_assert_int_eq(
	    IOPRIO_PRIO_CLASS(syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0)),
	    IOPRIO_CLASS_IDLE);
}
END_TEST

/* Says what is under way on the disk of a file, instead of the kernel. */
static void
say(const char *sys, int fd, const char *text)
{
	char path[512];
	struct stat st;
	FILE *file;

	ck_assert_int_eq(fstat(fd, &st), 0);
	snprintf(path, sizeof path, "%s/%u:%u", sys, major(st.st_dev),
		 minor(st.st_dev));
	mkdir(path, 0755);
	strcat(path, "/inflight");
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

static int
make(const char *folder)
{
	static const char page[PAGE];
	char path[512];
	int fd;

	snprintf(path, sizeof path, "%s/file", folder);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	ck_assert_int_ge(fd, 0);
	for (unsigned i = 0; i < PAGES; i++)
		ck_assert_int_eq(write(fd, page, PAGE), PAGE);
	ck_assert_int_eq(fsync(fd), 0);
	ck_assert_int_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	return fd;
}

/* How many pages the kernel has, once one was read. */
static unsigned
read_one(int fd)
{
	unsigned char there[PAGES];
	char page[PAGE];
	unsigned n = 0;
	void *map = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);

	ck_assert_ptr_ne(map, MAP_FAILED);
	ck_assert_int_eq(pread(fd, page, PAGE, 0), PAGE);
	ck_assert_int_eq(mincore(map, PAGES * PAGE, there), 0);
	for (unsigned i = 0; i < PAGES; i++)
		n += there[i] & 1;
	munmap(map, PAGES * PAGE);
	return n;
}

START_TEST(reads_ahead_where_nobody_writes)
{
	struct scratch s;
	const char *folder;
	int fd;

	scratch_make(&s);
	folder = s.path;
	fd = make(folder);
	ck_assert(!ease_file_by(folder, fd)); /* the kernel does not tell */
	say(folder, fd, "rubbish");
	ck_assert(!ease_file_by(folder, fd));
	say(folder, fd, "       7        0\n");
	ck_assert(!ease_file_by(folder, fd));
	ck_assert_uint_gt(read_one(fd), 1);
	close(fd);
	scratch_remove(&s);
}
END_TEST

START_TEST(reads_a_page_where_somebody_writes)
{
	struct scratch s;
	const char *folder;
	bool tmpfs;
	int fd;

	scratch_make(&s);
	folder = s.path;
	fd = make(folder);
	tmpfs = read_one(fd) == PAGES; /* nothing is read there */
	close(fd);
	fd = make(folder);
	say(folder, fd, "       0        2\n");
	ck_assert(ease_file_by(folder, fd));
	if (!tmpfs)
		ck_assert_uint_eq(read_one(fd), 1);
	close(fd);
	scratch_remove(&s);
}
END_TEST

START_TEST(refuses_no_file)
{
	ck_assert(!ease_file(-1));
}
END_TEST

SUITE("ease", process_is_idle, reads_ahead_where_nobody_writes,
      reads_a_page_where_somebody_writes, refuses_no_file)
