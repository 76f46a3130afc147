/* SPDX-License-Identifier: MIT */
/*
 * A name becomes a node, and the kernel calls the node by its id from then on.
 * What a node stands for stays; its record is updated at every request from the
 * names as the keeper saw them last.
 *
 * An id is a count, not an address or hash: if the kernel still has pages of a
 * removed recording and another one gets its name, both exist side by side.
 */
#include "config.h"

#include "fuse/tree/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/tree/tree_priv.h"

/* ---- making and freeing ------------------------------------------------ */

/*
 * Makes the nodes of the root and its special folders.  Each keeps a count of
 * one, so that the kernel never frees them.
 */
static int
make_folders(struct tree *t)
{
	static const enum node_kind kinds[] = { NODE_ROOT, NODE_INFOS,
						NODE_THREADS };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct node_key key = { .kind = kinds[i], .thread = -1 };
		struct node *node = nodes_get(t->nodes, &key, NULL);

		if (!node)
			return -ENOMEM;
		node->count = 1;
		node->ino = tree_ino(t->names, &key, NULL);
	}
	return 0;
}

static int
join_disks(struct tree *t, const struct disks *disks)
{
	int err = disks_copy(&t->disks, disks);

	for (unsigned i = 0; i < disks->n && !err; i++)
		err = catalogue_join(t->catalogue, disks->disk[i].path,
				     disks->disk[i].mount);
	return err;
}

static void
free_tree(struct tree *t)
{
	nodes_free(t->nodes);
	names_drop(t->names);
	catalogue_free(t->catalogue);
	disks_clear(&t->disks);
	pthread_cond_destroy(&t->passed);
	pthread_cond_destroy(&t->poke);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static void
make_locks(struct tree *t)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->poke, &attr);
	pthread_cond_init(&t->passed, &attr);
	pthread_condattr_destroy(&attr);
}

int
tree_make(struct tree **tree, const struct tree_args *args)
{
	struct tree *t = calloc(1, sizeof *t);
	int err;

	if (!t)
		return -ENOMEM;
	make_locks(t);
	t->opened = args->opened;
	t->choice = *args->choice;
	t->patience_ns = args->patience_ns;
	t->uid = args->uid;
	t->gid = args->gid;
	t->nodes = nodes_make();
	err = t->nodes ? names_make(&t->names, NULL, 0) : -ENOMEM;
	if (!err)
		err = catalogue_make(&t->catalogue);
	if (!err)
		catalogue_count_no_live(t->catalogue);
	if (!err)
		err = join_disks(t, args->disks);
	if (!err)
		err = make_folders(t);
	if (!err)
		err = tree_keep_start(t);
	if (err)
		free_tree(t);
	else
		*tree = t;
	return err;
}

void
tree_free(struct tree *t)
{
	if (t && tree_keep_stop(t))
		free_tree(t);
}

/* ---- names ----------------------------------------------------------- */

/* Called with the lock. */
static int
find_child(struct tree *t, uint64_t parent, const char *name, bool sure,
	   struct node **child)
{
	struct node *folder = nodes_find(t->nodes, parent);
	const struct names *names;
	struct record *record;
	struct node_key key;
	int err;

	if (!folder)
		return -ESTALE;
	if (!tree_renew(t, folder))
		return -ENOENT;
	names = tree_names(t, sure);
	err = tree_child(names, &folder->key, folder->record, name, &key,
			 &record);
	if (err)
		return err;
	*child = nodes_get(t->nodes, &key, record);
	if (!*child)
		return -ENOMEM;
	if (!(*child)->ino)
		(*child)->ino = tree_ino(names, &key, record);
	return 0;
}

/*
 * Finds a name; if it is unknown, the keeper looks whether a recording has
 * appeared since.  Called with the lock, which is released while it waits.
 */
static int
find_or_look(struct tree *t, uint64_t parent, const char *name,
	     struct node **child)
{
	int err = find_child(t, parent, name, false, child);
	char guess[2][LAYOUT_FILE];
	unsigned n;

	if (err != -ENOENT)
		return err;
	n = tree_guess(nodes_find(t->nodes, parent)->key.kind, name, guess);
	if (!n)
		return -ENOENT;
	pthread_mutex_unlock(&t->lock);
	tree_look(t, guess, n, false);
	pthread_mutex_lock(&t->lock);
	return find_child(t, parent, name, true, child);
}

int
tree_lookup(struct tree *t, uint64_t parent, const char *name,
	    struct tree_attr *a)
{
	struct node *node = NULL;
	uint64_t id;
	int err;

	if (strlen(name) >= TREE_NAME)
		return -ENAMETOOLONG;
	pthread_mutex_lock(&t->lock);
	err = find_or_look(t, parent, name, &node);
	if (err)
		goto out;
	id = node->id;
	node->count++;
	err = tree_attr(t, id, a);
	node = nodes_find(t->nodes, id);
	if (err && node)
		nodes_forget(t->nodes, node, 1);
out:
	pthread_mutex_unlock(&t->lock);
	return err;
}

int
tree_get(struct tree *t, uint64_t id, struct tree_attr *a)
{
	int err;

	pthread_mutex_lock(&t->lock);
	err = tree_attr(t, id, a);
	pthread_mutex_unlock(&t->lock);
	return err;
}

void
tree_forget(struct tree *t, uint64_t id, uint64_t n)
{
	struct node *node;

	pthread_mutex_lock(&t->lock);
	node = nodes_find(t->nodes, id);
	if (node && node->record)
		nodes_forget(t->nodes, node, n);
	pthread_mutex_unlock(&t->lock);
}

/* ---- contents ---------------------------------------------------------- */

int
tree_open(struct tree *t, uint64_t id, struct tree_file *f)
{
	struct node *node;
	int err = 0;

	pthread_mutex_lock(&t->lock);
	node = nodes_find(t->nodes, id);
	if (!node || !tree_renew(t, node))
		err = -ESTALE;
	else if (node_is_folder(node->key.kind))
		err = -EISDIR;
	else
		tree_file_of(node, f);
	pthread_mutex_unlock(&t->lock);
	return err;
}

/*
 * Finds the text of an .info; one that was dropped is made again.  Called with
 * the lock.
 */
static int
find_text(struct tree *t, uint64_t id, struct node **found)
{
	struct tree_attr a;
	struct node *node;
	int err = tree_attr(t, id, &a);

	if (err)
		return err;
	if (!a.text)
		return -EINVAL;
	node = nodes_find(t->nodes, id);
	if (!node->text) {
		node->measured = false;
		err = tree_attr(t, id, &a);
		node = nodes_find(t->nodes, id);
	}
	*found = node;
	return err ? err : node && node->text ? 0 : -ESTALE;
}

int
tree_text(struct tree *t, uint64_t id, char **text, size_t *bytes)
{
	struct node *node;
	int err;

	pthread_mutex_lock(&t->lock);
	err = find_text(t, id, &node);
	if (!err) {
		*bytes = node->bytes;
		*text = malloc(node->bytes + 1);
		err = *text ? 0 : -ENOMEM;
	}
	if (!err)
		memcpy(*text, node->text, node->bytes + 1);
	pthread_mutex_unlock(&t->lock);
	return err;
}

void
tree_doubt(struct tree *t, uint64_t id)
{
	char name[1][LAYOUT_FILE];
	struct node *node;
	bool is;

	pthread_mutex_lock(&t->lock);
	node = nodes_find(t->nodes, id);
	is = node && node->record;
	if (is)
		strcpy(name[0], node->record->name);
	pthread_mutex_unlock(&t->lock);
	if (!is)
		return;
	tree_look(t, name, 1, true);
	pthread_mutex_lock(&t->lock);
	tree_names(t, true);
	pthread_mutex_unlock(&t->lock);
}

void
tree_statfs(struct tree *t, struct statvfs *vfs)
{
	tree_wait_first(t);
	pthread_mutex_lock(&t->lock);
	*vfs = t->space;
	pthread_mutex_unlock(&t->lock);
}
