/* SPDX-License-Identifier: MIT */
/* Patterns, folders that are not mounted, and space below the reserve. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk.h"
#include "unit/scratch.h"
#include "unit/suite.h"

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

SUITE("disk", paths_and_patterns, looked_at_from_outside, plain_folders,
      one_folder_counts_once, one_that_is_not_there, not_mounted, mounted,
      no_patterns)
