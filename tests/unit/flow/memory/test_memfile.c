/* SPDX-License-Identifier: MIT */
/* Who is given a memfile reads what is in it, and cannot write by any means
 * that there are: as the user who made it (mostly root here), and as another. */
#include "flow/memory/memfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/suite.h"

enum { BYTES = 4 << 20, NOBODY = 65534, SKIPPED = 77 };

/* What could be written by a descriptor; 0: nothing, else a line of this. */
static int
writes(int fd)
{
	const size_t bytes = BYTES;
	void *at;

	if (pwrite(fd, "x", 1, 0) >= 0)
		return __LINE__;
	if (ftruncate(fd, 0) == 0 || ftruncate(fd, 2 * BYTES) == 0)
		return __LINE__;
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
		      BYTES) == 0)
		return __LINE__;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at != MAP_FAILED)
		return __LINE__;
	at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return errno == EACCES ? 0 : __LINE__;
	if (mprotect(at, bytes, PROT_READ | PROT_WRITE) == 0 ||
	    madvise(at, bytes, MADV_REMOVE) == 0)
		return __LINE__;
	munmap(at, bytes);
	return 0;
}

static int
writes_anew(int fd, int how)
{
	char path[64];
	int again, line;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	again = open(path, how | O_CLOEXEC);
	if (again < 0)
		return 0;
	line = writes(again);
	close(again);
	return line;
}

/* The mode and the seals are not to be taken away, either. */
static int
tries(int fd, bool other)
{
	int line = writes(fd);

	line = line ? line : writes_anew(fd, O_RDWR);
	line = line ? line : writes_anew(fd, O_WRONLY);
	if (!line && fchmod(fd, 0777) == 0 && other)
		line = __LINE__;
	line = line ? line : writes_anew(fd, O_RDWR);
	if (!line && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0)
		line = __LINE__;
	return line;
}

/* In a process of its own; its status. */
static int
by(const struct memfile *m, uid_t user)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		munmap(m->at, m->bytes);
		if (user && setuid(user) < 0)
			_exit(SKIPPED);
		/* Which checks that it can be read at all. */
		const char *at =
		    mmap(NULL, BYTES, PROT_READ, MAP_SHARED, m->fd, 0);

		if (at == MAP_FAILED || at[0] != 'a' || at[BYTES - 1] != 'z')
			_exit(1);
		status = tries(m->fd, user);
		if (status)
			fprintf(stderr, "written: line %d\n", status);
		_exit(status ? 2 : 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
check(const struct memfile *m)
{
	char *at = m->at;

	ck_assert_int_ge(m->fd, 0);
	ck_assert(m->sealed);
	at[0] = 'a';
	at[BYTES - 1] = 'z';
	ck_assert_int_eq(by(m, 0), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(by(m, NOBODY), 0);
	ck_assert(at[0] == 'a' && at[BYTES - 1] == 'z');
	at[0] = 'b'; /* its owner still can */
}

START_TEST(is_read_and_not_written)
{
	struct memfile m;

	ck_assert_int_eq(memfile_make(&m, "test", BYTES, false), 0);
	check(&m);
	memfile_free(&m);
	ck_assert_int_eq(m.fd, -1);
}
END_TEST

/* Where some are reserved. */
START_TEST(so_are_huge_pages)
{
	struct memfile m;
	int err = memfile_make(&m, "test", BYTES, true);

	if (!err)
		check(&m);
	else
		ck_assert(m.at == MAP_FAILED && m.fd == -1);
	memfile_free(&m);
}
END_TEST

START_TEST(too_much_is_refused)
{
	struct memfile m;

	ck_assert_int_lt(memfile_make(&m, "test", UINT64_C(1) << 62, false), 0);
	ck_assert(m.at == MAP_FAILED && m.fd == -1);
}
END_TEST

SUITE("memfile", is_read_and_not_written, so_are_huge_pages,
      too_much_is_refused)
