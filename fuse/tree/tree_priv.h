/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_TREE_PRIV_H
#define SPATE_FUSE_TREE_TREE_PRIV_H

#include <pthread.h>

#include "fuse/tree/measure.h"
#include "fuse/tree/nodes.h"
#include "fuse/tree/tree.h"
#include "store/list/catalogue.h"
#include "store/view/view.h"

/*
 * Declarations that the files of the tree share.
 *
 *   tree.c         ids, which node a name is, and lists
 *   tree_attr.c    what a node's attributes are
 *   tree_worker.c  what is there: the thread that looks at disks
 *
 * `worker` is that thread (base/worker.h).
 */
enum {
	TREE_TEXTS = 64,
	TREE_NAME = 256, /* bytes of a file's name, with its 0 */
};

struct tree {
	struct disks disks; /* used by the worker alone */
	/* ---- the worker's */
	struct mount_source *source; /* NULL: no disk joins */
	bool full;		     /* a disk could not join; was logged */
	int64_t looked_ns;	     /* steady ns: when disks were looked for */
	/* ---- */
	struct open_recordings *opened;
	struct view_choice choice;
	int64_t patience_ns;
	uid_t uid;
	gid_t gid;
	struct catalogue *catalogue; /* has a lock of its own */
	struct worker *worker;
	uint64_t first; /* the poke of the first pass over the disks */

	/*
	 * guards the fields below; never held while waiting for a disk.  The
	 * catalogue's lock is taken inside it
	 */
	pthread_mutex_t lock;
	size_t unnamed; /* folders that are not shown, as last logged */
	struct statvfs space;
	struct mount_names
	    *names; /* recordings, as of `changes` of the catalogue */
	uint64_t changes;
	int64_t names_ns; /* steady ns: when names were made */
	struct nodes *nodes;
	/* ids of nodes that have a text, used in turn */
	uint64_t text[TREE_TEXTS];
	unsigned texts;
};

/* ---- tree_worker.c ----------------------------------------------------- */

/* Starts the worker.  Returns 0 or -errno. */
int tree_worker_start(struct tree *t);
/*
 * Stops the thread.  Returns false if it hangs: then all that it uses must
 * stay.
 */
bool tree_worker_stop(struct tree *t);

/*
 * Returns the present names; they belong to the tree, and are valid while the
 * caller holds the lock.  `sure`: make them anew even if they are under 100 ms
 * old.
 */
const struct mount_names *tree_names(struct tree *t, bool sure);

/*
 * Waits for the first pass over the disks, at most patience_ns.  Called without
 * the lock.
 */
void tree_wait_first(struct tree *t);
/*
 * Has the worker read recordings of these names now, if they are unknown or
 * `again`, and waits for it, at most 3 s.  Called without the lock.
 */
void tree_look(struct tree *t, char name[][LAYOUT_FILE], unsigned n,
	       bool again);

/* ---- tree_attr.c ----------------------------------------------------- */

/*
 * Gets a node's present attributes.  Called with the lock, which is released
 * while it measures.  Returns 0; -ESTALE: it was forgotten meanwhile; or as
 * tree_lookup().
 */
int tree_attr(struct tree *t, uint64_t id, struct tree_attr *a);
/* The same without measuring; false: the size would have to be measured. */
bool tree_attr_known(struct tree *t, struct node *node, struct tree_attr *a);
/*
 * Updates a node's record from the present names; false: the recording is gone.
 */
bool tree_renew(struct tree *t, struct node *node);

/* Tells what a reader of a node opens. */
void tree_file_of(const struct node *node, struct tree_file *f);

bool node_is_folder(enum node_kind kind);

#endif
