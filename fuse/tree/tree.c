/* SPDX-License-Identifier: MIT */
/*
 * A name becomes a node, and the kernel calls the node by its id from then on.
 * A node stands for the same file for ever; its record is updated at every request from the
 * names as the worker saw them last.
 *
 * An id is a count, not an address or hash: if the kernel still has pages of a
 * removed recording and another one gets its name, both exist side by side.
 *
 * Names are accepted only as a list writes them: 03 is no thread if the list
 * says 3, or one file would have two names.  So a number is read, its name is
 * made, and both are compared.
 *
 * A list holds the names that were there when it was opened, so a place in it
 * stays the same entry however often the kernel reads it.  No recording is
 * opened for a list: the kernel looks a name up if it wants attributes that
 * must be measured.  Only the folder of a recording's threads opens it, to find
 * the threads.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/tree/mount_source.h"
#include "fuse/tree/span.h"
#include "fuse/tree/tree.h"
#include "fuse/tree/tree_priv.h"
#include "store/foreign/foreign.h"

enum { THREADS_MOST = 1024 };

/* ---- making names ------------------------------------------------------ */

static int
digits(const struct record *r)
{
	return snprintf(NULL, 0, "%u", r->subs - 1);
}

static void
tree_name_sub(char name[TREE_NAME], const struct record *r, unsigned sub)
{
	snprintf(name, TREE_NAME, "%s_%0*u.%s", r->name, digits(r), sub,
		 r->extension);
}

static void
tree_name_thread(char name[TREE_NAME], const struct record *r, unsigned sub,
		 unsigned thread)
{
	if (r->subs > 1)
		snprintf(name, TREE_NAME, "%0*u_%u.%s", digits(r), sub, thread,
			 r->extension);
	else
		snprintf(name, TREE_NAME, "%u.%s", thread, r->extension);
}

static void
tree_name_info(char name[TREE_NAME], const struct record *r)
{
	snprintf(name, TREE_NAME, "%s.json", r->name);
}

/* Returns the inode number of a file or folder of a recording. */
static uint64_t
tree_ino(const struct mount_names *names, const struct node_key *key,
	 const struct record *record)
{
	const struct names_item *item =
	    record ? names_find(names, record->name) : NULL;
	uint64_t ino = item ? item->ino : 0;
	uint64_t which = (uint64_t)key->sub << 10;

	if (key->from_ns || key->to_ns)
		return names_ino(ino, NAMES_RANGE,
				 which ^ (uint64_t)key->thread ^
				     (uint64_t)key->from_ns / 1000 ^
				     (uint64_t)key->to_ns / 7000);
	switch (key->kind) {
	case NODE_ROOT:
	case NODE_INFOS:
	case NODE_THREADS: return key->kind + TREE_ROOT;
	case NODE_FOLDER: return names_ino(ino, NAMES_OTHER, NAMES_FOLDER);
	case NODE_BY: return names_ino(ino, NAMES_OTHER, NAMES_BY_THREAD);
	case NODE_INFO: return names_ino(ino, NAMES_OTHER, NAMES_INFO);
	case NODE_DATA: return names_ino(ino, NAMES_DATA, key->sub);
	default:
		return names_ino(ino, NAMES_THREAD,
				 which | (uint64_t)key->thread);
	}
}

/* ---- reading names ----------------------------------------------------- */

static int
in_root(const struct mount_names *names, const char *name, struct node_key *key,
	struct record **child)
{
	const struct names_item *item;

	if (!strcmp(name, NAMES_INFOS) || !strcmp(name, NAMES_THREADS)) {
		key->kind = *name == *NAMES_INFOS ? NODE_INFOS : NODE_THREADS;
		return 0;
	}
	item = names_find_file(names, name);
	if (!item)
		return -ENOENT;
	*child = item->record;
	key->kind = item->record->subs > 1 ? NODE_FOLDER : NODE_DATA;
	return 0;
}

static int
in_infos(const struct mount_names *names, const char *name,
	 struct node_key *key, struct record **child)
{
	size_t length = strlen(name), tail = strlen(".json");
	const struct names_item *item;
	char of[TREE_NAME];

	if (length <= tail || strcmp(name + length - tail, ".json"))
		return -ENOENT;
	snprintf(of, sizeof of, "%.*s", (int)(length - tail), name);
	item = names_find(names, of);
	if (!item)
		return -ENOENT;
	key->kind = NODE_INFO;
	*child = item->record;
	return 0;
}

static int
in_threads(const struct mount_names *names, const char *name,
	   struct node_key *key, struct record **child)
{
	const struct names_item *item = names_find(names, name);

	if (!item || !item->file || !item->record->vdif)
		return -ENOENT;
	key->kind = NODE_BY;
	*child = item->record;
	return 0;
}

static int
in_folder(struct record *r, const char *name, struct node_key *key)
{
	const char *number = name + strlen(r->name) + 1;
	char same[TREE_NAME];

	if (strlen(name) <= strlen(r->name))
		return -ENOENT;
	key->kind = NODE_DATA;
	key->sub = (unsigned)strtoul(number, NULL, 10);
	tree_name_sub(same, r, key->sub);
	return key->sub < r->subs && !strcmp(same, name) ? 0 : -ENOENT;
}

static int
in_by(struct record *r, const char *name, struct node_key *key)
{
	unsigned long number = strtoul(name, NULL, 10), thread = number;
	const char *line = strchr(name, '_');
	char same[TREE_NAME];

	if (r->subs > 1) {
		thread = line ? strtoul(line + 1, NULL, 10) : THREADS_MOST;
		key->sub = number < r->subs ? (unsigned)number : 0;
	}
	if (thread >= THREADS_MOST)
		return -ENOENT;
	key->kind = NODE_THREAD;
	key->thread = (int)thread;
	tree_name_thread(same, r, key->sub, (unsigned)thread);
	return strcmp(same, name) ? -ENOENT : 0;
}

static int
whole_child(const struct mount_names *names, const struct node_key *folder,
	    struct record *record, const char *name, struct node_key *key,
	    struct record **child)
{
	*key = (struct node_key){ .thread = -1 };
	*child = record;
	switch (folder->kind) {
	case NODE_ROOT: return in_root(names, name, key, child);
	case NODE_INFOS: return in_infos(names, name, key, child);
	case NODE_THREADS: return in_threads(names, name, key, child);
	case NODE_FOLDER: return in_folder(record, name, key);
	case NODE_BY: return in_by(record, name, key);
	default: return -ENOTDIR;
	}
}

/*
 * Finds a name in a folder; *key is the node's, *child its record, which
 * belongs to the names.  Only files of data can have a range of time.  Returns
 * 0, -ENOENT, -ENOTDIR or -EINVAL.
 */
static int
tree_child(const struct mount_names *names, const struct node_key *folder,
	   struct record *record, const char *name, struct node_key *key,
	   struct record **child)
{
	int err = whole_child(names, folder, record, name, key, child);
	const char *span = span_in(name);
	char whole[TREE_NAME];

	if (err != -ENOENT || !span)
		return err;
	snprintf(whole, sizeof whole, "%.*s", (int)(span - 1 - name), name);
	err = whole_child(names, folder, record, whole, key, child);
	if (err || (key->kind != NODE_DATA && key->kind != NODE_THREAD))
		return -ENOENT;
	return span_parse(span, (*child)->start_ns, &key->from_ns, &key->to_ns);
}

/* ---- guessing recordings ----------------------------------------------- */

static unsigned
add_guess(char guess[2][LAYOUT_FILE], unsigned n, const char *name,
	  size_t length)
{
	if (!length || length >= LAYOUT_FILE)
		return n;
	snprintf(guess[n], LAYOUT_FILE, "%.*s", (int)length, name);
	return n +
	       (layout_folder_good(guess[n]) || foreign_name_good(guess[n]));
}

/*
 * Guesses of which recordings an unknown name may be; returns how many of two.
 */
static unsigned
tree_guess(enum node_kind folder, const char *name, char guess[2][LAYOUT_FILE])
{
	const char *span = span_in(name);
	size_t length = span ? (size_t)(span - 1 - name) : strlen(name);
	const char *dot = memrchr(name, '.', length);
	unsigned n = 0;

	if (folder == NODE_THREADS)
		return add_guess(guess, 0, name, strlen(name));
	if (folder != NODE_ROOT && folder != NODE_INFOS)
		return 0;
	if (dot)
		n = add_guess(guess, n, name, (size_t)(dot - name));
	if (folder == NODE_ROOT)
		n = add_guess(guess, n, name, length);
	return n;
}

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
	int err = disks_copy(&t->disks, disks, 0);

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
	if (t->source)
		source_clear(t->source);
	free(t->source);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

int
tree_make(struct tree **tree, const struct tree_args *args)
{
	struct tree *t = calloc(1, sizeof *t);
	int err;

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	t->opened = args->opened;
	t->choice = *args->choice;
	t->patience_ns = args->patience_ns;
	t->uid = args->uid;
	t->gid = args->gid;
	t->nodes = nodes_make();
	if (args->source)
		t->source = source_copy(args->source);
	err = t->nodes && (t->source || !args->source)
		  ? names_make(&t->names, NULL, 0)
		  : -ENOMEM;
	if (!err)
		err = catalogue_make(&t->catalogue);
	if (!err)
		catalogue_count_no_live(t->catalogue);
	if (!err)
		err = join_disks(t, args->disks);
	if (!err)
		err = make_folders(t);
	if (!err)
		err = tree_worker_start(t);
	if (err)
		free_tree(t);
	else
		*tree = t;
	return err;
}

void
tree_free(struct tree *t)
{
	if (t && tree_worker_stop(t))
		free_tree(t);
}

/* ---- names ----------------------------------------------------------- */

/* Called with the lock. */
static int
find_child(struct tree *t, uint64_t parent, const char *name, bool sure,
	   struct node **child)
{
	struct node *folder = nodes_find(t->nodes, parent);
	const struct mount_names *names;
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
 * Finds a name; if it is unknown, the worker looks whether a recording has
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

enum { DOTS = 2 };

struct tree_dir {
	struct tree *t;
	uint64_t ino;
	enum node_kind kind;
	struct mount_names *names;
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
