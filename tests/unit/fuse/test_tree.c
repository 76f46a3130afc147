/* SPDX-License-Identifier: MIT */
/* What is shown of the recordings on some disks, as they come and go. */
#include "config.h"

#include <pthread.h>
#include <sys/statvfs.h>

#include "lib/tree_bench.h"

static struct tree_bench b;
static struct bench_list l;

static void
begin(void)
{
	b = (struct tree_bench){ .choice.thread = -1 };
	made_bare(&b.m);
}

static void
rename_all(const char *from, const char *to)
{
	for (unsigned i = 0; i < MADE_DISKS; i++)
		renameat(b.m.disks.disk[i].fd, from, b.m.disks.disk[i].fd, to);
}

static void
remove_all(const char *name)
{
	char path[512];

	for (unsigned i = 0; i < MADE_DISKS; i++) {
		snprintf(path, sizeof path, "%s/%s", b.m.disks.disk[i].path,
			 name);
		nftw(path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	}
}

START_TEST(empty)
{
	begin();
	bench_mount(&b);
	bench_list(&b, "", true, &l);
	ck_assert_str_eq(l.text, ". .. .info by-thread ");
	bench_list(&b, ".info", true, &l);
	ck_assert_str_eq(l.text, ". .. ");
	ck_assert_int_eq(bench_error(&b, "a.vdif"), -ENOENT);
	ck_assert_int_eq(bench_error(&b, ".info/a.json"), -ENOENT);
	ck_assert_int_eq(bench_error(&b, "by-thread/a"), -ENOENT);
	bench_finish(&b);
}
END_TEST

START_TEST(attributes)
{
	struct tree_attr a, same;

	begin();
	made_other(&b.m, "a", 5, 3, MADE_ENDED);
	bench_mount(&b);
	a = bench_see(&b, "a.vdif");
	ck_assert_int_eq(a.st.st_size, 6 * 4096);
	ck_assert_uint_eq(a.st.st_mode, S_IFREG | 0444);
	ck_assert_int_eq(a.st.st_mtim.tv_sec, MADE_SECOND + 7);
	ck_assert_uint_eq(a.st.st_uid, 12);
	ck_assert_uint_eq(a.st.st_gid, 34);
	ck_assert_uint_eq(a.st.st_nlink, 1);
	ck_assert(!a.growing && !a.text && a.keep_ms && a.stamp);
	ck_assert_int_eq(tree_get(b.t, a.id, &same), 0);
	ck_assert_mem_eq(&same.st, &a.st, sizeof a.st);
	ck_assert_uint_eq(same.stamp, a.stamp);
	ck_assert_uint_eq(same.keep_ms, a.keep_ms);
	ck_assert_int_eq(tree_lookup(b.t, TREE_ROOT, "a.vdif", &same), 0);
	ck_assert_uint_eq(same.id, a.id);
	tree_forget(b.t, a.id, 1);
	ck_assert_int_eq(tree_get(b.t, a.id, &same), 0);
	tree_forget(b.t, a.id, 1);
	ck_assert_int_eq(tree_get(b.t, a.id, &same), -ESTALE);
	ck_assert_int_eq(tree_get(b.t, TREE_ROOT, &same), 0);
	ck_assert_uint_eq(same.st.st_mode, S_IFDIR | 0555);
	ck_assert_uint_eq(same.st.st_ino, TREE_ROOT);
	tree_forget(b.t, TREE_ROOT, 100);
	ck_assert_int_eq(tree_get(b.t, TREE_ROOT, &same), 0);
	ck_assert_uint_eq(bench_open(&b), 0);
	bench_finish(&b);
}
END_TEST

/* In pieces, as the kernel asks for it, and of one moment. */
START_TEST(lists)
{
	struct tree_entry e = { bench_entry, &l, true };
	struct tree_attr a;
	struct tree_dir *dir;
	uint64_t ino, at = 0;

	begin();
	made_other(&b.m, "a", 1, 1, MADE_ENDED);
	made_other(&b.m, "b", 2, 1, 0);
	made_other(&b.m, "c", 4, 1, MADE_ENDED);
	bench_mount(&b);
	bench_list(&b, "", true, &l);
	ck_assert_str_eq(l.text, ". .. .info by-thread a.vdif b.vdif c.vdif ");
	ck_assert_uint_eq(l.counted, 5);
	ino = l.last.st.st_ino;
	ck_assert_int_eq(l.last.st.st_size, 4096);
	a = bench_see(&b, "c.vdif");
	ck_assert_uint_eq(a.st.st_ino, ino);
	bench_list(&b, "", false, &l);
	ck_assert_uint_eq(l.counted, 0);
	ck_assert_uint_eq(l.last.st.st_ino, ino);
	ck_assert_int_eq(tree_dir_open(b.t, TREE_ROOT, &dir), 0);
	rename_all("b", "_b");
	bench_await(bench_error(&b, "b.vdif") == -ENOENT);
	l = (struct bench_list){ .t = b.t };
	do {
		l.stop = l.n + 2;
		ck_assert_int_eq(tree_dir_read(dir, at, &e), 0);
		at = l.next;
	} while (l.n == l.stop);
	tree_dir_close(dir);
	ck_assert_str_eq(l.text, ". .. .info by-thread a.vdif b.vdif c.vdif ");
	bench_list(&b, "", true, &l);
	ck_assert_str_eq(l.text, ". .. .info by-thread a.vdif c.vdif ");
	bench_list(&b, ".info", false, &l);
	ck_assert_str_eq(l.text, ". .. a.json c.json ");
	bench_list(&b, "by-thread", true, &l);
	ck_assert_str_eq(l.text, ". .. a c ");
	ck_assert_uint_eq(l.counted, 2);
	ck_assert_uint_eq(bench_open(&b), 0);
	ck_assert_int_eq(tree_dir_open(b.t, a.id, &dir), -ENOTDIR);
	ck_assert_int_eq(tree_dir_open(b.t, 4711, &dir), -ESTALE);
	bench_finish(&b);
}
END_TEST

/* A number is the same after the next mount, and of no other file. */
START_TEST(inode_numbers)
{
	static const char *const path[] = {
		"",	  ".info",	     "by-thread",    "a.vdif",
		"b.vdif", "a.vdif@+0s..+1s", ".info/a.json", "by-thread/a"
	};
	enum { PATHS = sizeof path / sizeof *path };
	uint64_t ino[PATHS];

	begin();
	made_other(&b.m, "a", 1, 1, MADE_ENDED);
	made_other(&b.m, "b", 1, 1, MADE_ENDED);
	for (unsigned again = 0; again < 2; again++) {
		bench_mount(&b);
		for (unsigned i = again; i < PATHS; i++) {
			uint64_t is = i ? bench_see(&b, path[i]).st.st_ino : 1;

			ck_assert(!again || is == ino[i]);
			ino[i] = is;
			for (unsigned k = 0; k < i && !again; k++)
				ck_assert_uint_ne(ino[k], is);
		}
		bench_unmount(&b);
		made_other(&b.m, "x0", 1, 1, again ? 0 : MADE_ENDED);
		rename_all("x0", again ? "x2" : "x1");
	}
	made_finish(&b.m);
}
END_TEST

/* What nobody has seen yet is looked for when it is asked for. */
START_TEST(appears_at_once)
{
	struct statvfs vfs;

	begin();
	bench_mount(&b);
	tree_statfs(b.t, &vfs); /* the first pass is over */
	made_other(&b.m, "new", 7, 1, MADE_ENDED);
	ck_assert_uint_eq(bench_size(&b, "new.vdif"), 3 * 4096);
	made_other(&b.m, "more", 7, 1, MADE_ENDED);
	ck_assert_uint_gt(bench_size(&b, ".info/more.json"), 100);
	made_other(&b.m, "other", 7, 1, MADE_ENDED);
	ck_assert_uint_eq(bench_size(&b, "by-thread/other"), 0);
	made_other(&b.m, "span", 7, 1, MADE_ENDED);
	ck_assert_int_eq(bench_error(&b, "span.vdif@x..y"), -EINVAL);
	bench_finish(&b);
}
END_TEST

/* It stays for who has it, and is not there for all others. */
START_TEST(vanishes)
{
	struct tree_attr a;
	struct tree_file f;

	begin();
	made_other(&b.m, "a", 7, 1, MADE_ENDED);
	bench_mount(&b);
	a = bench_see(&b, "a.vdif");
	ck_assert_int_eq(tree_open(b.t, a.id, &f), 0);
	ck_assert_str_eq(f.name, "a");
	rename_all("a", "_a");
	bench_await(bench_error(&b, "a.vdif") == -ENOENT);
	ck_assert_int_eq(tree_get(b.t, a.id, &a), 0);
	ck_assert_uint_eq(a.st.st_nlink, 0);
	ck_assert_int_eq(a.st.st_size, 3 * 4096);
	ck_assert_int_eq(tree_open(b.t, a.id, &f), -ESTALE);
	bench_finish(&b);
}
END_TEST

/* Another of the name is another file. */
START_TEST(recorded_anew)
{
	struct tree_attr a, other;
	struct tree_file f;

	begin();
	made_other(&b.m, "a", 7, 1, MADE_ENDED);
	bench_mount(&b);
	a = bench_see(&b, "a.vdif");
	rename_all("a", "_a");
	json_object_set_new(b.m.head, "start",
			    json_string("2026-11-20T10:00:00Z"));
	made_other(&b.m, "a", 3, 4, MADE_ENDED);
	tree_doubt(b.t, a.id);
	other = bench_see(&b, "a.vdif");
	ck_assert_uint_ne(other.id, a.id);
	ck_assert_uint_ne(other.stamp, a.stamp);
	ck_assert_int_eq(other.st.st_size, 8 * 4096);
	ck_assert_int_eq(tree_open(b.t, a.id, &f), -ESTALE);
	ck_assert_int_eq(tree_open(b.t, other.id, &f), 0);
	ck_assert_int_eq(f.begun_ns, INT64_C(1795168800) * 1000000000);
	ck_assert_int_eq(tree_get(b.t, a.id, &a), 0);
	ck_assert_int_eq(a.st.st_size, 3 * 4096);
	ck_assert_uint_eq(a.st.st_nlink, 0);
	bench_finish(&b);
}
END_TEST

/* Without anybody's doubt a pass or two find it. */
START_TEST(recorded_anew_unseen)
{
	begin();
	made_other(&b.m, "a", 7, 1, MADE_ENDED);
	bench_mount(&b);
	ck_assert_uint_eq(bench_size(&b, "a.vdif"), 3 * 4096);
	rename_all("a", "_a");
	made_other(&b.m, "a", 7, 2, MADE_ENDED);
	bench_await(bench_size(&b, "a.vdif") == 6 * 4096);
	bench_finish(&b);
}
END_TEST

static void
foreign(const char *name, unsigned frames)
{
	uint8_t frame[MADE_PAYLOAD];
	char file[256];
	int fd;

	ck_assert_int_eq(mkdirat(b.m.disks.disk[1].fd, name, 0755), 0);
	snprintf(file, sizeof file, "%s/%s.00000000", name, name);
	fd = openat(b.m.disks.disk[1].fd, file, O_CREAT | O_WRONLY, 0644);
	ck_assert_int_ge(fd, 0);
	for (unsigned i = 0; i < frames; i++) {
		made_frame(&b.m, i, frame);
		ck_assert_int_eq(write(fd, frame, sizeof frame), sizeof frame);
	}
	close(fd);
}

START_TEST(names_of_others)
{
	begin();
	foreign("a b", 100);
	foreign("a@+0s..+1s", 100);
	foreign("a@+0s..+1s.vdif", 100);
	foreign("line\nbreak", 100);
	foreign("ünï", 100);
	foreign("z.vdif", 100);
	made_other(&b.m, "a", 7, 1, MADE_ENDED);
	made_other(&b.m, "by-thread", 7, 1, MADE_ENDED);
	bench_mount(&b);
	bench_list(&b, "", true, &l);
	ck_assert_str_eq(l.text, ". .. .info by-thread a.vdif a b.vdif "
				 "a@+0s..+1s.vdif a@+0s..+1s.vdif.vdif "
				 "by-thread.vdif z.vdif ünï.vdif ");
	bench_list(&b, "by-thread", true, &l);
	ck_assert_str_eq(l.text, ". .. a a b a@+0s..+1s a@+0s..+1s.vdif "
				 "by-thread z.vdif ünï ");
	ck_assert_uint_eq(bench_size(&b, "a b.vdif"), 6400);
	ck_assert_uint_eq(bench_size(&b, "a@+0s..+1s.vdif"), 6400);
	ck_assert_uint_eq(bench_size(&b, "by-thread.vdif"), 3 * 4096);
	ck_assert_uint_gt(bench_size(&b, ".info/z.vdif.json"), 100);
	ck_assert_uint_eq(bench_size(&b, "by-thread/z.vdif/0.vdif"), 6400);
	bench_finish(&b);
}
END_TEST

/* Three folders of one file system are one. */
START_TEST(space)
{
	struct statvfs is, want;

	begin();
	bench_mount(&b);
	tree_statfs(b.t, &is);
	ck_assert_int_eq(statvfs(b.m.scratch.path, &want), 0);
	ck_assert_uint_eq(is.f_blocks * is.f_frsize,
			  want.f_blocks * want.f_frsize);
	ck_assert_uint_gt(is.f_bavail, 0);
	ck_assert_uint_le(is.f_bavail, is.f_bfree);
	ck_assert_uint_eq(is.f_namemax, 255);
	ck_assert(is.f_flag & ST_RDONLY);
	bench_finish(&b);
}
END_TEST

/* Nothing is opened for a list, nor for the sizes in it. */
START_TEST(many)
{
	enum { MANY = 100 };
	char name[16];

	begin();
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "scan%04d", i);
		made_other(&b.m, name, 1, 0, MADE_ENDED);
	}
	bench_mount(&b);
	bench_list(&b, "", true, &l);
	ck_assert_uint_eq(l.n, MANY + 4);
	ck_assert_uint_eq(l.counted, MANY + 2);
	bench_list(&b, "by-thread", true, &l);
	ck_assert_uint_eq(l.counted, MANY);
	bench_list(&b, ".info", true, &l);
	ck_assert_uint_eq(l.n, MANY + 2);
	ck_assert_uint_eq(bench_open(&b), 0);
	bench_finish(&b);
}
END_TEST

static void *
look_around(void *arg)
{
	static const char *const path[] = { "a.vdif",
					    "x.vdif",
					    "b.vdif",
					    ".info/a.json",
					    "by-thread/b/0.vdif",
					    "a.vdif@+0s.." };
	struct bench_list mine;
	struct statvfs vfs;
	struct tree_attr a;

	for (unsigned i = 0; i < 60; i++) {
		if (!bench_find(&b, path[(i + *(unsigned *)arg) % 6], &a)) {
			tree_get(b.t, a.id, &a);
			tree_forget(b.t, a.id, 1);
		}
		if (i % 8 == 0)
			bench_list(&b, "", true, &mine);
		tree_statfs(b.t, &vfs);
	}
	return NULL;
}

START_TEST(from_many_threads)
{
	enum { THREADS = 6 };
	pthread_t thread[THREADS];
	unsigned number[THREADS];

	begin();
	made_other(&b.m, "a", 7, 1, MADE_ENDED);
	bench_mount(&b);
	for (unsigned i = 0; i < THREADS; i++) {
		number[i] = i;
		ck_assert_int_eq(
		    pthread_create(&thread[i], NULL, look_around, &number[i]),
		    0);
	}
	for (unsigned i = 0; i < 5; i++) {
		made_other(&b.m, "b", 7, 1, MADE_ENDED);
		usleep(50000);
		remove_all("b");
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	bench_finish(&b);
}
END_TEST

SUITE_THREADS("tree", NULL, empty, attributes, lists, inode_numbers,
	      appears_at_once, vanishes, recorded_anew, recorded_anew_unseen,
	      names_of_others, space, many, from_many_threads)
