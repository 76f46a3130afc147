/* SPDX-License-Identifier: MIT */
/*
 * Names are accepted only as a list writes them: 03 is no thread if the list
 * says 3, or one file would have two names.  So a number is read, its name is
 * made, and both are compared.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/tree/span.h"
#include "fuse/tree/tree_priv.h"
#include "store/recording/foreign.h"

enum { THREADS_MOST = 1024 };

/* ---- making names ------------------------------------------------------ */

static int
digits(const struct record *r)
{
	return snprintf(NULL, 0, "%u", r->subs - 1);
}

void
tree_name_sub(char name[TREE_NAME], const struct record *r, unsigned sub)
{
	snprintf(name, TREE_NAME, "%s_%0*u.%s", r->name, digits(r), sub,
		 r->extension);
}

void
tree_name_thread(char name[TREE_NAME], const struct record *r, unsigned sub,
		 unsigned thread)
{
	if (r->subs > 1)
		snprintf(name, TREE_NAME, "%0*u_%u.%s", digits(r), sub, thread,
			 r->extension);
	else
		snprintf(name, TREE_NAME, "%u.%s", thread, r->extension);
}

void
tree_name_info(char name[TREE_NAME], const struct record *r)
{
	snprintf(name, TREE_NAME, "%s.json", r->name);
}

uint64_t
tree_ino(const struct names *names, const struct node_key *key,
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
in_root(const struct names *names, const char *name, struct node_key *key,
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
in_infos(const struct names *names, const char *name, struct node_key *key,
	 struct record **child)
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
in_threads(const struct names *names, const char *name, struct node_key *key,
	   struct record **child)
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
whole_child(const struct names *names, const struct node_key *folder,
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

/* Only files of data can have a range of time. */
int
tree_child(const struct names *names, const struct node_key *folder,
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

unsigned
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
