/* SPDX-License-Identifier: MIT */
/* What recordings are called in a mount, whatever they are called on disks. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fuse/tree/names.h"
#include "fuse/tree/nodes.h"
#include "fuse/tree/span.h"
#include "lib/suite.h"

static struct mount_names *n;

/* Of "name:extension:substreams", sorted by name. */
static void
make(const char *const *what, size_t many)
{
	struct names_item *item = calloc(many + 1, sizeof *item);

	for (size_t i = 0; i < many; i++) {
		struct entry e = { .state = ENTRY_COMPLETE, .begun_ns = 7 };

		ck_assert_int_eq(sscanf(what[i], "%[^:]:%15[^:]:%u", e.name,
					e.extension, &e.subs),
				 3);
		item[i].record = record_make(&e);
	}
	ck_assert_int_eq(names_make(&n, item, many), 0);
}

#define MAKE(...)                                                              \
	make((const char *const[]){ __VA_ARGS__ },                             \
	     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static const char *
file(const char *name)
{
	const struct names_item *item = names_find(n, name);

	ck_assert_ptr_nonnull(item);
	ck_assert_ptr_eq(names_find_file(n, item->file), item);
	return item->file;
}

START_TEST(plain)
{
	MAKE("a:vdif:1", "b+1_x-y:m5b:1", "many:spead:432", "ünï 1:vdif:1");
	ck_assert_str_eq(file("a"), "a.vdif");
	ck_assert_str_eq(file("b+1_x-y"), "b+1_x-y.m5b");
	ck_assert_str_eq(file("many"), "many");
	ck_assert_str_eq(file("ünï 1"), "ünï 1.vdif");
	ck_assert_ptr_null(names_find(n, "A"));
	ck_assert_ptr_null(names_find_file(n, "a"));
	ck_assert_ptr_null(names_find_file(n, "b+1_x-y.vdif"));
	names_drop(n);
}
END_TEST

/* As Mark6 calls its recordings. */
START_TEST(extension_in_name)
{
	MAKE(".vdif:vdif:1", "s1.vdif:vdif:1", "s2.vdif:m5b:1",
	     "s3vdif:vdif:1");
	ck_assert_str_eq(file(".vdif"), ".vdif.vdif");
	ck_assert_str_eq(file("s1.vdif"), "s1.vdif");
	ck_assert_str_eq(file("s2.vdif"), "s2.vdif.m5b");
	ck_assert_str_eq(file("s3vdif"), "s3vdif.vdif");
	names_drop(n);
}
END_TEST

/* Who is called so by the rule has it. */
START_TEST(twice)
{
	MAKE("a:vdif:1", "a.vdif:vdif:1", "a.vdif.vdif:vdif:1", "b.vdif:vdif:1",
	     "b.vdif.vdif:vdif:1", "c:vdif:1", "c.vdif:vdif:5");
	ck_assert_str_eq(file("a"), "a.vdif");
	ck_assert_str_eq(file("a.vdif"), "a.vdif.vdif");
	ck_assert_str_eq(file("a.vdif.vdif"), "a.vdif.vdif.vdif");
	ck_assert_str_eq(file("b.vdif"), "b.vdif");
	ck_assert_str_eq(file("b.vdif.vdif"), "b.vdif.vdif");
	ck_assert_str_eq(file("c"), "c.vdif");
	ck_assert_str_eq(file("c.vdif"), "c.vdif~2");
	names_drop(n);
}
END_TEST

START_TEST(as_our_folders)
{
	MAKE(".info:dat:2", "by-thread:vdif:2", "by-thread~2:vdif:3");
	ck_assert_str_eq(file(".info"), ".info~2");
	ck_assert_str_eq(file("by-thread"), "by-thread~2");
	ck_assert_str_eq(file("by-thread~2"), "by-thread~2~2");
	names_drop(n);
	MAKE("by-thread:vdif:1");
	ck_assert_str_eq(file("by-thread"), "by-thread.vdif");
	names_drop(n);
}
END_TEST

/* A path from a file of somebody else. */
START_TEST(bad_extension)
{
	MAKE("a:../x:1", "b:index:1");
	ck_assert_str_eq(file("a"), "a.dat");
	ck_assert_str_eq(file("b"), "b.dat");
	names_drop(n);
}
END_TEST

/* It is read as it is exported, not as SPEAD. */
START_TEST(cube)
{
	const struct entry e = {
		.name = "a",
		.extension = "spead",
		.state = ENTRY_COMPLETE,
		.store = HEAP_CUBE,
	};
	struct names_item *item = calloc(1, sizeof *item);

	item->record = record_make(&e);
	ck_assert_int_eq(names_make(&n, item, 1), 0);
	ck_assert_str_eq(file("a"), "a.dat");
	names_drop(n);
}
END_TEST

START_TEST(not_shown)
{
	static const struct entry e[] = {
		{ .name = "bad", .state = ENTRY_UNREADABLE },
		{ .name = "live", .state = ENTRY_LIVE, .extension = "vdif" },
	};
	struct names_item *item = calloc(2, sizeof *item);

	for (unsigned i = 0; i < 2; i++)
		item[i].record = record_make(&e[i]);
	ck_assert_int_eq(names_make(&n, item, 2), 0);
	ck_assert_ptr_null(names_find(n, "bad")->file);
	ck_assert_str_eq(file("live"), "live.vdif");
	names_drop(n);
}
END_TEST

static int
by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* All differ, and are the same whatever else is there (but for collisions,
 * which are rarer than this test could find). */
START_TEST(inode_numbers)
{
	enum { MANY = 20000 };
	struct names_item *item = calloc(MANY, sizeof *item);
	uint64_t *ino = calloc(MANY, sizeof *ino), one;

	for (unsigned i = 0; i < MANY; i++) {
		struct entry e = { .state = ENTRY_COMPLETE };

		snprintf(e.name, sizeof e.name, "scan%05u", i);
		item[i].record = record_make(&e);
	}
	ck_assert_int_eq(names_make(&n, item, MANY), 0);
	for (unsigned i = 0; i < MANY; i++)
		ino[i] = n->item[i].ino;
	one = names_find(n, "scan00777")->ino;
	names_drop(n);
	qsort(ino, MANY, sizeof *ino, by_number);
	for (unsigned i = 1; i < MANY; i++)
		ck_assert_uint_ne(ino[i - 1], ino[i]);
	MAKE("a:vdif:1", "scan00777:vdif:1");
	ck_assert_uint_eq(names_find(n, "scan00777")->ino, one);
	ck_assert_uint_ne(names_ino(one, NAMES_DATA, 0),
			  names_ino(one, NAMES_DATA, 1));
	ck_assert_uint_ne(names_ino(one, NAMES_DATA, 1),
			  names_ino(one, NAMES_THREAD, 1));
	ck_assert_uint_gt(names_ino(one, NAMES_DATA, 0), 1000);
	names_drop(n);
	free(ino);
}
END_TEST

/* Two whose hashes are the same: the later one has the next number. */
START_TEST(inode_numbers_collide)
{
	uint64_t first;

	MAKE("scan212672:vdif:1", "scan470266:vdif:1");
	first = names_find(n, "scan212672")->ino;
	ck_assert_uint_eq(names_find(n, "scan470266")->ino, first + (1 << 28));
	names_drop(n);
	MAKE("scan470266:vdif:1");
	ck_assert_uint_eq(names_find(n, "scan470266")->ino, first);
	names_drop(n);
}
END_TEST

#define START INT64_C(1763632800000000000) /* 2025-11-20T10:00:00Z */
#define S     INT64_C(1000000000)

static void
is_span(const char *text, int64_t from, int64_t to)
{
	int64_t a, b;

	ck_assert_msg(span_parse(text, START, &a, &b) == 0, "%s", text);
	ck_assert_int_eq(a, from);
	ck_assert_int_eq(b, to);
}

START_TEST(spans)
{
	static const char *const bad[] = {
		"",	  "..",	       "+1s",	   "+2s..+1s", "+1s..+1s",
		"x..",	  "..now",     "now..",	   "+1s..x",   "+1s...+2s",
		"..1970", "+1s..+2s ", "-1s..+1s",
	};
	int64_t a, b;

	is_span("2025-11-20T10:00:01Z..2025-11-20T10:00:02.5Z", START + S,
		START + 5 * S / 2);
	is_span("2025y324d10h00m01s..2025y324d10h00m02s", START + S,
		START + 2 * S);
	is_span("+1s..+1m30s", START + S, START + 90 * S);
	is_span("+1s..", START + S, 0);
	is_span("..+1s", 0, START + S);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(span_parse(bad[i], START, &a, &b) == -EINVAL,
			      "%s", bad[i]);
	ck_assert_str_eq(span_in("a@b.vdif@+1s.."), "+1s..");
	ck_assert_ptr_null(span_in("a.vdif"));
	ck_assert_ptr_null(span_in("@a"));
}
END_TEST

/* How many ids up to `last` have a node. */
static unsigned
nodes_known(struct nodes *all, uint64_t last)
{
	unsigned known = 0;

	for (uint64_t id = 1; id <= last; id++)
		known += nodes_find(all, id) != NULL;
	return known;
}

/* Chains and tables, as they grow and shrink. */
START_TEST(nodes)
{
	enum { MANY = 3000 };
	struct nodes *all = nodes_make();
	struct entry e = { .name = "a", .begun_ns = 1, .subs = MANY };
	struct record *a = record_make(&e), *b;
	struct node_key key = { .kind = NODE_DATA, .thread = -1 };
	uint64_t first, last;

	e.begun_ns = 2;
	b = record_make(&e);
	first = nodes_get(all, &key, a)->id;
	ck_assert_uint_eq(nodes_get(all, &key, a)->id, first);
	ck_assert_uint_ne(nodes_get(all, &key, b)->id, first);
	for (unsigned i = 0; i < MANY; i++) {
		key.sub = i;
		nodes_get(all, &key, a)->count = i + 1;
	}
	last = nodes_get(all, &key, a)->id;
	ck_assert_uint_eq(nodes_known(all, 2 * last), MANY + 1);
	for (unsigned i = 0; i < MANY; i++) {
		struct node *node;

		key.sub = i;
		node = nodes_get(all, &key, a);
		ck_assert_uint_eq(node->count, i + 1);
		ck_assert_ptr_eq(nodes_find(all, node->id), node);
		nodes_forget(all, node, i);
		nodes_forget(all, node, 1);
	}
	ck_assert_uint_eq(nodes_known(all, 2 * last), 1);
	ck_assert_ptr_null(nodes_find(all, first));
	nodes_free(all);
	record_drop(a);
	record_drop(b);
}
END_TEST

SUITE("tree_names", plain, extension_in_name, twice, as_our_folders,
      bad_extension, cube, not_shown, inode_numbers, inode_numbers_collide,
      spans, nodes)
