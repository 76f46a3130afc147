/* SPDX-License-Identifier: MIT */
/* The cards of a machine that a scratch folder pretends to be. */
#include <sys/stat.h>

#include "daemon/conf/node.c"
#include "lib/scratch.h"
#include "lib/suite.h"

static struct scratch scratch;
static char why[NODE_WHY];

static void
card_make(const char *name, const char *node)
{
	char path[400];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", scratch.path, name);
	mkdir(path, 0700);
	strcat(path, "/device");
	if (!node)
		return;
	mkdir(path, 0700);
	strcat(path, "/numa_node");
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(node, f);
	fclose(f);
}

static void
machine_make(void)
{
	scratch_make(&scratch);
	net = scratch.path;
	card_make("lo", NULL);
	card_make("eth2", "1\n");
	card_make("eth3", "1\n");
	card_make("eth4", "0\n");
	card_make("old0", "-1\n");
}

static int
find(const char *text, const char *listen_a, const char *listen_b)
{
	const char *a[] = { listen_a }, *b[] = { listen_b };
	struct option_texts lists[] = { { a, listen_a != NULL },
					{ b, listen_b != NULL } };

	return node_find(text, lists, 2, why);
}

START_TEST(named)
{
	machine_make();
	ck_assert_int_eq(find("3", NULL, NULL), 3);
	ck_assert_int_eq(find("eth2", NULL, NULL), 1);
	ck_assert_int_eq(find("eth4", NULL, NULL), 0);
	ck_assert_str_eq(why, "");
	ck_assert_int_eq(find("lo", NULL, NULL), NODE_ANY);
	ck_assert_str_eq(why, "lo is no network card");
	ck_assert_int_eq(find("eth9", NULL, NULL), NODE_ANY);
	ck_assert_int_eq(find("old0", NULL, NULL), NODE_ANY);
	ck_assert_str_eq(why, "old0 does not say which is its");
	ck_assert_int_eq(find("", NULL, NULL), NODE_ANY);
	ck_assert_int_eq(find("../eth2", NULL, NULL), NODE_ANY);
	scratch_remove(&scratch);
}
END_TEST

START_TEST(by_listen)
{
	machine_make();
	ck_assert_int_eq(find("auto", "eth2@0.0.0.0:1", "eth3@[::]:2"), 1);
	ck_assert_int_eq(find("auto", "eth4@0.0.0.0:1", "1.2.3.4:2"), 0);
	ck_assert_str_eq(why, "");
	ck_assert_int_eq(find("auto", "eth2@0.0.0.0:1", "eth4@0.0.0.0:1"),
			 NODE_ANY);
	ck_assert_ptr_nonnull(strstr(why, "several nodes"));
	scratch_remove(&scratch);
}
END_TEST

START_TEST(by_cards)
{
	machine_make();
	ck_assert_int_eq(find("auto", "0.0.0.0:1", NULL), NODE_ANY);
	ck_assert_ptr_nonnull(strstr(why, "several nodes"));
	scratch_remove(&scratch);
	scratch_make(&scratch);
	net = scratch.path;
	ck_assert_int_eq(find("auto", "0.0.0.0:1", NULL), NODE_ANY);
	ck_assert_ptr_nonnull(strstr(why, "no network card"));
	card_make("eth2", "1\n");
	card_make("lo", NULL);
	ck_assert_int_eq(find("auto", "0.0.0.0:1", NULL), 1);
	scratch_remove(&scratch);
	ck_assert_int_eq(find("auto", "0.0.0.0:1", NULL), NODE_ANY);
}
END_TEST

SUITE("node", named, by_listen, by_cards)
