/* SPDX-License-Identifier: MIT */
/* A copy that goes out is stopped while a disk does not answer. */
#include "flow/copy/copy_out.h"

#include <stdatomic.h>
#include <unistd.h>

#include "lib/hang_fs.h"
#include "lib/suite.h"

static struct hang_fs fs;
static atomic_bool closed;
static atomic_uint changes;

static void
source_closed(struct source *s)
{
	(void)s;
	atomic_store(&closed, true);
}

static void
changed(void *arg)
{
	(void)arg;
	atomic_fetch_add(&changes, 1);
}

/* Waits for a condition, for ten seconds at most; true if it holds. */
#define COMES(condition)                                                       \
	({                                                                     \
		for (unsigned n = 0; n < 1000 && !(condition); n++)            \
			usleep(10000);                                         \
		condition;                                                     \
	})

START_TEST(a_disk_may_hang)
{
	static const struct source_ops ops = { .close = source_closed };
	static struct source source = { .ops = &ops };
	char from[] = "/tmp/spate-test-XXXXXX", at[] = "/tmp/spate-test-XXXXXX";
	struct disk disk = { .path = at, .fd = -1 };
	struct disks disks = { .disk = &disk, .n = 1 };
	const struct copy_out_args args = { .name = "scan",
					    .to = "tcp://127.0.0.1:9",
					    .disks = &disks,
					    .source = &source,
					    .changed = changed };
	struct sender_facts facts;
	struct fault fault;
	struct sender *copy;
	bool held, early, ended, freed;

	ck_assert_ptr_nonnull(mkdtemp(from));
	ck_assert_ptr_nonnull(mkdtemp(at));
	ck_assert_int_eq(hang_fs_mount(&fs, from, at), 0);
	atomic_store(&fs.told->hang, true);
	ck_assert_int_eq(copy_out_start(&copy, &args, &fault), 0);
	held = COMES(atomic_load(&fs.told->held));
	early = sender_ended(copy);
	sender_stop(copy);
	ended = COMES(sender_ended(copy));
	sender_facts(copy, &facts);
	freed = ended && sender_free(copy);
	/* The disk answers after all, also before anything fails here: the
	 * thread ends by itself, and tells nobody. */
	atomic_store(&fs.told->hang, false);
	ck_assert(COMES(atomic_load(&closed)));
	usleep(20000);
	hang_fs_unmount(&fs);
	rmdir(at);
	rmdir(from);
	ck_assert(held && !early);
	ck_assert(ended && !freed);
	ck_assert_int_eq(facts.state, SENDER_STOPPED);
	ck_assert_uint_eq(atomic_load(&changes), 0);
}
END_TEST

static const char *
can(void)
{
	return hang_fs_can(&fs) ? NULL : "no file system can be mounted here";
}

SUITE_THREADS("copy_out", can, a_disk_may_hang)
