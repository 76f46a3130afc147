/* SPDX-License-Identifier: MIT */
/*
 * The size of a whole recording of one substream follows from its entry in the
 * catalogue, so a list of 10 000 recordings opens none of them.  All other
 * files are measured: opened, and asked for the number of bytes that a reader
 * would get.  A measurement is valid until the recording's stamp changes; for a
 * recording that grows, for GROWN_MS.
 *
 * An .info text is made anew when its content may have changed, and its size is
 * that of the text that the next open gets.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fuse/tree/measure.h"
#include "fuse/tree/tree_priv.h"

enum {
	GROWN_MS = 100, /* how often a file that grows is measured */
	TOLD_MS = 1000, /* how often the text of a growing recording is made */
	/*
	 * how long the kernel may cache a file that does not grow: it can be
	 * removed
	 */
	KEEP_MS = 1000,
	IO_BYTES = 1 << 20,
};

bool
node_is_folder(enum node_kind kind)
{
	return kind < NODE_INFO;
}

static bool
is_growing(const struct node *node)
{
	return node->record && node->record->state == ENTRY_LIVE;
}

/* True also of one that was interrupted: a recorder may go on with it while it
 * is open. */
static bool
may_grow(const struct node *node)
{
	return is_growing(node) ||
	       (node->record && node->record->state == ENTRY_INTERRUPTED);
}

void
tree_file_of(const struct node *node, struct tree_file *f)
{
	const struct record *r = node->record;

	*f = (struct tree_file){ .sub = node->key.sub,
				 .thread = node->key.thread,
				 .from_ns = node->key.from_ns,
				 .to_ns = node->key.to_ns,
				 .begun_ns = r->begun_ns,
				 .growing = may_grow(node),
				 .stamp = r->stamp };
	strcpy(f->name, r->name);
}

bool
tree_renew(struct tree *t, struct node *node)
{
	const struct names_item *item;

	if (!node->record)
		return true;
	item = names_find(tree_names(t, false), node->record->name);
	if (!item || !record_same(item->record, node->record))
		return false;
	if (item->record != node->record) {
		record_drop(node->record);
		node->record = record_hold(item->record);
	}
	return true;
}

/* ---- sizes ----------------------------------------------------------- */

/*
 * Tells the size of a file if it follows from the record.  For rows of heaps it
 * does not: the chunks count, not what their records say.
 */
static bool
size_known(const struct tree *t, const struct node *node, uint64_t *bytes)
{
	const struct record *r = node->record;
	const struct view_counts counts = { .store = r->store,
					    .payload = r->payload,
					    .bytes = r->bytes,
					    .packets = r->packets };
	struct view_choice choice;
	struct tree_file f;

	if (node->key.kind != NODE_DATA || node->key.from_ns ||
	    node->key.to_ns || r->subs > 1 || !r->counted || is_growing(node) ||
	    r->store == HEAP_ROW)
		return false;
	tree_file_of(node, &f);
	choice = measure_choice(&t->choice, &f, r->store);
	return !view_size(&counts, &choice, bytes);
}

static bool
is_young(const struct node *node, int ms)
{
	return clock_steady() - node->measured_ns < ms * INT64_C(1000000);
}

static bool
text_fits(const struct tree *t, const struct node *node)
{
	struct info_counts now;

	info_counts(t->opened, node->record->name, &now);
	return node->measured && node->stamp == node->record->stamp &&
	       !memcmp(&node->counts, &now, sizeof now) &&
	       (!is_growing(node) || is_young(node, TOLD_MS));
}

static bool
needs_measure(const struct tree *t, struct node *node)
{
	if (node_is_folder(node->key.kind))
		return false;
	if (node->key.kind == NODE_INFO)
		return !text_fits(t, node);
	if (size_known(t, node, &node->bytes)) {
		node->end_ns = node->record->end_ns;
		return false;
	}
	return !node->measured ||
	       (is_growing(node) ? !is_young(node, GROWN_MS)
				 : node->stamp != node->record->stamp);
}

/* The result of a measurement, and the text of an .info, which it owns. */
struct result {
	struct measured m;
	char *text;
	struct info_counts counts;
};

static int
measure(const struct tree *t, const struct tree_file *f,
	const struct info_about *about, struct result *r)
{
	if (!about->record)
		return measure_file(t->opened, &t->choice, f, &r->m);
	info_counts(t->opened, f->name, &r->counts);
	r->m.end_ns = about->record->end_ns;
	return info_text(t->opened, about, &r->counts, &r->text, &r->m.bytes);
}

/*
 * Frees the text of another node, so that TREE_TEXTS texts are kept: of 10 000
 * listed texts hardly any is read.
 */
static void
drop_text(struct tree *t, uint64_t id)
{
	uint64_t *turn = &t->text[t->texts++ % TREE_TEXTS];
	struct node *node = nodes_find(t->nodes, *turn);

	if (node && *turn != id) {
		free(node->text);
		node->text = NULL;
	}
	*turn = id;
}

static void
keep(struct tree *t, struct node *node, const struct tree_file *f,
     struct result *r)
{
	node->measured = true;
	node->measured_ns = clock_steady();
	node->stamp = f->stamp;
	node->bytes = r->m.bytes;
	node->end_ns = r->m.end_ns;
	if (!r->text)
		return;
	if (!node->text)
		drop_text(t, node->id);
	free(node->text);
	node->text = r->text;
	node->counts = r->counts;
	r->text = NULL;
}

/* Collects what an .info text needs to know of the tree. */
static void
info_begin(struct tree *t, const struct node *node, struct info_about *about)
{
	const struct names_item *item;

	*about = (struct info_about){ .choice = &t->choice };
	if (node->key.kind != NODE_INFO)
		return;
	about->record = record_hold(node->record);
	item = names_find(tree_names(t, false), node->record->name);
	if (item && item->file)
		strcpy(about->file, item->file);
}

static int
renew_size(struct tree *t, uint64_t id)
{
	struct node *node = nodes_find(t->nodes, id);
	struct info_about about;
	struct result r = { 0 };
	struct tree_file f;
	int err;

	if (!tree_renew(t, node) || !needs_measure(t, node))
		return 0;
	tree_file_of(node, &f);
	info_begin(t, node, &about);
	pthread_mutex_unlock(&t->lock);
	err = measure(t, &f, &about, &r);
	record_drop(about.record);
	pthread_mutex_lock(&t->lock);
	node = nodes_find(t->nodes, id);
	if (!err && node)
		keep(t, node, &f, &r);
	free(r.text);
	if (!node)
		return -ESTALE;
	/* An older size is better than none. */
	return node->measured ? 0 : err;
}

/* ---- attributes ------------------------------------------------------ */

static struct timespec
time_of(int64_t ns)
{
	return (struct timespec){ ns / 1000000000, ns % 1000000000 };
}

static int64_t
changed_ns(const struct tree *t, const struct node *node)
{
	if (!node->record)
		return t->names->made_ns;
	if (node_is_folder(node->key.kind) || !node->end_ns)
		return node->record->end_ns ? node->record->end_ns
					    : node->record->start_ns;
	return node->end_ns;
}

static void
take_attr(const struct tree *t, const struct node *node, bool gone,
	  struct tree_attr *a)
{
	bool folder = node_is_folder(node->key.kind);

	*a = (struct tree_attr){ .id = node->id };
	a->growing = !gone && is_growing(node);
	a->text = node->key.kind == NODE_INFO;
	a->stamp = node->record ? node->record->stamp : 0;
	a->keep_ms = a->growing || a->text || gone ? 0 : KEEP_MS;
	a->st.st_ino = node->ino;
	a->st.st_mode = folder ? S_IFDIR | 0555 : S_IFREG | 0444;
	a->st.st_nlink = gone ? 0 : folder ? 2 : 1;
	a->st.st_uid = t->uid;
	a->st.st_gid = t->gid;
	a->st.st_blksize = IO_BYTES;
	a->st.st_mtim = time_of(changed_ns(t, node));
	a->st.st_atim = a->st.st_ctim = a->st.st_mtim;
	if (folder)
		return;
	a->st.st_size = (off_t)node->bytes;
	a->st.st_blocks = (blkcnt_t)((node->bytes + 511) / 512);
}

int
tree_attr(struct tree *t, uint64_t id, struct tree_attr *a)
{
	struct node *node = nodes_find(t->nodes, id);
	int err;

	if (!node)
		return -ESTALE;
	err = renew_size(t, id);
	if (err)
		return err;
	node = nodes_find(t->nodes, id);
	take_attr(t, node, !tree_renew(t, node), a);
	return 0;
}

bool
tree_attr_known(struct tree *t, struct node *node, struct tree_attr *a)
{
	bool there = tree_renew(t, node);

	if (there && needs_measure(t, node))
		return false;
	take_attr(t, node, !there, a);
	return true;
}
