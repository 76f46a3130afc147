/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_NODES_H
#define SPATE_FUSE_TREE_NODES_H

#include "fuse/tree/info.h"
#include "fuse/tree/names.h"

/*
 * Nodes are the files and folders that the kernel knows of: each has an id,
 * which is never given again, and is there as long as it is counted.
 *
 * Under the lock of the tree.
 */
enum node_kind {
	NODE_ROOT,
	NODE_INFOS,   /* .info */
	NODE_THREADS, /* by-thread */
	NODE_FOLDER,  /* of a recording's substreams */
	NODE_BY,      /* of its threads */
	NODE_INFO,
	NODE_DATA,
	NODE_THREAD, /* of its data */
};

/* What it is of its recording. */
struct node_key {
	enum node_kind kind;
	unsigned sub;
	int thread;		/* -1 but of NODE_THREAD */
	int64_t from_ns, to_ns; /* both 0: no span */
};

struct node {
	uint64_t id, count;
	struct node_key key;
	struct record *record; /* as last known; NULL: of no recording */
	uint64_t ino;

	/* As it was measured last. */
	bool measured;
	uint64_t bytes, stamp;
	int64_t end_ns, measured_ns; /* steady */
	char *text;		     /* of NODE_INFO; `bytes` of it */
	struct info_counts counts;   /* that it says */

	struct node *next_id, *next_key; /* nodes::slot */
};

struct nodes;

struct nodes *nodes_make(void); /* NULL: no memory */
void nodes_free(struct nodes *n);

struct node *nodes_find(struct nodes *n, uint64_t id);

/* Finds or makes it, with count as it is; NULL: no memory.  Holds the record.
 * One that counts nothing is to be freed with nodes_forget(.., 0). */
struct node *nodes_get(struct nodes *n, const struct node_key *key,
		       struct record *record);

/* Counts down, and frees what has come to 0. */
void nodes_forget(struct nodes *n, struct node *node, uint64_t count);

size_t nodes_count(const struct nodes *n);

#endif
