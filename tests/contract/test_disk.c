/* SPDX-License-Identifier: MIT */
/*
 * What a disk has to do, whoever keeps it: a folder of a file system, the same
 * by way of a plugin (tests/modules/disk-folder.c), and where $SPATE_DISK names
 * one, that disk (tests/flow/rados.sh does).  All must answer alike.
 *
 * $SPATE_DISK_AGAIN is the same disk by a connection of its own, and
 * $SPATE_DISK_TOOL a program that does to an object of it, by its name, what
 * spate does not do itself: `break` its locks, `drop` it, `stop` what keeps it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/scratch.h"
#include "lib/suite.h"
#include "store/disk/disk.h"
#include "store/disk/file.h"
#include "store/disk/remote.h"

enum { MIB = 1 << 20, KINDS = 3 };

static struct scratch s;
static int disk; /* the disk's folder */
static int dir;	 /* the folder "t" in it, which is empty */

static const char *
path_of(int kind, char path[512])
{
	if (kind == 0)
		return scratch_path(&s, "plain");
	snprintf(path, 512, "folder://%s", scratch_path(&s, "plugin"));
	return kind == 1 ? path : getenv("SPATE_DISK");
}

/* Runs a test on every disk. */
static void
each(void (*test)(void))
{
	char path[512];

	scratch_make(&s);
	ck_assert_int_eq(mkdir(scratch_path(&s, "plain"), 0755), 0);
	ck_assert_int_eq(mkdir(scratch_path(&s, "plugin"), 0755), 0);
	for (int kind = 0; kind < KINDS; kind++) {
		if (!path_of(kind, path))
			continue;
		disk = disk_folder_open(path_of(kind, path));
		ck_assert_msg(disk >= 0, "%s: %s", path_of(kind, path),
			      strerror(-disk));
		ck_assert_int_eq(file_mkdir_at(disk, "t", 0755), 0);
		dir = disk_open_at(disk, "t", O_RDONLY | O_DIRECTORY,
				   DISK_NO_LINKS);
		ck_assert_int_ge(dir, 0);
		test();
		ck_assert_int_eq(file_close(dir), 0);
		ck_assert_int_eq(file_remove_at(disk, "t", AT_REMOVEDIR), 0);
		ck_assert_int_eq(file_close(disk), 0);
	}
	scratch_remove(&s);
}

static int
opened(const char *name, int flags)
{
	return disk_open_at(dir, name, flags, DISK_NO_LINKS);
}

/* A new file with this text. */
static int
made(const char *name, const char *text)
{
	int fd = opened(name, O_CREAT | O_EXCL | O_RDWR);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write_whole(fd, text, strlen(text), 0), 0);
	return fd;
}

static void
removed(const char *name)
{
	ck_assert_int_eq(file_remove_at(dir, name, 0), 0);
}

static uint64_t
bytes_of(int fd)
{
	struct stat st;

	ck_assert_int_eq(file_stat(fd, &st), 0);
	ck_assert(S_ISREG(st.st_mode));
	return (uint64_t)st.st_size;
}

static void
has(int fd, const char *text)
{
	char got[64] = "";

	ck_assert_uint_eq(bytes_of(fd), strlen(text));
	ck_assert_int_eq(read_whole(fd, got, sizeof got - 1, 0),
			 (ssize_t)strlen(text));
	ck_assert_str_eq(got, text);
}

#define FAILS(call, error)                                                     \
	do {                                                                   \
		ck_assert_int_eq(call, -1);                                    \
		ck_assert_int_eq(errno, error);                                \
	} while (0)

/* ---- files ------------------------------------------------------------------- */

static void
files(void)
{
	struct stat st;
	int fd, other;

	ck_assert_int_eq(opened("a", O_RDONLY), -ENOENT);
	ck_assert_int_eq(opened("a", O_RDWR), -ENOENT);
	FAILS(file_stat_at(dir, "a", &st, 0), ENOENT);
	FAILS(file_access_at(dir, "a", F_OK, 0), ENOENT);
	FAILS(file_remove_at(dir, "a", 0), ENOENT);
	fd = made("a", "0123456789");
	has(fd, "0123456789");
	ck_assert_int_eq(opened("a", O_CREAT | O_EXCL | O_WRONLY), -EEXIST);
	ck_assert_int_eq(opened("a", O_RDONLY | O_DIRECTORY), -ENOTDIR);
	ck_assert_int_eq(write_whole(fd, "abc", 3, 3), 0);
	ck_assert_int_eq(file_sync_data(fd), 0);
	ck_assert_int_eq(file_sync(dir), 0);
	other = opened("../t/./a", O_RDONLY);
	has(other, "012abc6789");
	FAILS(file_write(other, "x", 1, 0), EBADF);
	ck_assert_int_eq(file_stat_at(disk, "t/a", &st, 0), 0);
	ck_assert_int_eq(st.st_size, 10);
	file_close(other);
	other = opened("a", O_CREAT | O_WRONLY | O_TRUNC);
	ck_assert_uint_eq(bytes_of(fd), 0);
	file_close(other);
	file_close(fd);
	FAILS(file_close(fd), EBADF);
	ck_assert_int_eq(disk_make_at(dir, "a", 0), -EEXIST);
	ck_assert_int_eq(disk_make_at(dir, "no/b", 0), -ENOENT);
	fd = disk_make_at(dir, "b", 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write_whole(fd, "once", 4, 0), 0);
	file_close(fd);
	fd = opened("b", O_RDWR);
	has(fd, "once");
	ck_assert_int_eq(write_whole(fd, "more", 4, 4), 0);
	has(fd, "oncemore");
	file_close(fd);
	removed("b");
	removed("a");
	ck_assert_int_eq(opened("a", O_RDONLY), -ENOENT);
}

START_TEST(are_made_and_written)
{
	each(files);
}
END_TEST

static void
appends(void)
{
	int fd = opened("a", O_CREAT | O_RDWR | O_APPEND), again;
	struct append_file to = { .fd = fd };
	FILE *lines;
	char *line = NULL;
	size_t room = 0;

	ck_assert_int_eq(append_bytes(&to, "one\n", 4), 0);
	ck_assert_int_eq(append_bytes(&to, "two\n", 4), 0);
	has(fd, "one\ntwo\n");
	ck_assert_int_eq(file_seek(fd, 0, SEEK_END), 8);
	ck_assert_int_eq(file_cut(fd, 5), 0);
	ck_assert_int_eq(append_bytes(&to, "wo\n", 3), 0);
	again = opened("a", O_CREAT | O_RDWR | O_APPEND);
	ck_assert_int_eq(file_append(again, "three\n", 6), 6);
	file_close(again);
	has(fd, "one\ntwo\nthree\n");
	lines = file_stream(opened("a", O_RDONLY));
	ck_assert_ptr_nonnull(lines);
	ck_assert_int_eq(getline(&line, &room, lines), 4);
	ck_assert_int_eq(getline(&line, &room, lines), 4);
	ck_assert_str_eq(line, "two\n");
	fclose(lines);
	free(line);
	file_close(fd);
	removed("a");
}

START_TEST(are_appended_to)
{
	each(appends);
}
END_TEST

static uint8_t
byte_at(uint64_t offset)
{
	return (uint8_t)((offset * 2654435761u) >> 16);
}

static void
same_bytes(int fd, uint64_t from, uint64_t to)
{
	uint8_t *got = malloc(to - from);

	ck_assert_int_eq(read_whole(fd, got, to - from, from),
			 (ssize_t)(to - from));
	for (uint64_t i = from; i < to; i++)
		ck_assert_uint_eq(got[i - from], byte_at(i));
	free(got);
}

/* Longer than one object, where a disk has those: $SPATE_DISK of the tests has
 * objects of 1 MiB. */
static void
long_ones(void)
{
	enum { BYTES = 5 * MIB + 12345 };
	uint8_t *all = malloc(BYTES), zero[4096];
	int fd = opened("a", O_CREAT | O_EXCL | O_RDWR), again;

	for (uint64_t i = 0; i < BYTES; i++)
		all[i] = byte_at(i);
	ck_assert_int_eq(write_whole(fd, all, BYTES, 0), 0);
	ck_assert_uint_eq(bytes_of(fd), BYTES);
	same_bytes(fd, 0, BYTES);
	same_bytes(fd, MIB - 10, MIB + 10);
	ck_assert_int_eq(file_read(fd, zero, sizeof zero, BYTES - 10), 10);
	ck_assert_int_eq(file_read(fd, zero, sizeof zero, BYTES), 0);
	again = opened("a", O_RDONLY);
	ck_assert_uint_eq(bytes_of(again), BYTES);
	/* Shorter, to the end of an object and within one. */
	ck_assert_int_eq(file_cut(fd, 4 * MIB), 0);
	ck_assert_uint_eq(bytes_of(again), 4 * MIB);
	ck_assert_int_eq(file_cut(fd, 2 * MIB + 7), 0);
	ck_assert_uint_eq(bytes_of(fd), 2 * MIB + 7);
	ck_assert_uint_eq(bytes_of(again), 2 * MIB + 7);
	same_bytes(again, 0, 2 * MIB + 7);
	/* Longer, by zeros. */
	ck_assert_int_eq(file_cut(fd, 4 * MIB), 0);
	ck_assert_uint_eq(bytes_of(again), 4 * MIB);
	ck_assert_int_eq(read_whole(fd, zero, sizeof zero, 3 * MIB - 9),
			 sizeof zero);
	for (size_t i = 0; i < sizeof zero; i++)
		ck_assert_uint_eq(zero[i], 0);
	ck_assert(!file_has_data(fd, 3 * MIB));
	/* Over the end of an object. */
	ck_assert_int_eq(file_cut(fd, MIB - 3), 0);
	file_close(again);
	again = opened("a", O_WRONLY | O_APPEND);
	ck_assert_int_eq(file_append(again, all + MIB - 3, 9), 9);
	ck_assert_int_eq(file_append(again, all + MIB + 6, 9), 9);
	ck_assert_uint_eq(bytes_of(fd), MIB + 15);
	same_bytes(fd, 0, MIB + 15);
	file_close(again);
	file_close(fd);
	removed("a");
	/* Nothing of it shines through. */
	fd = made("a", "x");
	has(fd, "x");
	ck_assert_int_eq(file_cut(fd, 3 * MIB), 0);
	ck_assert(!file_has_data(fd, 1));
	file_close(fd);
	removed("a");
	free(all);
}

START_TEST(may_be_long)
{
	each(long_ones);
}
END_TEST

/* ---- folders and names --------------------------------------------------------- */

static unsigned
names_n(void)
{
	int fd = opened(".", O_RDONLY | O_DIRECTORY);
	struct file_list *list = file_list_open(fd);
	const struct dirent *e;
	unsigned n = 0;

	ck_assert_ptr_nonnull(list);
	while ((e = file_list_next(list)))
		n += *e->d_name != '.';
	file_list_close(list);
	return n;
}

static void
folders(void)
{
	struct stat was, is;
	int sub;

	ck_assert_int_eq(opened("sub", O_RDONLY | O_DIRECTORY), -ENOENT);
	ck_assert_int_eq(file_mkdir_at(dir, "sub", 0755), 0);
	FAILS(file_mkdir_at(dir, "sub", 0755), EEXIST);
	FAILS(file_mkdir_at(dir, "no/sub", 0755), ENOENT);
	ck_assert_int_eq(opened("sub", O_RDONLY), -EISDIR);
	ck_assert_int_eq(opened("no/file", O_CREAT | O_EXCL | O_RDWR), -ENOENT);
	sub = opened("sub", O_RDONLY | O_DIRECTORY);
	ck_assert_int_ge(sub, 0);
	ck_assert_int_eq(file_stat(sub, &was), 0);
	ck_assert(S_ISDIR(was.st_mode) && was.st_nlink);
	file_close(made("sub/a", "x"));
	ck_assert_int_eq(file_stat(sub, &is), 0);
	ck_assert(is.st_ino == was.st_ino && is.st_dev == was.st_dev);
	ck_assert(is.st_mtim.tv_sec != was.st_mtim.tv_sec ||
		  is.st_mtim.tv_nsec != was.st_mtim.tv_nsec);
	FAILS(file_remove_at(dir, "sub", AT_REMOVEDIR), ENOTEMPTY);
	ck_assert_int_eq(file_remove_at(sub, "a", 0), 0);
	ck_assert_int_eq(file_remove_at(dir, "sub", AT_REMOVEDIR), 0);
	FAILS(file_stat_at(dir, "sub", &is, 0), ENOENT);
	ck_assert_int_eq(file_stat(sub, &is), 0);
	ck_assert_uint_eq(is.st_nlink, 0);
	/* Another one of that name is another one. */
	ck_assert_int_eq(file_mkdir_at(dir, "sub", 0755), 0);
	ck_assert_int_eq(file_stat(sub, &is), 0);
	ck_assert_uint_eq(is.st_nlink, 0);
	ck_assert_int_eq(file_remove_at(dir, "sub", AT_REMOVEDIR), 0);
	file_close(sub);
	ck_assert_uint_eq(names_n(), 0);
}

START_TEST(are_in_folders)
{
	each(folders);
}
END_TEST

static void
renames(void)
{
	int a = made("a", "the old one"), b = made("b", "the new one"), c;

	FAILS(file_rename_at(dir, "no", dir, "a"), ENOENT);
	ck_assert_int_eq(file_rename_at(dir, "b", dir, "a"), 0);
	ck_assert_int_eq(opened("b", O_RDONLY), -ENOENT);
	has(b, "the new one");
	c = opened("a", O_RDONLY);
	has(c, "the new one");
	file_close(c);
	ck_assert_uint_eq(names_n(), 1);
	/* The name is free, and what it was is another file. */
	c = made("b", "a third one");
	has(c, "a third one");
	has(b, "the new one");
	file_close(a);
	file_close(b);
	file_close(c);
	removed("a");
	c = opened("b", O_RDONLY);
	has(c, "a third one");
	file_close(c);
	removed("b");
}

START_TEST(get_other_names)
{
	each(renames);
}
END_TEST

static void
nameless(void)
{
	int fd = file_nameless_at(dir, O_WRONLY), other;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write_whole(fd, "whole", 5, 0), 0);
	ck_assert_uint_eq(names_n(), 0);
	file_close(made("a", "x"));
	FAILS(file_link_at(fd, dir, "a"), EEXIST);
	ck_assert_int_eq(file_link_at(fd, dir, "b"), 0);
	file_close(fd);
	other = opened("b", O_RDONLY);
	has(other, "whole");
	file_close(other);
	removed("a");
	removed("b");
	file_close(file_nameless_at(dir, O_WRONLY));
	ck_assert_uint_eq(names_n(), 0);
}

START_TEST(have_no_name_at_first)
{
	each(nameless);
}
END_TEST

static void
many(void)
{
	enum { MANY = 1500 };
	char name[32];

	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "file.%08d", i);
		file_close(opened(name, O_CREAT | O_EXCL | O_WRONLY));
	}
	ck_assert_uint_eq(names_n(), MANY);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "file.%08d", i);
		removed(name);
	}
	ck_assert_uint_eq(names_n(), 0);
}

START_TEST(are_many)
{
	each(many);
}
END_TEST

static void
out(void)
{
	ck_assert_int_lt(opened("../../x", O_CREAT | O_EXCL | O_WRONLY), 0);
}

START_TEST(are_below_the_disk)
{
	char path[512];

	/* Folders of file systems leave that to who chooses the names. */
	scratch_make(&s);
	ck_assert_int_eq(mkdir(scratch_path(&s, "plugin"), 0755), 0);
	disk = disk_folder_open(path_of(1, path));
	ck_assert_int_eq(file_mkdir_at(disk, "t", 0755), 0);
	dir = disk_open_at(disk, "t", O_RDONLY | O_DIRECTORY, DISK_NO_LINKS);
	out();
	file_close(dir);
	file_close(disk);
	scratch_remove(&s);
}
END_TEST

/* ---- locks ------------------------------------------------------------------------ */

static void
locks(void)
{
	int a = made("a", "x"), b = opened("a", O_RDONLY),
	    c = opened("a", O_RDONLY), again;

	ck_assert_int_eq(file_lock(a, LOCK_EX | LOCK_NB), 0);
	FAILS(file_lock(b, LOCK_SH | LOCK_NB), EWOULDBLOCK);
	FAILS(file_lock(b, LOCK_EX | LOCK_NB), EWOULDBLOCK);
	/* It is the file's, whatever its name, and its opener's. */
	ck_assert_int_eq(file_rename_at(dir, "a", dir, "b"), 0);
	FAILS(file_lock(b, LOCK_SH | LOCK_NB), EWOULDBLOCK);
	again = file_dup(a);
	file_close(a);
	FAILS(file_lock(b, LOCK_SH | LOCK_NB), EWOULDBLOCK);
	file_close(again);
	ck_assert_int_eq(file_lock(b, LOCK_SH | LOCK_NB), 0);
	ck_assert_int_eq(file_lock(c, LOCK_SH | LOCK_NB), 0);
	FAILS(file_lock(c, LOCK_EX | LOCK_NB), EWOULDBLOCK);
	ck_assert_int_eq(file_lock(b, LOCK_UN), 0);
	ck_assert_int_eq(file_lock(c, LOCK_EX | LOCK_NB), 0);
	FAILS(file_lock(b, LOCK_SH | LOCK_NB), EWOULDBLOCK);
	file_close(c);
	ck_assert_int_eq(file_lock(b, LOCK_EX | LOCK_NB), 0);
	file_close(b);
	removed("b");
}

START_TEST(are_locked)
{
	each(locks);
}
END_TEST

/* ---- writes that are started ---------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static unsigned ended;

static void
told(void *arg, int64_t result)
{
	pthread_mutex_lock(&lock);
	*(int64_t *)arg = result;
	ended++;
	pthread_cond_signal(&news);
	pthread_mutex_unlock(&lock);
}

static void
starts(void)
{
	enum { N = 16, PART = 300000 };
	uint8_t *all = malloc(N * PART);
	int64_t result[N];
	int fd;

	if (!file_is_remote(dir)) {
		free(all);
		return;
	}
	fd = opened("a", O_CREAT | O_EXCL | O_RDWR);
	for (uint64_t i = 0; i < (uint64_t)N * PART; i++)
		all[i] = byte_at(i);
	ended = 0;
	for (size_t i = 0; i < N; i++)
		ck_assert_int_eq(remote_write_start(fd, all + i * PART, PART,
						    i * PART, told, &result[i]),
				 0);
	pthread_mutex_lock(&lock);
	while (ended < N)
		pthread_cond_wait(&news, &lock);
	pthread_mutex_unlock(&lock);
	for (unsigned i = 0; i < N; i++)
		ck_assert_int_eq(result[i], PART);
	ck_assert_uint_eq(bytes_of(fd), (uint64_t)N * PART);
	same_bytes(fd, 0, (uint64_t)N * PART);
	file_close(fd);
	removed("a");
	free(all);
}

START_TEST(are_written_meanwhile)
{
	each(starts);
}
END_TEST

/* ---- a lock that was lost --------------------------------------------------------------- */

static void
tool(const char *verb, const char *object)
{
	char command[512];

	snprintf(command, sizeof command, "%s %s '%s'",
		 getenv("SPATE_DISK_TOOL"), verb, object);
	ck_assert_int_eq(system(command), 0);
}

static int
opened_in(int folder, const char *name, int flags)
{
	int fd = disk_open_at(folder, name, flags, DISK_NO_LINKS);

	ck_assert_msg(fd >= 0, "%s: %s", name, strerror(-fd));
	return fd;
}

/* Writes so many times this letter; returns 0 or -errno. */
static int
letters(int fd, char letter, size_t bytes, uint64_t offset)
{
	char *all = malloc(bytes);
	int err;

	memset(all, letter, bytes);
	err = write_whole(fd, all, bytes, offset);
	free(all);
	return err;
}

static int
letters_start(int fd, char letter, size_t bytes, uint64_t offset)
{
	char *all = malloc(bytes);
	int64_t result = 0;

	memset(all, letter, bytes);
	ended = 0;
	ck_assert_int_eq(
	    remote_write_start(fd, all, bytes, offset, told, &result), 0);
	pthread_mutex_lock(&lock);
	while (!ended)
		pthread_cond_wait(&news, &lock);
	pthread_mutex_unlock(&lock);
	free(all);
	return result < 0 ? (int)result : 0;
}

static void
has_letters(int fd, char letter, size_t bytes, uint64_t offset)
{
	char *all = malloc(bytes);

	ck_assert_int_eq(read_whole(fd, all, bytes, offset), (ssize_t)bytes);
	for (size_t i = 0; i < bytes; i++)
		ck_assert_msg(all[i] == letter, "'%c' at %zu, not '%c'", all[i],
			      (size_t)offset + i, letter);
	free(all);
}

/* A recorder has a lock, and others end it: what it does then must not harm what
 * they do, even though it does not know. */
START_TEST(are_kept_from_who_lost_the_lock)
{
	int one, two, index, data, chunk, new_index, new_data, new_chunk;
	struct stat was, is;

	if (!getenv("SPATE_DISK_AGAIN"))
		return;
	disk = disk_folder_open(getenv("SPATE_DISK"));
	ck_assert_int_ge(disk, 0);
	ck_assert_int_eq(file_mkdir_at(disk, "t", 0755), 0);
	one = opened_in(disk, "t", O_RDONLY | O_DIRECTORY);
	index = opened_in(one, "i", O_CREAT | O_EXCL | O_RDWR | O_APPEND);
	ck_assert_int_eq(file_lock(index, LOCK_EX | LOCK_NB), 0);
	data = opened_in(one, "d", O_CREAT | O_EXCL | O_RDWR);
	ck_assert_int_eq(letters(data, 'a', 5 * MIB / 2, 0), 0);
	ck_assert_int_eq(file_append(index, "one", 3), 3);
	chunk = disk_make_at(one, "c", 0);
	ck_assert_int_ge(chunk, 0);
	ck_assert_int_eq(letters(chunk, 'a', 3 * MIB / 2, 0), 0);
	ck_assert_int_eq(disk_make_at(one, "c", 0), -EEXIST);

	file_close(disk);
	disk = disk_folder_open(getenv("SPATE_DISK_AGAIN"));
	ck_assert_int_ge(disk, 0);
	two = opened_in(disk, "t", O_RDONLY | O_DIRECTORY);
	new_index = opened_in(two, "i", O_RDWR | O_APPEND);
	FAILS(file_lock(new_index, LOCK_EX | LOCK_NB), EWOULDBLOCK);
	do /* the first one may just have renewed it */
		tool("break", "t/i");
	while (file_lock(new_index, LOCK_EX | LOCK_NB) < 0);
	new_data = opened_in(two, "d", O_RDWR);
	ck_assert_int_eq(letters(new_data, 'b', MIB, 5 * MIB / 2), 0);

	/* In the first object, in one that both wrote, in one that only the
	 * other one did. */
	ck_assert_int_eq(letters(data, 'x', 10, 0), -ESTALE);
	ck_assert_int_eq(letters_start(data, 'x', 10, 5 * MIB / 2), -ESTALE);
	ck_assert_int_eq(letters_start(data, 'x', 2 * MIB, 2 * MIB), -ESTALE);
	ck_assert_int_eq(letters(data, 'x', 10, 3 * MIB), -ESTALE);
	FAILS(file_cut(data, 1), ESTALE);
	FAILS(file_append(index, "x", 1), ESTALE);
	FAILS(file_remove_at(one, "d", 0), ESTALE);
	FAILS(file_rename_at(one, "i", one, "d"), ESTALE);
	ck_assert_int_eq(
	    disk_open_at(one, "new", O_CREAT | O_EXCL | O_RDWR, DISK_NO_LINKS),
	    -ESTALE);
	/* In one that nobody had: it comes first there, and then no more. */
	letters(data, 'x', 100, 4 * MIB);
	ck_assert_int_eq(letters(new_data, 'b', MIB, 7 * MIB / 2), 0);
	ck_assert_int_eq(letters(data, 'x', 10, 4 * MIB), -ESTALE);

	/* What it alone writes is its own, until another one opens that. */
	ck_assert_int_eq(letters_start(chunk, 'a', MIB, 3 * MIB / 2), 0);
	ck_assert_int_eq(file_stat(chunk, &was), 0);
	sleep(1);
	new_chunk = opened_in(two, "c", O_RDWR);
	ck_assert_int_ge(new_chunk, 0);
	ck_assert_int_eq(file_stat(new_chunk, &is), 0);
	ck_assert_int_eq(is.st_mtim.tv_sec, was.st_mtim.tv_sec);
	has_letters(new_chunk, 'a', 5 * MIB / 2, 0);
	ck_assert_int_eq(letters(chunk, 'x', 10, 0), -ESTALE);
	ck_assert_int_eq(letters_start(chunk, 'x', 10, MIB - 5), -ESTALE);
	FAILS(file_cut(chunk, 1), ESTALE);
	ck_assert_int_eq(file_cut(new_chunk, 3 * MIB / 2), 0);
	ck_assert_int_eq(letters(new_chunk, 'b', MIB, 3 * MIB / 2), 0);
	has_letters(new_chunk, 'a', 3 * MIB / 2, 0);
	has_letters(new_chunk, 'b', MIB, 3 * MIB / 2);
	file_close(new_chunk);
	/* Its own one it opens as it is. */
	new_chunk = opened_in(two, "c", O_RDWR);
	has_letters(new_chunk, 'b', MIB, 3 * MIB / 2);
	ck_assert_int_eq(letters(new_chunk, 'c', MIB, 3 * MIB / 2), 0);
	has_letters(new_chunk, 'c', MIB, 3 * MIB / 2);
	file_close(new_chunk);
	/* Nor do writes come to what takes the name of one that was removed. */
	FAILS(file_remove_at(one, "c", 0), ESTALE);
	ck_assert_int_eq(file_remove_at(two, "c", 0), 0);
	new_chunk = disk_make_at(two, "c", 0);
	ck_assert_int_ge(new_chunk, 0);
	ck_assert_int_eq(letters(new_chunk, 'b', 5 * MIB / 2, 0), 0);
	ck_assert_int_eq(letters(chunk, 'x', 10, 0), -ESTALE);
	ck_assert_int_eq(letters_start(chunk, 'x', 10, MIB - 5), -ESTALE);
	has_letters(new_chunk, 'b', 5 * MIB / 2, 0);
	file_close(new_chunk);
	file_close(chunk);
	ck_assert_int_eq(file_remove_at(two, "c", 0), 0);

	ck_assert_int_eq(file_append(new_index, "two", 3), 3);
	has(new_index, "onetwo");
	ck_assert_uint_eq(bytes_of(new_data), 9 * MIB / 2);
	has_letters(new_data, 'a', 5 * MIB / 2, 0);
	has_letters(new_data, 'b', 2 * MIB, 5 * MIB / 2);
	file_close(index);
	file_close(data);
	file_close(one);
	file_close(new_data);
	ck_assert_int_eq(file_remove_at(two, "d", 0), 0);
	ck_assert_int_eq(file_remove_at(two, "i", 0), 0);
	file_close(new_index);
	file_close(two);
	ck_assert_int_eq(file_remove_at(disk, "t", AT_REMOVEDIR), 0);
	file_close(disk);
}
END_TEST

/* A crash may leave a name whose object is gone. */
START_TEST(may_be_half_removed)
{
	int fd;

	if (!getenv("SPATE_DISK_AGAIN"))
		return;
	disk = disk_folder_open(getenv("SPATE_DISK"));
	ck_assert_int_eq(file_mkdir_at(disk, "t", 0755), 0);
	dir = opened_in(disk, "t", O_RDONLY | O_DIRECTORY);
	file_close(made("a", "x"));
	tool("drop", "t/a");
	fd = made("a", "new");
	has(fd, "new");
	ck_assert_int_eq(opened("a", O_CREAT | O_EXCL | O_WRONLY), -EEXIST);
	file_close(fd);
	tool("drop", "t/a~1"); /* its object */
	fd = opened("a", O_CREAT | O_RDWR);
	ck_assert_int_eq(write_whole(fd, "y", 1, 0), 0);
	has(fd, "y");
	file_close(fd);
	removed("a");
	file_close(dir);
	tool("drop", "t/");
	ck_assert_int_eq(file_remove_at(disk, "t", AT_REMOVEDIR), 0);
	FAILS(file_remove_at(disk, "t", AT_REMOVEDIR), ENOENT);
	ck_assert_int_eq(file_mkdir_at(disk, "t", 0755), 0);
	ck_assert_int_eq(file_remove_at(disk, "t", AT_REMOVEDIR), 0);
	file_close(disk);
}
END_TEST

static void *
file_try(void *name)
{
	return (void *)(intptr_t)opened(name, O_CREAT | O_EXCL | O_RDWR);
}

/* Repeats what is not answered in time: an OSD that was stopped first finds out
 * what the others did. */
#define ANSWERED(call)                                                         \
	({                                                                     \
		int answer_;                                                   \
                                                                               \
		for (int i_ = 0; i_ < 20; i_++) {                              \
			answer_ = (call);                                      \
			if (answer_ != -ETIMEDOUT &&                           \
			    (answer_ != -1 || errno != ETIMEDOUT))             \
				break;                                         \
		}                                                              \
		answer_;                                                       \
	})

/* What was not answered in time may happen after all: then the second attempt
 * must not find the name taken by the first one. */
START_TEST(may_be_made_late)
{
	char object[256] = "", command[300];
	pthread_t thread;
	void *result;
	FILE *out;
	int fd;

	if (!getenv("SPATE_DISK_AGAIN"))
		return;
	setenv("CEPH_ARGS", "--rados_osd_op_timeout=3", 1);
	disk = disk_folder_open(getenv("SPATE_DISK"));
	tool("stop", "t/");
	FAILS(file_mkdir_at(disk, "t", 0755), ETIMEDOUT);
	tool("go", "t/");
	/* A recorder asks again after seconds. */
	sleep(3);
	ck_assert_int_eq(ANSWERED(file_mkdir_at(disk, "t", 0755)), 0);
	FAILS(file_mkdir_at(disk, "t", 0755), EEXIST);

	dir = opened_in(disk, "t", O_RDONLY | O_DIRECTORY);
	snprintf(command, sizeof command, "%s beside t/",
		 getenv("SPATE_DISK_TOOL"));
	out = popen(command, "r");
	ck_assert_int_eq(fscanf(out, "%255s", object), 1);
	pclose(out);
	/* The object is made, and then its name is not. */
	tool("stop", object);
	ck_assert_int_eq(pthread_create(&thread, NULL, file_try, object + 2),
			 0);
	usleep(300000);
	tool("stop", "t/");
	tool("go", object);
	ck_assert_int_eq(pthread_join(thread, &result), 0);
	ck_assert_int_eq((intptr_t)result, -ETIMEDOUT);
	tool("go", "t/");
	fd = ANSWERED(opened(object + 2, O_CREAT | O_EXCL | O_RDWR));
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write_whole(fd, "x", 1, 0), 0);
	has(fd, "x");
	file_close(fd);
	removed(object + 2);
	/* Of a file that is written once, too. */
	tool("stop", "t/");
	ck_assert_int_eq(disk_make_at(dir, "once", 0), -ETIMEDOUT);
	tool("go", "t/");
	fd = ANSWERED(disk_make_at(dir, "once", 0));
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(disk_make_at(dir, "once", 0), -EEXIST);
	ck_assert_int_eq(write_whole(fd, "z", 1, 0), 0);
	has(fd, "z");
	file_close(fd);
	removed("once");
	file_close(dir);
	ck_assert_int_eq(file_remove_at(disk, "t", AT_REMOVEDIR), 0);
	file_close(disk);
}
END_TEST

static void
spaces(void)
{
	struct statvfs vfs;

	ck_assert_int_eq(file_space(disk, &vfs), 0);
	ck_assert_uint_gt(vfs.f_blocks, 0);
	ck_assert_uint_le(vfs.f_bavail, vfs.f_blocks);
}

START_TEST(have_room)
{
	each(spaces);
}
END_TEST

static const char *
can(void)
{
	const char *folder = getenv("SPATE_PLUGINS");
	char all[4096];

	/* The plugin is one that only tests have. */
	snprintf(all, sizeof all, "%s:tests/modules/.libs",
		 folder ? folder : "plugins/.libs");
	setenv("SPATE_PLUGINS", all, 1);
	remote_makes();
	return access("tests/modules/.libs/disk-folder.so", F_OK) < 0
		   ? "tests/modules/disk-folder.so is not built"
		   : NULL;
}

SUITE_THREADS("disk", can, are_made_and_written, are_appended_to, may_be_long,
	      are_in_folders, get_other_names, have_no_name_at_first, are_many,
	      are_below_the_disk, are_locked, are_written_meanwhile,
	      are_kept_from_who_lost_the_lock, may_be_half_removed,
	      may_be_made_late, have_room)
