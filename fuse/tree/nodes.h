/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_NODES_H
#define SPATE_FUSE_TREE_NODES_H

#include "fuse/tree/measure.h"
#include "fuse/tree/names.h"

/*
 * Nodes are the files and folders that the kernel knows.  Each has an id, which
 * is never used again, and lives while its count is not 0.  All functions need
 * the lock of the tree.
 */
enum node_kind {
	NODE_ROOT,
	NODE_INFOS,   /* .info */
	NODE_THREADS, /* by-thread */
	NODE_FOLDER,  /* substreams of a recording */
	NODE_BY,      /* threads of a recording */
	NODE_INFO,
	NODE_DATA,
	NODE_THREAD, /* data of one thread */
};

/* The file or folder of a recording that a node stands for. */
struct node_key {
	enum node_kind kind;
	unsigned sub;
	int thread;		/* -1, except for NODE_THREAD */
	int64_t from_ns, to_ns; /* range of time; both 0: all */
};

struct node {
	uint64_t id, count; /* count: how often the kernel was told of it */
	struct node_key key;
	struct record *record; /* as last known; NULL: not of a recording */
	uint64_t ino;

	/* The results of the last measurement. */
	bool measured;
	uint64_t bytes, stamp;
	int64_t end_ns, measured_ns; /* measured_ns: steady */
	char *text;		     /* text of a NODE_INFO; `bytes` long */
	struct info_counts counts;   /* the counts that the text has */

	struct node *next_id, *next_key; /* nodes::by_id, by_key */
};

struct nodes;

struct nodes *nodes_make(void); /* NULL: no memory */
void nodes_free(struct nodes *n);

/* Returns the node of an id; NULL: there is none. */
struct node *nodes_find(struct nodes *n, uint64_t id);

/*
 * Finds or makes a node; its count stays as it is.  NULL: no memory.  The node
 * holds the record.  A node that was made and is not counted must be freed with
 * nodes_forget(.., 0).
 */
struct node *nodes_get(struct nodes *n, const struct node_key *key,
		       struct record *record);

/* Lowers the count by `count`, and frees the node at 0. */
void nodes_forget(struct nodes *n, struct node *node, uint64_t count);

#endif
