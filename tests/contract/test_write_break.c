/* SPDX-License-Identifier: MIT */
/*
 * What breaks around a write plugin: space that ends, files that cannot be
 * written, a kernel that refuses.  Every request comes back, the others are
 * not touched, and the instance goes on, or is closed.
 */
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "contract/write_bench.h"

static void
works(struct bench *b, const char *what)
{
	char name[48];
	int fd;

	snprintf(name, sizeof name, "%s-%s", what, b->ops->head.name);
	fd = file_open(b, name, O_CREAT | O_WRONLY);
	if (fd < 0)
		return;
	write_pages(b, fd, 0, PAGES);
	file_close(b, fd);
	file_check(b, name);
	unlink(scratch_path(&scratch, name));
}

/* ---- space that ends ------------------------------------------------- */

enum { ROOM = 37 }; /* pages */

/*
 * Requests of five pages until there is no more room: those before it are
 * whole, one may be short, those behind it are `err`.  Returns the pages.
 */
static unsigned
fill_up(struct bench *b, int fd, int err)
{
	static struct write_request r[PAGES / 5];
	unsigned pages = 0, refused = 0;

	for (unsigned i = 0; i < PAGES / 5; i++) {
		r[i] = request_of(fd, 5 * i, 5);
		while (!submit(b, &r[i]))
			reap(b);
	}
	drain(b);
	for (unsigned i = 0; i < PAGES / 5; i++) {
		ck_assert_ptr_null(r[i].tag);
		ck_assert(r[i].result >= 0 || r[i].result == err);
		if (r[i].result >= 0)
			pages += (unsigned)(r[i].result / PAGE);
		else
			refused++;
	}
	ck_assert_uint_gt(refused, 0);
	return pages;
}

/* A limit of the file's size: the one at the end is written in part. */
static void
a_file_that_may_not_grow(const struct write_ops *ops)
{
	struct rlimit was, limit;
	struct bench b;
	int fd;

	bench_open(&b, ops);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
	limit = was;
	limit.rlim_cur = ROOM * PAGE;
	signal(SIGXFSZ, SIG_IGN);
	fd = stores(&b) ? file_open(&b, "limit", O_CREAT | O_WRONLY) : -1;
	if (fd >= 0) {
		struct write_request r = request_of(fd, ROOM - 2, 5);

		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
		write_one(&b, &r);
		ck_assert_int_eq(r.result, 2 * PAGE);
		ck_assert_uint_eq(fill_up(&b, fd, -EFBIG), ROOM);
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &was), 0);
		file_close(&b, fd);
		unlink(scratch_path(&scratch, "limit"));
		works(&b, "after");
	}
	bench_close(&b);
}

/* A file system of few pages, in a mount namespace of this process; false
 * where that takes a right that it does not have. */
static bool
small_disk(void)
{
	char options[32];

	snprintf(options, sizeof options, "size=%d", ROOM * PAGE);
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", scratch.path, "tmpfs", 0, options) == 0;
}

static void
a_disk_that_is_full(const struct write_ops *ops)
{
	struct bench b;
	int fd;

	bench_open(&b, ops);
	if (stores(&b) && small_disk()) {
		fd = file_open(&b, "full", O_CREAT | O_WRONLY);
		if (fd >= 0) {
			ck_assert_uint_le(fill_up(&b, fd, -ENOSPC), ROOM);
			ck_assert_int_eq(ftruncate(fd, 0), 0);
			write_pages(&b, fd, 0, ROOM / 2);
			file_close(&b, fd);
		}
		ck_assert_int_eq(umount2(scratch.path, MNT_DETACH), 0);
		works(&b, "after");
	}
	bench_close(&b);
}

/* ---- files that cannot be written ------------------------------------ */

/* Among good ones; closed right after. */
static void
errors_in_the_middle(const struct write_ops *ops)
{
	static struct write_request r[PAGES];
	struct bench b;
	int good, bad;

	bench_open(&b, ops);
	good = stores(&b) ? file_open(&b, "middle", O_CREAT | O_WRONLY) : -1;
	if (good >= 0) {
		bad = file_open(&b, "middle", O_RDONLY);
		for (unsigned i = 0; i < PAGES; i++) {
			r[i] = request_of(i % 3 == 1 ? bad : good, i, 1);
			while (!submit(&b, &r[i]))
				reap(&b);
		}
		drain(&b);
		for (unsigned i = 0; i < PAGES; i++) {
			ck_assert_ptr_null(r[i].tag);
			ck_assert_int_eq(r[i].result,
					 i % 3 == 1 ? -EBADF : PAGE);
		}
		file_close(&b, bad);
		file_close(&b, good);
		unlink(scratch_path(&scratch, "middle"));
	}
	bench_close(&b);
}

static unsigned
open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Nothing is left of any, however it went. */
static void
opened_and_closed_often(const struct write_ops *ops)
{
	unsigned before = open_files();

	for (int i = 0; i < 100; i++) {
		struct write_request r = request_of(-1, 0, 1);
		struct bench b;

		bench_open(&b, ops);
		if (i % 2) {
			write_one(&b, &r);
			ck_assert(r.result == -EBADF || !stores(&b));
		}
		bench_close(&b);
	}
	ck_assert_uint_eq(open_files(), before);
}

/* ---- a kernel that refuses ------------------------------------------- */

/* As an ordinary user who may lock enough for a ring, and less than the
 * data: one line, and it works. */
static void
an_arena_that_is_refused(const struct write_ops *ops)
{
	struct rlimit was, limit;
	struct bench b;
	int err;

	ck_assert_int_eq(getrlimit(RLIMIT_MEMLOCK, &was), 0);
	limit = was;
	limit.rlim_cur = BYTES / 4 * 3;
	ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	err = bench_try(&b, ops, data, BYTES);
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &was), 0);
	ck_assert_int_eq(err, 0);
	ck_assert_uint_le(b.told.lines, 1);
	if (!strcmp(ops->head.name, "uring"))
		ck_assert_ptr_nonnull(strstr(b.told.last, "RLIMIT_MEMLOCK"));
	works(&b, "refused");
	bench_close(&b);
}

/* What containers do: these calls are not permitted. */
static void
forbid(long call)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof filter / sizeof *filter, filter };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program),
			 0);
}

/* It says so, once for all disks, or does without. */
static void
calls_that_are_forbidden(const struct write_ops *ops)
{
	bool needs =
	    !strcmp(ops->head.name, "uring") || !strcmp(ops->head.name, "aio");

	forbid(SYS_io_uring_setup);
	forbid(SYS_io_setup);
	for (unsigned disk = 0; disk < 3; disk++) {
		struct bench b;
		int err = bench_try(&b, ops, data, BYTES);

		ck_assert_int_eq(err, needs ? -EPERM : 0);
		ck_assert_uint_eq(b.told.lines, needs && disk == 0);
		if (needs)
			free(b.options);
		else
			bench_close(&b);
	}
}

CONTRACT(a_file_that_may_not_grow)
CONTRACT(a_disk_that_is_full)
CONTRACT(errors_in_the_middle)
CONTRACT(opened_and_closed_often)
CONTRACT(an_arena_that_is_refused)
CONTRACT(calls_that_are_forbidden)

SUITE("write contract: break", plugin_a_file_that_may_not_grow,
      plugin_a_disk_that_is_full, plugin_errors_in_the_middle,
      plugin_opened_and_closed_often, plugin_an_arena_that_is_refused,
      plugin_calls_that_are_forbidden)
