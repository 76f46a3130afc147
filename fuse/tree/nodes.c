/* SPDX-License-Identifier: MIT */
/*
 * Two hash tables with chains, by id and by key; every node has a link for
 * each.  The tables double when there are as many nodes as slots.
 */
#include "fuse/tree/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "fuse/tree/tree.h"

enum { SLOTS_FIRST = 256 };

struct nodes {
	struct node **by_id, **by_key;
	size_t slots, n;
	uint64_t last_id;
};

static uint64_t
mix(uint64_t h, uint64_t value)
{
	h = (h ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static uint64_t
hash_id(uint64_t id)
{
	return mix(1, id);
}

static uint64_t
hash_key(const struct node_key *k, const struct record *r)
{
	uint64_t h = mix(k->kind, k->sub);

	h = mix(h, (uint64_t)k->thread);
	h = mix(h, (uint64_t)k->from_ns);
	h = mix(h, (uint64_t)k->to_ns);
	for (const char *c = r ? r->name : ""; *c; c++)
		h = mix(h, (unsigned char)*c);
	return h;
}

static bool
is_key(const struct node *node, const struct node_key *k,
       const struct record *r)
{
	return node->key.kind == k->kind && node->key.sub == k->sub &&
	       node->key.thread == k->thread &&
	       node->key.from_ns == k->from_ns && node->key.to_ns == k->to_ns &&
	       (node->record ? r && record_same(node->record, r) : !r);
}

struct nodes *
nodes_make(void)
{
	struct nodes *n = calloc(1, sizeof *n);

	if (!n)
		return NULL;
	n->slots = SLOTS_FIRST;
	n->by_id = calloc(n->slots, sizeof(struct node *));
	n->by_key = calloc(n->slots, sizeof(struct node *));
	if (n->by_id && n->by_key)
		return n;
	nodes_free(n);
	return NULL;
}

static void
free_node(struct node *node)
{
	record_drop(node->record);
	free(node->text);
	free(node);
}

void
nodes_free(struct nodes *n)
{
	if (!n)
		return;
	for (size_t i = 0; n->by_id && i < n->slots; i++) {
		while (n->by_id[i]) {
			struct node *node = n->by_id[i];

			n->by_id[i] = node->next_id;
			free_node(node);
		}
	}
	free(n->by_id);
	free(n->by_key);
	free(n);
}

static void
link_in(struct nodes *n, struct node *node)
{
	struct node **id = &n->by_id[hash_id(node->id) & (n->slots - 1)];
	struct node **key =
	    &n->by_key[hash_key(&node->key, node->record) & (n->slots - 1)];

	node->next_id = *id;
	*id = node;
	node->next_key = *key;
	*key = node;
}

/* Doubles the tables.  Without memory the chains only become longer. */
static void
grow(struct nodes *n)
{
	size_t was = n->slots;
	struct node **old = n->by_id;
	struct node **by_id = calloc(2 * was, sizeof(struct node *));
	struct node **by_key = calloc(2 * was, sizeof(struct node *));

	if (!by_id || !by_key) {
		free(by_id);
		free(by_key);
		return;
	}
	free(n->by_key);
	n->by_id = by_id;
	n->by_key = by_key;
	n->slots = 2 * was;
	for (size_t i = 0; i < was; i++) {
		while (old[i]) {
			struct node *node = old[i];

			old[i] = node->next_id;
			link_in(n, node);
		}
	}
	free(old);
}

struct node *
nodes_find(struct nodes *n, uint64_t id)
{
	struct node *node = n->by_id[hash_id(id) & (n->slots - 1)];

	while (node && node->id != id)
		node = node->next_id;
	return node;
}

struct node *
nodes_get(struct nodes *n, const struct node_key *key, struct record *record)
{
	struct node *node = n->by_key[hash_key(key, record) & (n->slots - 1)];

	while (node && !is_key(node, key, record))
		node = node->next_key;
	if (node)
		return node;
	node = calloc(1, sizeof *node);
	if (!node)
		return NULL;
	if (n->n >= n->slots)
		grow(n);
	node->id = ++n->last_id;
	node->key = *key;
	node->record = record ? record_hold(record) : NULL;
	link_in(n, node);
	n->n++;
	return node;
}

void
nodes_forget(struct nodes *n, struct node *node, uint64_t count)
{
	struct node **id, **key;

	node->count -= count < node->count ? count : node->count;
	if (node->count)
		return;
	id = &n->by_id[hash_id(node->id) & (n->slots - 1)];
	while (*id != node)
		id = &(*id)->next_id;
	*id = node->next_id;
	key = &n->by_key[hash_key(&node->key, node->record) & (n->slots - 1)];
	while (*key != node)
		key = &(*key)->next_key;
	*key = node->next_key;
	n->n--;
	free_node(node);
}
