/* SPDX-License-Identifier: MIT */
/* What is removed, what is not, and what is left when it is cut short. */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>

#include "store/list/entry.h"
#include "store/repair/protect.h"
#include "store/recording/recording.h"
#include "store/repair/removal.h"
#include "lib/made_list.h"
#include "lib/suite.h"

static struct made m;
static struct removal *r;
static struct fault fault;

static const char *
path(unsigned disk, const char *name, const char *file)
{
	static char text[512];

	snprintf(text, sizeof text, "%s/%s/%s", m.disks.disk[disk].path, name,
		 file);
	return text;
}

static bool
is(unsigned disk, const char *name, const char *file)
{
	struct stat st;

	return !lstat(path(disk, name, file), &st);
}

/* With chunks on three disks, and one beside it. */
static void
begin(int how)
{
	made_bare(&m);
	made_other(&m, "b", 7, 1, MADE_ENDED);
	made_other(&m, "a", 7, 2, how);
	for (unsigned i = 0; i < MADE_DISKS; i++) {
		char file[32];
		FILE *f;

		snprintf(file, sizeof file, "a.%08u", i);
		made_put(&m, i, "a", file);
		f = fopen(path(i, "a", file), "w");
		for (int k = 0; k < 1000; k++)
			fputs("data of a chunk ", f);
		fclose(f);
	}
}

static int
take(bool force, const struct removal_pace *pace)
{
	int err = removal_open(&r, &m.disks, "a", &fault);

	if (err)
		return err;
	err = removal_run(r, force, pace, &fault);
	removal_close(r);
	return err;
}

static bool
is_gone(void)
{
	struct entry e;

	for (unsigned i = 0; i < MADE_DISKS; i++) {
		if (is(i, "a", "."))
			return false;
	}
	ck_assert_int_eq(entry_read(&e, &m.disks, "b", false, NULL), 0);
	ck_assert_int_eq(e.state, ENTRY_COMPLETE);
	return entry_read(&e, &m.disks, "a", false, NULL) == -ENOENT;
}

/* Nothing of it was touched. */
static bool
is_whole(void)
{
	struct entry e;

	return !entry_read(&e, &m.disks, "a", false, NULL) &&
	       e.state != ENTRY_REMOVING && e.packets == 360 && !e.absent &&
	       is(0, "a", "a.00000000") && is(2, "a", "a.00000002");
}

START_TEST(removes)
{
	const struct removal_facts *f;
	json_t *j;

	begin(MADE_ENDED);
	ck_assert_int_eq(removal_open(&r, &m.disks, "a", &fault), 0);
	f = removal_facts(r);
	ck_assert_uint_eq(f->disks, 3);
	ck_assert_uint_eq(f->files, 9);
	ck_assert_uint_ge(f->bytes, 3 * 16000);
	ck_assert(!f->protected && !f->live && !f->read && !f->begun);
	j = removal_json(r);
	ck_assert_uint_eq(json_array_size(json_object_get(j, "disks")), 3);
	ck_assert_uint_eq(json_array_size(json_object_get(j, "away")), 0);
	json_decref(j);
	removal_close(r);
	ck_assert(is_whole());
	ck_assert_int_eq(take(false, NULL), 0);
	ck_assert(is_gone());
	ck_assert_int_eq(take(false, NULL), -ENOENT);
	made_finish(&m);
}
END_TEST

/* Puts an id into the first line of a disk's metadata. */
static void
identify(unsigned disk, const char *id)
{
	char text[8192];
	FILE *f = fopen(path(disk, "a", "a.meta.jsonl"), "r+");
	size_t n = fread(text, 1, sizeof text, f);

	ck_assert_uint_lt(n, sizeof text);
	ck_assert_int_eq(text[0], '{');
	rewind(f);
	fprintf(f, "{\"uid\":\"%s\",%.*s", id, (int)n - 1, text + 1);
	fclose(f);
}

/* Two recorders made a recording of one name, each on disks of its own. */
START_TEST(two_of_one_name)
{
	begin(MADE_ENDED);
	identify(0, "0123456789abcdef");
	identify(2, "fedcba9876543210");
	ck_assert_int_eq(take(false, NULL), -EEXIST);
	ck_assert_ptr_nonnull(strstr(fault.why, m.disks.disk[2].path));
	ck_assert(is(0, "a", "a.00000000"));
	ck_assert(is(2, "a", "a.00000002"));
	made_finish(&m);
	/* The first disk has none, as those before there were ids. */
	begin(MADE_ENDED);
	identify(1, "0123456789abcdef");
	identify(2, "fedcba9876543210");
	ck_assert_int_eq(take(false, NULL), -EEXIST);
	ck_assert_ptr_nonnull(strstr(fault.why, m.disks.disk[1].path));
	made_finish(&m);
}
END_TEST

START_TEST(one_of_one_name)
{
	begin(MADE_ENDED);
	for (unsigned i = 0; i < MADE_DISKS; i++)
		identify(i, "0123456789abcdef");
	ck_assert_int_eq(take(false, NULL), 0);
	ck_assert(is_gone());
	made_finish(&m);
}
END_TEST

START_TEST(protected)
{
	json_t *done;

	begin(MADE_ENDED);
	ck_assert_int_eq(protect_set(&m.disks, "a", true, &done, &fault), 0);
	ck_assert_uint_eq(json_array_size(json_object_get(done, "disks")), 3);
	json_decref(done);
	unlink(path(0, "a", "a.protect"));
	ck_assert_int_eq(take(true, NULL), -EPERM);
	ck_assert(is_whole());
	ck_assert_int_eq(protect_set(&m.disks, "a", false, &done, &fault), 0);
	json_decref(done);
	ck_assert_int_eq(protect_set(&m.disks, "x", true, &done, &fault),
			 -ENOENT);
	made_put(&m, 1, "b", "b.removing");
	ck_assert_int_eq(protect_set(&m.disks, "b", true, &done, &fault),
			 -EIDRM);
	unlink(path(1, "b", "b.removing"));
	ck_assert_int_eq(protect_set(&m.disks, "b", true, &done, &fault), 0);
	json_decref(done);
	ck_assert_int_eq(take(false, NULL), 0);
	ck_assert(is_gone());
	made_finish(&m);
}
END_TEST

START_TEST(live)
{
	begin(MADE_OPEN);
	ck_assert_int_eq(take(true, NULL), -EBUSY);
	ck_assert(is_whole());
	made_end(&m, 0);
	ck_assert_int_eq(take(true, NULL), 0);
	made_finish(&m);
}
END_TEST

/* It begins when it was looked at already. */
START_TEST(live_by_now)
{
	int fd;

	begin(MADE_ENDED);
	ck_assert_int_eq(removal_open(&r, &m.disks, "a", &fault), 0);
	fd = open(path(1, "a", "a.index"), O_RDWR);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	ck_assert_int_eq(removal_run(r, true, NULL, &fault), -EBUSY);
	removal_close(r);
	close(fd);
	ck_assert(is_whole());
	made_finish(&m);
}
END_TEST

START_TEST(being_read)
{
	struct recording *rec;

	begin(MADE_ENDED);
	ck_assert_int_eq(recording_open(&rec, &m.disks, "a", &fault), 0);
	ck_assert_int_eq(recording_hold(rec, &fault), 0);
	ck_assert_int_eq(recording_hold(rec, &fault), 0);
	ck_assert_int_eq(take(false, NULL), -EBUSY);
	ck_assert(is_whole());
	ck_assert_int_eq(take(true, NULL), 0);
	recording_close(rec);
	ck_assert(is_gone());
	made_finish(&m);
}
END_TEST

/* Who was there first is seen by the other, whoever that is. */
START_TEST(read_too_late)
{
	struct recording *rec;
	int fd;

	begin(MADE_ENDED);
	ck_assert_int_eq(recording_open(&rec, &m.disks, "a", &fault), 0);
	fd = open(path(1, "a", "a.index"), O_RDONLY);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	ck_assert_int_eq(recording_hold(rec, &fault), -EBUSY);
	close(fd);
	made_put(&m, 1, "a", "a.removing");
	ck_assert_int_eq(recording_hold(rec, &fault), -EIDRM);
	unlink(path(1, "a", "a.removing"));
	recording_close(rec);
	ck_assert_int_eq(take(false, NULL), 0);
	made_finish(&m);
}
END_TEST

START_TEST(hold_live)
{
	struct recording *rec;

	begin(MADE_OPEN);
	ck_assert_int_eq(recording_open(&rec, &m.disks, "a", &fault), 0);
	ck_assert_int_eq(recording_hold(rec, &fault), 0);
	made_end(&m, 6);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_int_eq(recording_hold(rec, &fault), 0);
	ck_assert_int_eq(take(false, NULL), -EBUSY);
	recording_close(rec);
	ck_assert_int_eq(take(false, NULL), 0);
	made_finish(&m);
}
END_TEST

/* What is not ours; what is behind a link is never touched. */
START_TEST(extras)
{
	begin(MADE_ENDED);
	ck_assert_int_eq(
	    symlinkat("../b/b.index", m.disks.disk[1].fd, "a/a.00000009"), 0);
	made_put(&m, 0, "a", "notes.txt");
	ck_assert_int_eq(take(false, NULL), -EPERM);
	ck_assert(is_whole());
	ck_assert_int_eq(mkdir(path(0, "a", "more"), 0755), 0);
	ck_assert_int_eq(take(true, NULL), -EPERM);
	ck_assert(is_whole() && is(0, "a", "notes.txt"));
	rmdir(path(0, "a", "more"));
	ck_assert_int_eq(take(true, NULL), 0);
	ck_assert(is_gone());
	made_finish(&m);
}
END_TEST

START_TEST(folder_is_link)
{
	begin(MADE_ENDED);
	ck_assert_int_eq(symlinkat("b", m.disks.disk[1].fd, "c"), 0);
	ck_assert_int_lt(removal_open(&r, &m.disks, "c", &fault), 0);
	ck_assert_int_eq(removal_open(&r, &m.disks, "../a", &fault), -ENOENT);
	ck_assert(is(1, "b", "b.index"));
	made_finish(&m);
}
END_TEST

/* An index that cannot be opened, as on a disk that does not answer, does not show
 * that nobody writes. */
START_TEST(cannot_be_known)
{
	begin(MADE_ENDED);
	ck_assert_int_eq(unlink(path(1, "a", "a.index")), 0);
	ck_assert_int_eq(mknod(path(1, "a", "a.index"), S_IFSOCK | 0644, 0), 0);
	ck_assert_int_eq(removal_open(&r, &m.disks, "a", &fault), -ENXIO);
	ck_assert_str_eq(fault.code, "io");
	made_finish(&m);
}
END_TEST

/* Stops it at the n-th file. */
struct stopper {
	unsigned left;
	atomic_bool stop;
};

static void
step(void *arg, uint64_t bytes, uint64_t of)
{
	struct stopper *s = arg;

	(void)bytes;
	(void)of;
	if (!--s->left)
		atomic_store(&s->stop, true);
}

static unsigned
indexes(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < MADE_DISKS; i++)
		n += is(i, "a", "a.index");
	return n;
}

static unsigned
chunks(void)
{
	return is(0, "a", "a.00000000") + is(1, "a", "a.00000001") +
	       is(2, "a", "a.00000002");
}

START_TEST(cut_short)
{
	for (unsigned n = 1; n <= 11; n++) {
		struct stopper s = { .left = n };
		struct removal_pace pace = { .stop = &s.stop,
					     .say = step,
					     .arg = &s };
		struct recording *rec;
		struct entry e;

		begin(MADE_ENDED);
		ck_assert_int_eq(take(false, &pace), -ECANCELED);
		ck_assert_int_eq(recording_open(&rec, &m.disks, "a", &fault),
				 -EIDRM);
		ck_assert_int_eq(entry_read(&e, &m.disks, "a", false, NULL), 0);
		ck_assert_int_eq(e.state, ENTRY_REMOVING);
		ck_assert(chunks() == 3 || indexes() == 0);
		ck_assert_int_eq(removal_open(&r, &m.disks, "a", &fault), 0);
		ck_assert(removal_facts(r)->begun);
		removal_close(r);
		ck_assert_int_eq(take(false, NULL), 0);
		ck_assert(is_gone());
		made_finish(&m);
	}
}
END_TEST

/* One disk has its mark, the others do not know yet; or have nothing left. */
START_TEST(one_mark)
{
	struct recording *rec;

	begin(MADE_ENDED);
	made_put(&m, 2, "a", "a.removing");
	ck_assert_int_eq(recording_open(&rec, &m.disks, "a", &fault), -EIDRM);
	ck_assert_int_eq(take(false, NULL), 0);
	ck_assert(is_gone());
	ck_assert_int_eq(mkdirat(m.disks.disk[1].fd, "a", 0755), 0);
	ck_assert_int_eq(take(false, NULL), 0);
	ck_assert(is_gone());
	made_finish(&m);
}
END_TEST

START_TEST(large)
{
	enum { GIGABYTES = 3 };
	struct stat st;

	begin(MADE_ENDED);
	ck_assert_int_eq(
	    truncate(path(0, "a", "a.00000000"), (off_t)GIGABYTES << 30), 0);
	ck_assert_int_eq(
	    truncate(path(1, "a", "a.00000001"), (off_t)GIGABYTES << 30), 0);
	ck_assert_int_eq(linkat(m.disks.disk[1].fd, "a/a.00000001",
				m.disks.disk[1].fd, "kept", 0),
			 0);
	ck_assert_int_eq(take(false, NULL), 0);
	ck_assert(is_gone());
	ck_assert_int_eq(fstatat(m.disks.disk[1].fd, "kept", &st, 0), 0);
	ck_assert_int_eq(st.st_size, (off_t)GIGABYTES << 30);
	made_finish(&m);
}
END_TEST

/* A disk that is not there keeps what it has, and is named. */
START_TEST(disk_away)
{
	json_t *j;

	begin(MADE_ENDED);
	made_hide(&m, 1);
	ck_assert_int_eq(removal_open(&r, &m.disks, "a", &fault), 0);
	j = removal_json(r);
	ck_assert_uint_eq(json_array_size(json_object_get(j, "away")), 1);
	ck_assert_str_eq(
	    json_string_value(json_array_get(json_object_get(j, "away"), 0)),
	    m.disks.disk[1].path);
	json_decref(j);
	ck_assert_int_eq(removal_run(r, false, NULL, &fault), 0);
	removal_close(r);
	made_show(&m, 1);
	ck_assert(!is(0, "a", ".") && is(1, "a", "a.index"));
	made_finish(&m);
}
END_TEST

SUITE("removal", two_of_one_name, one_of_one_name, removes, protected, live,
      live_by_now, being_read, read_too_late, hold_live, extras, folder_is_link,
      cannot_be_known, cut_short, one_mark, large, disk_away)
