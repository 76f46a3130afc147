/* SPDX-License-Identifier: MIT */
/* What a folder leaves on the disk, and what it refuses. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "store/finish/resume.h"
#include "lib/scratch.h"
#include "lib/suite.h"

static struct scratch s;
static struct disk disk;
static json_t *head;

static void
begin(void)
{
	scratch_make(&s);
	disk = (struct disk){ .path = s.path };
	ck_assert_int_eq(disk_open(&disk), 0);
	head = json_pack("{s:i}", "spate", 1);
}

static void
end(void)
{
	json_decref(head);
	close(disk.fd);
	scratch_remove(&s);
}

static bool
exists(const char *name)
{
	struct stat st;

	return !stat(scratch_path(&s, name), &st);
}

static void
text_is(const char *name, const char *want)
{
	char text[512] = "";
	FILE *file = fopen(scratch_path(&s, name), "r");

	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	ck_assert_str_eq(text, want);
}

START_TEST(a_life)
{
	struct index_record r[2] = { { .number = 3, .kind = INDEX_BLOCK },
				     { .number = 7, .kind = INDEX_GAP } };
	struct index_record over = { .number = 8, .kind = INDEX_END };
	struct index_record *back;
	struct folder *f;
	struct stat st;
	json_t *line = json_pack("{s:i}", "run", 0);
	uint64_t torn;
	struct folder_target target;
	size_t n;
	int fd;

	begin();
	ck_assert_int_eq(folder_create(&f, &disk, "rec", head), 0);
	ck_assert(exists("rec/rec.index"));
	ck_assert(!exists("rec/rec.index.new"));
	fd = folder_chunk(f, 3, 0, 1 << 20);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "data", 4), 4);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_size, 1 << 20); /* grown at once */
	close(fd);
	ck_assert_int_eq(folder_chunk(f, 3, 0, 0), -EEXIST);
	ck_assert_int_eq(folder_chunk(f, 100000000, 0, 0), -EFBIG);
	ck_assert_int_eq(folder_note(f, line), 0);
	ck_assert_int_eq(folder_sync(f, r, 2), 0);
	ck_assert_int_eq(folder_sync(f, NULL, 0), 0);
	ck_assert_int_eq(folder_target_make(f, 9, 0, 0, &target), 0);
	ck_assert_int_eq(folder_target_undo(f, &target), 0);
	ck_assert(!exists("rec/rec.00000009"));
	ck_assert_int_eq(folder_close(f, &over, line), 0);

	text_is("rec/rec.00000003", "data");
	text_is("rec/rec.meta.jsonl",
		"{\"spate\":1}\n{\"run\":0}\n{\"run\":0}\n");
	fd = open(scratch_path(&s, "rec/rec.index"), O_RDONLY);
	ck_assert_int_eq(index_read(fd, &back, &n, &torn), 0);
	close(fd);
	ck_assert_uint_eq(n, 3);
	ck_assert_uint_eq(torn, 0);
	ck_assert_uint_eq(back[0].number, 3);
	ck_assert_uint_eq(back[1].kind, INDEX_GAP);
	ck_assert_uint_eq(back[2].kind, INDEX_END);
	free(back);
	json_decref(line);
	end();
}
END_TEST

START_TEST(many_records)
{
	struct index_record r[200] = { 0 }, *back;
	struct folder *f;
	uint64_t torn;
	size_t n;
	int fd;

	begin();
	for (unsigned i = 0; i < 200; i++)
		r[i] =
		    (struct index_record){ .number = i, .kind = INDEX_BLOCK };
	ck_assert_int_eq(folder_create(&f, &disk, "rec_ds1", head), 0);
	ck_assert_int_eq(folder_sync(f, r, 200), 0);
	ck_assert_int_eq(folder_close(f, NULL, NULL), 0);
	fd = open(scratch_path(&s, "rec_ds1/rec_ds1.index"), O_RDONLY);
	ck_assert_int_eq(index_read(fd, &back, &n, &torn), 0);
	close(fd);
	ck_assert_uint_eq(n, 200);
	ck_assert_uint_eq(back[199].number, 199);
	free(back);
	end();
}
END_TEST

START_TEST(locked_while_it_lives)
{
	struct folder *f;
	int fd;

	begin();
	ck_assert_int_eq(folder_create(&f, &disk, "rec", head), 0);
	fd = open(scratch_path(&s, "rec/rec.index"), O_RDONLY);
	ck_assert_int_eq(flock(fd, LOCK_SH | LOCK_NB), -1);
	ck_assert_int_eq(errno, EWOULDBLOCK);
	ck_assert_int_eq(folder_close(f, NULL, NULL), 0);
	ck_assert_int_eq(flock(fd, LOCK_SH | LOCK_NB), 0);
	close(fd);
	end();
}
END_TEST

START_TEST(taken_and_bad_names)
{
	struct folder *f, *g;

	begin();
	ck_assert_int_eq(folder_create(&f, &disk, "rec", head), 0);
	ck_assert_int_eq(folder_create(&g, &disk, "rec", head), -EEXIST);
	ck_assert(exists("rec/rec.index"));
	ck_assert_int_eq(folder_create(&g, &disk, "../rec", head), -EINVAL);
	ck_assert_int_eq(folder_create(&g, &disk, "", head), -EINVAL);
	ck_assert_int_eq(folder_close(f, NULL, NULL), 0);
	end();
}
END_TEST

START_TEST(leaves_nothing_behind)
{
	struct folder *f;

	begin();
	/* A head that cannot be written as text. */
	ck_assert_int_eq(folder_create(&f, &disk, "rec", NULL), -ENOMEM);
	ck_assert(!exists("rec"));
	end();
}
END_TEST

START_TEST(disk_gone)
{
	struct folder *f;
	struct disk gone = { .fd = -1 };

	begin();
	ck_assert_int_eq(folder_create(&f, &gone, "rec", head), -EBADF);
	end();
}
END_TEST

/* The disk went away in the middle of a round: half a record, half a line. */
static void
tear(const char *name, const char *half)
{
	FILE *file = fopen(scratch_path(&s, name), "a");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(half, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static void *
look_for_a_moment(void *arg)
{
	const struct timespec moment = { .tv_nsec = 50000000 };

	nanosleep(&moment, NULL);
	close(*(int *)arg);
	return NULL;
}

/* Whoever lists recordings looks whether one is written. */
START_TEST(comes_back_while_it_is_looked_at)
{
	struct folder *f;
	pthread_t reader;
	int fd;

	begin();
	ck_assert_int_eq(folder_create(&f, &disk, "rec", head), 0);
	ck_assert_int_eq(folder_close(f, NULL, NULL), 0);
	fd = open(scratch_path(&s, "rec/rec.index"), O_RDONLY);
	ck_assert_int_eq(flock(fd, LOCK_SH | LOCK_NB), 0);
	ck_assert_int_eq(pthread_create(&reader, NULL, look_for_a_moment, &fd),
			 0);
	ck_assert_int_eq(folder_resume(&f, &disk, "rec", head, 0), 0);
	ck_assert_int_eq(folder_close(f, NULL, NULL), 0);
	pthread_join(reader, NULL);
	end();
}
END_TEST

static pthread_t looker;
static int looked_at;
static bool looks;

/* Takes the place of the C library's.  While `looks` is set, a program that
 * lists recordings gets its shared lock a moment before the writer asks for its
 * own. */
int
flock(int fd, int how)
{
	char path[64];

	if (looks && how & LOCK_EX) {
		looks = false;
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		looked_at = open(path, O_RDONLY);
		ck_assert_int_eq(syscall(SYS_flock, looked_at, LOCK_SH), 0);
		ck_assert_int_eq(pthread_create(&looker, NULL,
						look_for_a_moment, &looked_at),
				 0);
	}
	return (int)syscall(SYS_flock, fd, how);
}

START_TEST(begins_while_it_is_looked_at)
{
	struct folder *f;

	begin();
	looks = true;
	ck_assert_int_eq(folder_create(&f, &disk, "rec", head), 0);
	ck_assert(!looks);
	pthread_join(looker, NULL);
	ck_assert_int_eq(folder_close(f, NULL, NULL), 0);
	end();
}
END_TEST

START_TEST(comes_back)
{
	struct index_record r = { .number = 3, .kind = INDEX_BLOCK }, *back;
	struct folder *f, *again;
	struct folder_target place;
	json_t *line = json_pack("{s:i}", "run", 0);
	uint64_t torn;
	size_t n;
	int fd;

	begin();
	ck_assert_int_eq(folder_resume(&f, &disk, "rec", head, 0), -ENOENT);
	ck_assert_int_eq(folder_create(&f, &disk, "rec", head), 0);
	ck_assert_int_eq(folder_sync(f, &r, 1), 0);
	ck_assert_int_eq(folder_resume(&again, &disk, "rec", head, 0), -EBUSY);
	ck_assert_int_eq(folder_close(f, NULL, NULL), 0);
	tear("rec/rec.index", "half");
	tear("rec/rec.meta.jsonl", "{\"half\":");
	ck_assert_int_eq(folder_resume(&f, &disk, "rec", head, 0), 0);
	ck_assert_int_eq(folder_target_make(f, 4, 4, 0, &place), 0);
	ck_assert_int_eq(pwrite(place.fd, "data", 4, (off_t)place.offset), 4);
	close(place.fd);
	r.number = 4;
	ck_assert_int_eq(folder_note(f, line), 0);
	ck_assert_int_eq(folder_sync(f, &r, 1), 0);
	ck_assert_int_eq(folder_target_make(f, 5, 4, 0, &place), 0);
	ck_assert(exists("rec/rec.00000005"));
	ck_assert_int_eq(folder_target_undo(f, &place), 0);
	ck_assert(!exists("rec/rec.00000005"));
	r = (struct index_record){ .kind = INDEX_END };
	ck_assert_int_eq(folder_close(f, &r, NULL), 0);
	ck_assert_int_eq(folder_resume(&f, &disk, "rec", head, 0), -EALREADY);
	text_is("rec/rec.meta.jsonl", "{\"spate\":1}\n{\"run\":0}\n");
	fd = open(scratch_path(&s, "rec/rec.index"), O_RDONLY);
	ck_assert_int_eq(index_read(fd, &back, &n, &torn), 0);
	ck_assert_uint_eq(n, 3);
	ck_assert_uint_eq(torn, 0);
	ck_assert_uint_eq(back[1].number, 4);
	free(back);
	close(fd);
	json_decref(line);
	end();
}
END_TEST

/* Of that nothing is cut off: recover may still need it. */
START_TEST(comes_back_as_another)
{
	struct folder *f;
	json_t *other = json_pack("{s:i}", "spate", 2);

	begin();
	ck_assert_int_eq(folder_create(&f, &disk, "rec", other), 0);
	ck_assert_int_eq(folder_close(f, NULL, NULL), 0);
	tear("rec/rec.index", "half");
	tear("rec/rec.meta.jsonl", "{\"half\":");
	ck_assert_int_eq(folder_resume(&f, &disk, "rec", head, 0), -EEXIST);
	text_is("rec/rec.index", "half");
	text_is("rec/rec.meta.jsonl", "{\"spate\":2}\n{\"half\":");
	ck_assert_int_eq(folder_resume(&f, &disk, "rec", other, 0), 0);
	ck_assert_int_eq(folder_close(f, NULL, NULL), 0);
	json_decref(other);
	end();
}
END_TEST

/* ---- several recorders, one name ---- */

enum { RECORDERS = 4, ROUNDS = 4 };

struct recorder {
	pthread_t thread;
	pthread_barrier_t *gate;
	json_t *head;
	struct folder *folder;
	int err;
};

/* Begins a recording as a writer does. */
static void *
recorder_begin(void *arg)
{
	struct recorder *r = arg;

	pthread_barrier_wait(r->gate);
	r->err = folder_create(&r->folder, &disk, "rec", r->head);
	if (r->err == -EEXIST)
		r->err = folder_resume(&r->folder, &disk, "rec", r->head, 0);
	if (r->err == -ENOENT)
		r->err = folder_create(&r->folder, &disk, "rec", r->head);
	return NULL;
}

/* One of those who begin at the same time gets the folder, and keeps it. */
START_TEST(only_one_recorder_has_it)
{
	struct index_record over = { .kind = INDEX_END };
	struct recorder r[RECORDERS];
	pthread_barrier_t gate;
	char meta[64];
	unsigned had;

	begin();
	pthread_barrier_init(&gate, NULL, RECORDERS);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < RECORDERS; i++) {
			r[i] = (struct recorder){ .gate = &gate };
			r[i].head = json_pack("{s:i}", "spate", i + 1);
			pthread_create(&r[i].thread, NULL, recorder_begin,
				       &r[i]);
		}
		had = RECORDERS;
		for (unsigned i = 0; i < RECORDERS; i++) {
			pthread_join(r[i].thread, NULL);
			if (!r[i].err) {
				ck_assert_uint_eq(had, RECORDERS);
				had = i;
				continue;
			}
			ck_assert_msg(r[i].err == -EBUSY || r[i].err == -EEXIST,
				      "%s", strerror(-r[i].err));
		}
		ck_assert_uint_lt(had, RECORDERS);
		ck_assert_int_eq(folder_close(r[had].folder, &over, NULL), 0);
		snprintf(meta, sizeof meta, "{\"spate\":%u}\n", had + 1);
		text_is("rec/rec.meta.jsonl", meta);
		ck_assert(exists("rec/rec.index"));
		ck_assert(!exists("rec/rec.index.new"));
		ck_assert_int_eq(
		    unlink(scratch_path(&s, "rec/rec.index")) |
			unlink(scratch_path(&s, "rec/rec.meta.jsonl")) |
			rmdir(scratch_path(&s, "rec")),
		    0);
		for (unsigned i = 0; i < RECORDERS; i++)
			json_decref(r[i].head);
	}
	pthread_barrier_destroy(&gate);
	end();
}
END_TEST

SUITE_THREADS("folder", NULL, begins_while_it_is_looked_at, comes_back,
	      comes_back_while_it_is_looked_at, comes_back_as_another,
	      only_one_recorder_has_it, a_life, many_records,
	      locked_while_it_lives, taken_and_bad_names, leaves_nothing_behind,
	      disk_gone)
