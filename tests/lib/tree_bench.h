/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_TREE_BENCH_H
#define SPATE_TESTS_TREE_BENCH_H

#include <errno.h>

#include "fuse/tree/measure.h"
#include "fuse/tree/tree.h"
#include "store/read/open_recordings.h"
#include "lib/made_list.h"

/* A tree over the disks of a made recording, as it would be mounted. */
struct tree_bench {
	struct made m;
	struct open_recordings *opened;
	struct view_choice choice;
	struct tree *t;
};

static inline void
bench_mount(struct tree_bench *b)
{
	const struct open_recordings_args opened = { .disks = &b->m.disks,
						     .cache = 16 << 20 };
	struct tree_args args = { .disks = &b->m.disks,
				  .choice = &b->choice,
				  .patience_ns = 10 * INT64_C(1000000000),
				  .uid = 12,
				  .gid = 34 };

	ck_assert_int_eq(open_recordings_make(&b->opened, &opened), 0);
	args.opened = b->opened;
	ck_assert_int_eq(tree_make(&b->t, &args), 0);
}

static inline void
bench_unmount(struct tree_bench *b)
{
	tree_free(b->t);
	open_recordings_free(b->opened);
}

static inline void
bench_finish(struct tree_bench *b)
{
	bench_unmount(b);
	made_finish(&b->m);
}

/* By its path from the root; every folder on the way is forgotten again. */
static inline int
bench_find(struct tree_bench *b, const char *path, struct tree_attr *a)
{
	uint64_t id = TREE_ROOT;
	char name[256];
	int err = 0;

	while (!err && *path) {
		size_t length = strcspn(path, "/");
		uint64_t parent = id;

		snprintf(name, sizeof name, "%.*s", (int)length, path);
		path += length + (path[length] == '/');
		err = tree_lookup(b->t, parent, name, a);
		if (parent != TREE_ROOT)
			tree_forget(b->t, parent, 1);
		id = a->id;
	}
	return err;
}

static inline struct tree_attr
bench_see(struct tree_bench *b, const char *path)
{
	struct tree_attr a;
	int err = bench_find(b, path, &a);

	ck_assert_msg(!err, "%s: %s", path, strerror(-err));
	return a;
}

static inline uint64_t
bench_size(struct tree_bench *b, const char *path)
{
	struct tree_attr a = bench_see(b, path);

	tree_forget(b->t, a.id, 1);
	return (uint64_t)a.st.st_size;
}

static inline int
bench_error(struct tree_bench *b, const char *path)
{
	struct tree_attr a;

	return bench_find(b, path, &a);
}

/* A list as text: each name, with a space behind it. */
struct bench_list {
	char text[4096];
	size_t bytes, n, counted;
	uint64_t stop; /* takes no more than this many; 0: all */
	uint64_t next;
	struct tree_attr last;
	struct tree *t;
};

static inline bool
bench_entry(void *arg, const char *name, const struct tree_attr *a,
	    uint64_t next)
{
	struct bench_list *l = arg;
	int n;

	if (l->stop && l->n == l->stop)
		return false;
	n = snprintf(l->text + l->bytes, sizeof l->text - l->bytes, "%s ",
		     name);
	if (l->bytes + (size_t)n < sizeof l->text)
		l->bytes += (size_t)n;
	l->n++;
	l->next = next;
	l->last = *a;
	if (a->id) {
		l->counted++;
		tree_forget(l->t, a->id, 1);
	}
	return true;
}

static inline void
bench_list(struct tree_bench *b, const char *path, bool count,
	   struct bench_list *l)
{
	struct tree_attr a = { .id = TREE_ROOT };
	struct tree_entry e = { bench_entry, l, count };
	struct tree_dir *dir;

	*l = (struct bench_list){ .t = b->t };
	if (*path)
		a = bench_see(b, path);
	ck_assert_int_eq(tree_dir_open(b->t, a.id, &dir), 0);
	ck_assert_int_eq(tree_dir_read(dir, 0, &e), 0);
	tree_dir_close(dir);
	if (*path)
		tree_forget(b->t, a.id, 1);
}

static inline unsigned
bench_open(struct tree_bench *b)
{
	struct open_recordings_use use;

	open_recordings_use(b->opened, &use);
	return use.open;
}

/* Of what comes with a pass of the worker. */
#define bench_await(condition)                                                 \
	do {                                                                   \
		for (int i_ = 0; i_ < 500 && !(condition); i_++)               \
			usleep(20000);                                         \
		ck_assert(condition);                                          \
	} while (0)

#endif
