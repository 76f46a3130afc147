/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_TREE_PRIV_H
#define SPATE_FUSE_TREE_TREE_PRIV_H

#include <pthread.h>

#include "fuse/tree/measure.h"
#include "fuse/tree/nodes.h"
#include "fuse/tree/tree.h"
#include "store/list/catalogue.h"
#include "store/view/view.h"

/* What the sources of the tree share:
 *
 *   tree.c         ids: lookup, get, open, forget
 *   tree_attr.c    what a node's attributes are
 *   tree_child.c   which node a name is, and what names a folder has
 *   tree_dir.c     lists
 *   tree_keep.c    what is there: the thread that looks at disks
 */
enum { TREE_TEXTS = 64 };

struct tree {
	struct disks disks; /* paths; the keeper's */
	struct opened_set *opened;
	struct view_choice choice;
	int64_t patience_ns;
	uid_t uid;
	gid_t gid;
	struct catalogue *catalogue; /* has a lock of its own */
	pthread_t keeper;

	pthread_mutex_t lock; /* over what is below; never while a disk may be
				 waited for.  The catalogue's is taken within */
	pthread_cond_t poke, passed;
	bool stop, poked;
	size_t unnamed;	 /* folders that are not shown, as was said */
	uint64_t passes; /* that have ended */
	int64_t pass_ns; /* steady: when this one began; 0: none is on */
	struct statvfs space;
	struct names *names; /* what is there, when `changes` were so many */
	uint64_t changes;
	int64_t names_ns; /* steady: when they were made */
	struct nodes *nodes;
	uint64_t text[TREE_TEXTS]; /* ids of nodes that have one, in turn */
	unsigned texts;
};

/* ---- tree_keep.c ----------------------------------------------------- */

int tree_keep_start(struct tree *t);
/* False: the thread hangs, and with it all that it uses. */
bool tree_keep_stop(struct tree *t);

/* Of the lock's holder: the names as they are now, borrowed until it is given
 * back.  `sure`: whatever it costs. */
const struct names *tree_names(struct tree *t, bool sure);

/* Without the lock.  Waits for the first pass, as long as patience lasts. */
void tree_wait_first(struct tree *t);
/* Has recordings of these names read now, if they are not known, or `again`;
 * and waits for that, a moment. */
void tree_look(struct tree *t, char name[][LAYOUT_FILE], unsigned n,
	       bool again);

/* ---- tree_attr.c ----------------------------------------------------- */

/* As it is now; gives the lock back while it measures.  0; -ESTALE: it was
 * forgotten meanwhile; or as tree_lookup. */
int tree_attr(struct tree *t, uint64_t id, struct tree_attr *a);
/* The same of one whose size is known; false: it would have to be measured. */
bool tree_attr_known(struct tree *t, struct node *node, struct tree_attr *a);
/* Before it is looked at: takes in what has become of its recording.  False:
 * that is gone. */
bool tree_renew(struct tree *t, struct node *node);

/* Its recording and what of it, for who opens it. */
void tree_file_of(const struct node *node, struct tree_file *f);

bool node_is_folder(enum node_kind kind);

/* ---- tree_child.c ---------------------------------------------------- */

/* What a name is in a folder: key and record, borrowed.  0, -ENOENT, -ENOTDIR,
 * -EINVAL. */
int tree_child(const struct names *names, const struct node_key *folder,
	       struct record *record, const char *name, struct node_key *key,
	       struct record **child);

/* Which recordings a name that is not known may be of: how many of two. */
unsigned tree_guess(enum node_kind folder, const char *name,
		    char guess[2][LAYOUT_FILE]);

/* The inode number of what a recording has. */
uint64_t tree_ino(const struct names *names, const struct node_key *key,
		  const struct record *record);

/* As they are called; TREE_NAME bytes. */
enum { TREE_NAME = 256 };
void tree_name_sub(char name[TREE_NAME], const struct record *r, unsigned sub);
void tree_name_thread(char name[TREE_NAME], const struct record *r,
		      unsigned sub, unsigned thread);
void tree_name_info(char name[TREE_NAME], const struct record *r);

#endif
