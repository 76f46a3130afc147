/* SPDX-License-Identifier: MIT */
/*
 * A list holds the names that were there when it was opened, so a place in it
 * stays the same entry however often the kernel reads it.  No recording is
 * opened for a list: the kernel looks a name up if it wants attributes that
 * must be measured.  Only the folder of a recording's threads opens it, to find
 * the threads.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/tree/tree_priv.h"

enum { DOTS = 2 };

struct tree_dir {
	struct tree *t;
	uint64_t ino;
	enum node_kind kind;
	struct names *names;
	struct record *record; /* NULL: the folder is not of a recording */
	struct measured_thread *thread;
	size_t threads;
};

/* One entry of a list. */
struct child {
	char name[TREE_NAME];
	struct node_key key;
	struct record *record;
};

/* ---- entries ----------------------------------------------------------- */

static size_t
count(const struct tree_dir *d)
{
	switch (d->kind) {
	case NODE_ROOT: return DOTS + d->names->n;
	case NODE_FOLDER: return d->record->subs;
	case NODE_BY: return d->threads;
	default: return d->names->n;
	}
}

static bool
root_child(const struct tree_dir *d, size_t at, struct child *c)
{
	const struct names_item *item;

	if (at < DOTS) {
		strcpy(c->name, at ? NAMES_THREADS : NAMES_INFOS);
		c->key.kind = at ? NODE_THREADS : NODE_INFOS;
		return true;
	}
	item = &d->names->item[at - DOTS];
	if (!item->file)
		return false;
	strcpy(c->name, item->file);
	c->record = item->record;
	c->key.kind = item->record->subs > 1 ? NODE_FOLDER : NODE_DATA;
	return true;
}

static bool
folder_child(const struct tree_dir *d, size_t at, struct child *c)
{
	c->record = d->record;
	if (d->kind == NODE_FOLDER) {
		c->key.kind = NODE_DATA;
		c->key.sub = (unsigned)at;
		tree_name_sub(c->name, d->record, c->key.sub);
		return true;
	}
	c->key.kind = NODE_THREAD;
	c->key.sub = d->thread[at].sub;
	c->key.thread = (int)d->thread[at].thread;
	tree_name_thread(c->name, d->record, c->key.sub, d->thread[at].thread);
	return true;
}

static bool
named_child(const struct tree_dir *d, size_t at, struct child *c)
{
	const struct names_item *item = &d->names->item[at];

	c->record = item->record;
	if (d->kind == NODE_INFOS) {
		c->key.kind = NODE_INFO;
		tree_name_info(c->name, item->record);
		return true;
	}
	c->key.kind = NODE_BY;
	strcpy(c->name, item->record->name);
	return item->file && item->record->vdif;
}

/* Makes the entry at a place; false: nothing is shown there. */
static bool
child_at(const struct tree_dir *d, size_t at, struct child *c)
{
	c->record = NULL;
	c->key = (struct node_key){ .thread = -1 };
	switch (d->kind) {
	case NODE_ROOT: return root_child(d, at, c);
	case NODE_FOLDER:
	case NODE_BY: return folder_child(d, at, c);
	default: return named_child(d, at, c);
	}
}

/* ---- reading ----------------------------------------------------------- */

static void
bare_attr(const struct tree_dir *d, const struct child *c, struct tree_attr *a)
{
	*a = (struct tree_attr){ 0 };
	a->st.st_ino = tree_ino(d->names, &c->key, c->record);
	a->st.st_mode = node_is_folder(c->key.kind) ? S_IFDIR : S_IFREG;
}

/*
 * Gets the attributes and raises the node's count, if they are known without
 * opening the recording.
 */
static void
count_attr(const struct tree_dir *d, const struct child *c, struct tree_attr *a)
{
	struct tree *t = d->t;
	struct tree_attr known;
	struct node *node;

	pthread_mutex_lock(&t->lock);
	node = nodes_get(t->nodes, &c->key, c->record);
	if (!node)
		goto out;
	if (!node->ino)
		node->ino = a->st.st_ino;
	if (tree_attr_known(t, node, &known)) {
		node->count++;
		*a = known;
	} else {
		nodes_forget(t->nodes, node, 0);
	}
out:
	pthread_mutex_unlock(&t->lock);
}

static bool
give(const struct tree_dir *d, size_t at, const struct tree_entry *e)
{
	struct tree_attr a;
	struct child c;

	if (!child_at(d, at, &c))
		return true;
	bare_attr(d, &c, &a);
	if (e->count)
		count_attr(d, &c, &a);
	if (e->entry(e->arg, c.name, &a, DOTS + at + 1))
		return true;
	if (a.id)
		tree_forget(d->t, a.id, 1);
	return false;
}

static bool
give_dots(const struct tree_dir *d, size_t at, const struct tree_entry *e)
{
	struct tree_attr a = { .st.st_mode = S_IFDIR, .st.st_ino = d->ino };

	if (at)
		a.st.st_ino =
		    d->kind == NODE_BY ? TREE_ROOT + NODE_THREADS : TREE_ROOT;
	return e->entry(e->arg, at ? ".." : ".", &a, at + 1);
}

int
tree_dir_read(struct tree_dir *d, uint64_t at, const struct tree_entry *e)
{
	bool more = true;
	size_t n = count(d);

	for (; at < DOTS && more; at++)
		more = give_dots(d, at, e);
	for (; more && at - DOTS < n; at++)
		more = give(d, at - DOTS, e);
	return 0;
}

/* ---- opening and closing ----------------------------------------------- */

static int
find_threads(struct tree_dir *d, const struct tree_file *f)
{
	return measure_threads(d->t->opened, f, &d->thread, &d->threads);
}

int
tree_dir_open(struct tree *t, uint64_t id, struct tree_dir **dir)
{
	struct tree_dir *d = calloc(1, sizeof *d);
	struct tree_file f;
	struct node *node;
	int err = 0;

	if (!d)
		return -ENOMEM;
	tree_wait_first(t);
	d->t = t;
	pthread_mutex_lock(&t->lock);
	node = nodes_find(t->nodes, id);
	if (!node || !tree_renew(t, node)) {
		err = -ESTALE;
	} else if (!node_is_folder(node->key.kind)) {
		err = -ENOTDIR;
	} else {
		d->kind = node->key.kind;
		d->ino = node->ino;
		tree_names(t, true);
		d->names = names_hold(t->names);
		if (node->record) {
			d->record = record_hold(node->record);
			tree_file_of(node, &f);
		}
	}
	pthread_mutex_unlock(&t->lock);
	if (!err && d->kind == NODE_BY)
		err = find_threads(d, &f);
	if (err)
		tree_dir_close(d);
	else
		*dir = d;
	return err;
}

void
tree_dir_close(struct tree_dir *d)
{
	if (!d)
		return;
	names_drop(d->names);
	record_drop(d->record);
	free(d->thread);
	free(d);
}
