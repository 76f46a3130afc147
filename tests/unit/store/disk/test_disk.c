/* SPDX-License-Identifier: MIT */
/* Patterns, folders that are not mounted, and space below the reserve. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/disk/disk.h"
#include "store/disk/file.h"
#include "lib/scratch.h"
#include "lib/suite.h"

static struct scratch s;

static struct disks
find(const char *one, const char *two, struct fault *fault)
{
	const char *text[] = { one, two };
	struct option_texts patterns = { text, two ? 2 : 1 };
	struct disks disks;

	*fault = (struct fault){ 0 };
	ck_assert_int_eq(disks_find(&disks, &patterns, fault), 0);
	return disks;
}

START_TEST(plain_folders)
{
	struct fault fault;
	struct disks disks;
	struct disk_space space;

	scratch_make(&s);
	ck_assert_int_eq(mkdir(scratch_path(&s, "a"), 0755), 0);
	disks = find(scratch_path(&s, "a///"), scratch_path(&s, "a"), &fault);
	ck_assert_uint_eq(disks.n, 1);
	ck_assert_str_eq(disks.disk[0].path, scratch_path(&s, "a"));
	ck_assert_int_ge(disks.disk[0].fd, 0);
	ck_assert_uint_ge(disks.disk[0].reserve, 256 << 20);
	ck_assert_int_eq(disk_space(&disks.disk[0], &space), 0);
	ck_assert_uint_lt(space.free, space.total);
	disks.disk[0].reserve = UINT64_MAX;
	ck_assert_int_eq(disk_space(&disks.disk[0], &space), 0);
	ck_assert_uint_eq(space.free, 0);
	disks_clear(&disks);
	ck_assert_uint_eq(disks.n, 0);
	disks_clear(&disks);
	scratch_remove(&s);
}
END_TEST

/* A link, and "..": one folder by three names. */
START_TEST(one_folder_counts_once)
{
	struct fault fault;
	struct disks disks;

	scratch_make(&s);
	ck_assert_int_eq(mkdir(scratch_path(&s, "a"), 0755), 0);
	ck_assert_int_eq(mkdir(scratch_path(&s, "b"), 0755), 0);
	ck_assert_int_eq(symlink("a", scratch_path(&s, "link")), 0);
	disks = find(scratch_path(&s, "link"), scratch_path(&s, "a"), &fault);
	ck_assert_uint_eq(disks.n, 1);
	ck_assert_uint_eq(disks.twins, 1);
	ck_assert_str_eq(disks.disk[0].path, scratch_path(&s, "link"));
	disks_clear(&disks);
	disks = find(scratch_path(&s, "a"), scratch_path(&s, "b/../a"), &fault);
	ck_assert_uint_eq(disks.n, 1);
	disks_clear(&disks);
	disks = find(scratch_path(&s, "a"), scratch_path(&s, "b"), &fault);
	ck_assert_uint_eq(disks.n, 2);
	ck_assert_uint_eq(disks.twins, 0);
	disks_clear(&disks);
	scratch_remove(&s);
}
END_TEST

START_TEST(paths_and_patterns)
{
	ck_assert(disk_is_pattern("/mnt/disk*"));
	ck_assert(disk_is_pattern("/mnt/disk[0-9]"));
	ck_assert(!disk_is_pattern("/mnt/disk0"));
	ck_assert(disk_matches("/mnt/disk*", "/mnt/disk12"));
	ck_assert(!disk_matches("/mnt/disk*", "/mnt/disk1/data"));
	ck_assert(!disk_matches("/mnt/*", "/mnt/.hidden"));
	ck_assert(disk_matches("/mnt/disk0/", "/mnt/disk0"));
	ck_assert(!disk_matches("/mnt/disk0", "/mnt/disk01"));
	ck_assert(!disk_matches("/mnt/disk01", "/mnt/disk0"));
	ck_assert(disk_matches("/", "/"));
}
END_TEST

START_TEST(schemes)
{
	char text[] = "/mnt/a:rados://pool/one?user=x::rados://pool/two:b";
	char *list = text;

	ck_assert_str_eq(disk_list_next(&list), "/mnt/a");
	ck_assert_str_eq(disk_list_next(&list), "rados://pool/one?user=x");
	ck_assert_str_eq(disk_list_next(&list), "");
	ck_assert_str_eq(disk_list_next(&list), "rados://pool/two");
	ck_assert_str_eq(disk_list_next(&list), "b");
	ck_assert_ptr_null(disk_list_next(&list));

	ck_assert(!disk_is_pattern("rados://pool/one?user=x"));
	ck_assert(disk_is_absolute("rados://pool/one"));
	ck_assert(disk_is_absolute("/mnt/a"));
	ck_assert(!disk_is_absolute("mnt/a://b"));

	ck_assert(disk_path_same("/mnt/a", "/mnt/a"));
	ck_assert(!disk_path_same("/mnt/a", "/mnt/a?b"));
	ck_assert(disk_path_same("rados://p/one?user=x", "rados://p/one"));
	ck_assert(disk_path_same("rados://p/one", "rados://p/one?user=y"));
	ck_assert(!disk_path_same("rados://p/one", "rados://p/ones"));
	ck_assert(!disk_path_same("rados://p/ones?user=x", "rados://p/one"));
}
END_TEST

START_TEST(no_such_plugin)
{
	struct fault fault;
	struct disks disks = find("nothing://here", NULL, &fault);

	ck_assert_uint_eq(disks.n, 1);
	ck_assert_int_lt(disks.disk[0].fd, 0);
	disks_clear(&disks);
}
END_TEST

START_TEST(looked_at_from_outside)
{
	struct disk_id device = { 0 }, proc = { 0 };
	char file[512];
	int fd;

	scratch_make(&s);
	ck_assert_int_eq(disk_look(s.path, false, &device), 0);
	ck_assert_uint_ne(device.device, 0);
	ck_assert_uint_ne(device.folder, 0);
	ck_assert_int_eq(disk_look(s.path, true, &device), -ENODEV);
	ck_assert_int_eq(disk_look("/proc", true, &proc), 0);
	ck_assert_uint_ne(proc.device, device.device);
	ck_assert_int_eq(disk_look(scratch_path(&s, "no"), false, &device),
			 -ENOENT);
	snprintf(file, sizeof file, "%s", scratch_path(&s, "file"));
	fd = open(file, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(disk_look(file, false, &device), -ENOTDIR);
	scratch_remove(&s);
}
END_TEST

START_TEST(one_that_is_not_there)
{
	struct disk_space space;
	struct fault fault;
	struct disks disks;

	scratch_make(&s);
	disks = find(scratch_path(&s, "later"), NULL, &fault);
	ck_assert_uint_eq(disks.n, 1);
	ck_assert_int_eq(disks.disk[0].fd, -1);
	ck_assert_int_eq(disk_space(&disks.disk[0], &space), -ENODEV);
	ck_assert_int_eq(disk_open(&disks.disk[0]), -ENOENT);
	ck_assert_int_eq(mkdir(scratch_path(&s, "later"), 0755), 0);
	ck_assert_int_eq(disk_open(&disks.disk[0]), 0);
	ck_assert_int_eq(disk_space(&disks.disk[0], &space), 0);
	disks_clear(&disks);
	scratch_remove(&s);
}
END_TEST

START_TEST(not_mounted)
{
	struct fault fault;
	struct disks disks;

	scratch_make(&s);
	ck_assert_int_eq(mkdir(scratch_path(&s, "disk0"), 0755), 0);
	ck_assert_int_eq(mkdir(scratch_path(&s, "disk1"), 0755), 0);
	fclose(fopen(scratch_path(&s, "disk2"), "w"));
	disks = find(scratch_path(&s, "disk*"), NULL, &fault);
	ck_assert_uint_eq(disks.n, 0);
	ck_assert_uint_eq(disks.skipped, 2);
	ck_assert_str_eq(fault.code, "no-disk");
	ck_assert_ptr_nonnull(strstr(fault.why, "disk*"));
	disks_clear(&disks);

	disks = find(scratch_path(&s, "none*"), NULL, &fault);
	ck_assert_uint_eq(disks.n, 0);
	ck_assert_ptr_nonnull(strstr(fault.why, "matches nothing"));
	disks_clear(&disks);
	scratch_remove(&s);
}
END_TEST

/* /proc is mounted wherever this runs, and "/" on any Linux. */
START_TEST(mounted)
{
	struct fault fault;
	struct disks disks = find("/pro[c]", "/proc", &fault);

	ck_assert_uint_eq(disks.n, 1);
	ck_assert_uint_eq(disks.skipped, 0);
	ck_assert_str_eq(disks.disk[0].path, "/proc");
	disks_clear(&disks);
	/* What is behind it when it is unmounted is not meant. */
	disks = find("/proc", "/proc", &fault);
	ck_assert_uint_eq(disks.n, 1);
	ck_assert(disks.disk[0].mount);
	ck_assert_int_eq(disk_open(&disks.disk[0]), 0);
	free(disks.disk[0].path);
	disks.disk[0].path = strdup("/proc/self");
	ck_assert_int_eq(disk_open(&disks.disk[0]), -ENODEV);
	disks_clear(&disks);
}
END_TEST

START_TEST(no_patterns)
{
	struct option_texts none = { NULL, 0 };
	struct fault fault = { 0 };
	struct disks disks;

	ck_assert_int_eq(disks_find(&disks, &none, &fault), 0);
	ck_assert_uint_eq(disks.n, 0);
	ck_assert_str_eq(fault.code, "no-disk");
}
END_TEST

/* ---- files below a disk ------------------------------------------------- */

static int disk, outside; /* two folders of the scratch */

static void
file_make(int at, const char *name, const char *text)
{
	int fd = openat(at, name, O_CREAT | O_TRUNC | O_WRONLY, 0644);

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void
below_begin(void)
{
	scratch_make(&s);
	ck_assert_int_eq(mkdir(scratch_path(&s, "disk"), 0755), 0);
	ck_assert_int_eq(mkdir(scratch_path(&s, "outside"), 0755), 0);
	disk = open(scratch_path(&s, "disk"), O_DIRECTORY);
	outside = open(scratch_path(&s, "outside"), O_DIRECTORY);
	ck_assert_int_eq(mkdirat(disk, "rec", 0755), 0);
	file_make(disk, "rec/file", "here");
	file_make(disk, "rec.data", "beside");
	file_make(outside, "file", "treasure");
	ck_assert_int_eq(symlinkat("../outside/file", disk, "out"), 0);
	ck_assert_int_eq(
	    symlinkat(scratch_path(&s, "disk/rec/file"), disk, "absolute"), 0);
	ck_assert_int_eq(symlinkat("../outside", disk, "outfolder"), 0);
	ck_assert_int_eq(symlinkat("rec/file", disk, "in"), 0);
	ck_assert_int_eq(symlinkat("rec", disk, "infolder"), 0);
	ck_assert_int_eq(symlinkat("../in", disk, "rec/up"), 0);
	ck_assert_int_eq(symlinkat("loop", disk, "loop"), 0);
	ck_assert_int_eq(symlinkat("/proc/self/fd/0", disk, "magic"), 0);
	ck_assert_int_eq(symlinkat("nowhere", disk, "dangling"), 0);
	ck_assert_int_eq(linkat(outside, "file", disk, "hard", 0), 0);
	ck_assert_int_eq(mkfifoat(disk, "pipe", 0644), 0);
}

static void
below_end(void)
{
	struct stat st;

	ck_assert_int_eq(fstatat(outside, "file", &st, 0), 0);
	ck_assert_int_eq(st.st_size, 8);
	ck_assert_int_eq(faccessat(disk, "nowhere", F_OK, 0), -1);
	close(disk);
	close(outside);
	scratch_remove(&s);
}

/* 0 for what can be opened, else the error. */
static int
tried(const char *path, int flags, enum disk_links links)
{
	int fd = disk_open_at(disk, path, flags, links);

	if (fd < 0)
		return fd;
	ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fd);
	return 0;
}

START_TEST(written_to)
{
	static const int flags[] = {
		O_WRONLY,
		O_RDWR | O_APPEND,
		O_WRONLY | O_TRUNC,
		O_WRONLY | O_CREAT,
		O_WRONLY | O_CREAT | O_TRUNC,
	};
	static const char *const links[] = { "out",   "absolute", "in",
					     "loop",  "dangling", "magic",
					     "rec/up" };
	struct stat st;
	int rec;

	below_begin();
	for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
		int f = flags[i];

		for (unsigned k = 0; k < sizeof links / sizeof *links; k++)
			ck_assert_int_eq(tried(links[k], f, DISK_NO_LINKS),
					 -ELOOP);
		ck_assert_int_eq(tried("hard", f, DISK_NO_LINKS), -EMLINK);
		ck_assert_int_ne(tried("pipe", f, DISK_NO_LINKS), 0);
		ck_assert_int_eq(tried("rec", f, DISK_NO_LINKS), -EISDIR);
		ck_assert_int_eq(tried("infolder/file", f, DISK_NO_LINKS),
				 -ELOOP);
		ck_assert_int_eq(tried("outfolder/new", f, DISK_NO_LINKS),
				 -ELOOP);
		ck_assert_int_eq(tried("rec.data/x", f, DISK_NO_LINKS),
				 -ENOTDIR);
	}
	ck_assert_int_eq(fstatat(disk, "rec/file", &st, 0), 0);
	ck_assert_int_eq(st.st_size, 4);
	ck_assert_int_eq(tried("rec/file", O_WRONLY | O_TRUNC, DISK_NO_LINKS),
			 0);
	ck_assert_int_eq(fstatat(disk, "rec/file", &st, 0), 0);
	ck_assert_int_eq(st.st_size, 0);
	ck_assert_int_eq(
	    tried("rec/new", O_CREAT | O_EXCL | O_RDWR, DISK_NO_LINKS), 0);
	ck_assert_int_eq(
	    tried("infolder", O_RDONLY | O_DIRECTORY, DISK_NO_LINKS), -ELOOP);
	/* A file beside the folder. */
	rec = openat(disk, "rec", O_DIRECTORY);
	close(disk);
	disk = rec;
	ck_assert_int_eq(tried("../rec.data", O_RDWR, DISK_NO_LINKS), 0);
	ck_assert_int_eq(tried("../in", O_RDWR, DISK_NO_LINKS), -ELOOP);
	disk = openat(rec, "..", O_DIRECTORY);
	close(rec);
	below_end();
}
END_TEST

static void
read_without_links(enum disk_links links)
{
	ck_assert_int_eq(tried("rec/file", O_RDONLY, links), 0);
	ck_assert_int_eq(tried("hard", O_RDONLY, links), 0);
	ck_assert_int_eq(tried("pipe", O_RDONLY, links), -ESPIPE);
	ck_assert_int_eq(tried("rec", O_RDONLY, links), -EISDIR);
	ck_assert_int_eq(tried("rec", O_RDONLY | O_DIRECTORY, links), 0);
	ck_assert_int_eq(tried(".", O_RDONLY | O_DIRECTORY, links), 0);
	ck_assert_int_eq(tried("nothing", O_RDONLY, links), -ENOENT);
	ck_assert_int_eq(tried("in", O_RDONLY, links), -ELOOP);
	ck_assert_int_eq(tried("out", O_RDONLY, links), -ELOOP);
	ck_assert_int_eq(tried("magic", O_RDONLY, links), -ELOOP);
	ck_assert_int_eq(tried("rec/up", O_RDONLY, links), -ELOOP);
	ck_assert_int_eq(tried("infolder/file", O_RDONLY, links), -ELOOP);
	ck_assert_int_eq(tried("outfolder/file", O_RDONLY, links), -ELOOP);
	ck_assert_int_eq(tried("outfolder", O_RDONLY | O_DIRECTORY, links),
			 -ELOOP);
}

/* Links are followed for who reads, and only within the disk. */
START_TEST(read_from)
{
	below_begin();
	read_without_links(DISK_NO_LINKS);
	ck_assert_int_eq(tried("in", O_RDONLY, DISK_LINKS), 0);
	ck_assert_int_eq(tried("rec/up", O_RDONLY, DISK_LINKS), 0);
	ck_assert_int_eq(tried("infolder/file", O_RDONLY, DISK_LINKS), 0);
	ck_assert_int_eq(tried("infolder", O_RDONLY | O_DIRECTORY, DISK_LINKS),
			 0);
	ck_assert_int_eq(tried("out", O_RDONLY, DISK_LINKS), -EXDEV);
	ck_assert_int_eq(tried("absolute", O_RDONLY, DISK_LINKS), -EXDEV);
	ck_assert_int_eq(tried("magic", O_RDONLY, DISK_LINKS), -EXDEV);
	ck_assert_int_eq(tried("outfolder/file", O_RDONLY, DISK_LINKS), -EXDEV);
	ck_assert_int_eq(tried("outfolder", O_RDONLY | O_DIRECTORY, DISK_LINKS),
			 -EXDEV);
	ck_assert_int_eq(tried("../outside/file", O_RDONLY, DISK_LINKS),
			 -EXDEV);
	ck_assert_int_eq(tried("loop", O_RDONLY, DISK_LINKS), -ELOOP);
	ck_assert_int_eq(tried("dangling", O_RDONLY, DISK_LINKS), -ENOENT);
	ck_assert_int_eq(tried("pipe", O_RDONLY, DISK_LINKS), -ESPIPE);
	below_end();
}
END_TEST

/* Answers openat2() with an error, for good. */
static void
forbid_openat2(int err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog all = { sizeof code / sizeof *code, code };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all), 0);
}

/* Where the kernel cannot keep a link within the disk, none is followed. */
START_TEST(without_openat2)
{
	static const int errors[] = { ENOSYS, EPERM };
	int status;

	for (unsigned i = 0; i < 2; i++) {
		pid_t child = fork();

		if (!child) {
			below_begin();
			forbid_openat2(errors[i]);
			read_without_links(DISK_LINKS);
			below_end();
			_exit(0);
		}
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_int_eq(status, 0);
	}
}
END_TEST

/* A file that becomes a link, and a hard link, and a file again, as fast as
 * that can be: what is opened is never what lies outside. */
START_TEST(changed_meanwhile)
{
	enum { TURNS = 20000, MOST = 100 * TURNS };
	struct stat is, other;
	pid_t child;
	int fd, opened = 0;

	below_begin();
	ck_assert_int_eq(fstatat(outside, "file", &other, 0), 0);
	ck_assert_int_eq(unlinkat(disk, "hard", 0), 0);
	child = fork();
	if (!child)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!child) {
		ck_assert_int_eq(symlinkat("../outside/file", disk, "a"), 0);
		ck_assert_int_eq(renameat(disk, "a", disk, "turns"), 0);
		ck_assert_int_eq(symlinkat("../outside", disk, "b"), 0);
		ck_assert_int_eq(renameat(disk, "b", disk, "folder"), 0);
		file_make(disk, "c", "mine");
		ck_assert_int_eq(renameat(disk, "c", disk, "turns"), 0);
		ck_assert_int_eq(unlinkat(disk, "folder", 0), 0);
		ck_assert_int_eq(mkdirat(disk, "folder", 0755), 0);
		file_make(disk, "folder/file", "mine");
		ck_assert_int_eq(unlinkat(disk, "folder/file", 0), 0);
		ck_assert_int_eq(unlinkat(disk, "folder", AT_REMOVEDIR), 0);
	}
	for (int i = 0; i < TURNS || (opened < 100 && i < MOST); i++) {
		static const char *const path[] = { "turns", "folder/file" };

		fd = disk_open_at(disk, path[i % 2],
				  i % 4 < 2 ? O_WRONLY | O_TRUNC : O_RDONLY,
				  i % 4 < 2 ? DISK_NO_LINKS : DISK_LINKS);
		if (fd < 0)
			continue;
		ck_assert_int_eq(fstat(fd, &is), 0);
		ck_assert(is.st_ino != other.st_ino);
		opened++;
		close(fd);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ck_assert_int_ge(opened, 100);
	below_end();
}
END_TEST

/* What root makes belongs to the folder's owner, who is to write to it, too; what
 * is there already keeps its own. */
START_TEST(owners)
{
	enum { OWNER = 12345 };
	struct stat st;
	int fd;

	if (geteuid() != 0)
		return;
	below_begin();
	ck_assert_int_eq(tried("mine", O_WRONLY | O_CREAT, DISK_NO_LINKS), 0);
	ck_assert_int_eq(fchown(disk, OWNER, OWNER), 0);
	ck_assert_int_eq(tried("theirs", O_WRONLY | O_CREAT, DISK_NO_LINKS), 0);
	ck_assert_int_eq(fstatat(disk, "theirs", &st, 0), 0);
	ck_assert_uint_eq(st.st_uid, OWNER);
	ck_assert_uint_eq(st.st_gid, OWNER);
	ck_assert_int_eq(fstatat(disk, "mine", &st, 0), 0);
	ck_assert_uint_eq(st.st_uid, 0);
	fd = file_nameless_at(disk, O_WRONLY);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_uid, OWNER);
	close(fd);
	below_end();
}
END_TEST

SUITE("disk", paths_and_patterns, schemes, no_such_plugin,
      looked_at_from_outside, plain_folders, one_folder_counts_once,
      one_that_is_not_there, not_mounted, mounted, no_patterns, written_to,
      read_from, without_openat2, changed_meanwhile, owners)
