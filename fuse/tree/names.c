/* SPDX-License-Identifier: MIT */
/*
 * Names of spate's own recordings have no '.', so <name>.<ext> is always
 * unique.  Names of other recorders' recordings may have one: Mark6 calls them
 * <scan>.vdif.  The extension is then not repeated, unless another recording
 * has that name by the rule.
 *
 * An inode number has a hash of the name in its upper bits, and the file within
 * the recording in the lower ones.  With 36 bits of hash, two of 10 000
 * recordings collide in one of 1400 collections; the later one by name then
 * gets the next free number, so that numbers are the same after every mount.
 */
#include "contract/bytes.h"
#include "fuse/tree/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum {
	KIND_SHIFT = 26, /* below it: 16 bits of substream, 10 of thread */
	INO_SHIFT = 28,
	INO_BITS = 36,
	FILE_ROOM = LAYOUT_FILE + LAYOUT_EXTENSION + 16,
};

/* ---- records --------------------------------------------------------- */

/*
 * Returns an extension that is safe to show: another program may have written
 * it.  A cube holds items only, and no program for its format can read it, so
 * it gets "dat".
 */
static const char *
good_extension(const struct entry *e)
{
	return e->store != HEAP_CUBE && layout_extension_good(e->extension)
		   ? e->extension
		   : "dat";
}

struct record *
record_make(const struct entry *e)
{
	size_t length = strlen(e->name) + 1;
	struct record *r = malloc(sizeof *r + length);

	if (!r)
		return NULL;
	*r = (struct record){
		.holders = 1,
		.state = e->state,
		.foreign = e->foreign,
		.vdif = !strcmp(e->format, "vdif"),
		.counted = e->counted,
		.store = e->store,
		.payload = e->payload,
		.subs = e->subs ? e->subs : 1,
		.begun_ns = e->begun_ns,
		.start_ns = e->start_ns,
		.end_ns = e->end_ns,
		.bytes = e->bytes,
		.packets = e->packets,
		/*
		 * the last file of another recorder may grow with no other sign
		 */
		.stamp = e->stamp + e->bytes * 31,
	};
	strcpy(r->extension, good_extension(e));
	memcpy(r->name, e->name, length);
	return r;
}

struct record *
record_hold(struct record *r)
{
	atomic_fetch_add_explicit(&r->holders, 1, memory_order_relaxed);
	return r;
}

/* acq_rel: the holder that frees it sees all that the others did with it. */
void
record_drop(struct record *r)
{
	if (r && atomic_fetch_sub_explicit(&r->holders, 1,
					   memory_order_acq_rel) == 1)
		free(r);
}

bool
record_same(const struct record *a, const struct record *b)
{
	return a->begun_ns == b->begun_ns && a->foreign == b->foreign &&
	       a->subs == b->subs && !strcmp(a->extension, b->extension) &&
	       !strcmp(a->name, b->name);
}

/* ---- hashes ---------------------------------------------------------- */

/* FNV-1a, mixed so that all bits can be used. */
static uint64_t
hash(const char *text)
{
	uint64_t h = bytes_hash(BYTES_HASH, text, strlen(text));

	h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
	return h ^ h >> 33;
}

/* Returns the slot of a file's name, or the free slot where it belongs. */
static size_t
slot_of(const struct mount_names *n, const char *file)
{
	size_t at = hash(file) & (n->slots - 1);

	while (n->slot[at] && strcmp(n->item[n->slot[at] - 1].file, file))
		at = (at + 1) & (n->slots - 1);
	return at;
}

static bool
is_free(const struct mount_names *n, const char *file)
{
	return strcmp(file, NAMES_INFOS) && strcmp(file, NAMES_THREADS) &&
	       !n->slot[slot_of(n, file)];
}

/* ---- choosing names ---------------------------------------------------- */

enum name_rule { RULE_FILE, RULE_ITSELF, RULE_FOLDER, RULES };

static bool
has_extension(const struct record *r)
{
	size_t length = strlen(r->name), tail = strlen(r->extension) + 1;

	return length > tail && r->name[length - tail] == '.' &&
	       !strcmp(r->name + length - tail + 1, r->extension);
}

static enum name_rule
rule_of(const struct record *r)
{
	if (r->subs > 1)
		return RULE_FOLDER;
	return has_extension(r) ? RULE_ITSELF : RULE_FILE;
}

static bool
is_shown(const struct record *r)
{
	return r->state == ENTRY_COMPLETE || r->state == ENTRY_FAILED ||
	       r->state == ENTRY_LIVE || r->state == ENTRY_INTERRUPTED;
}

static void
choose(const struct mount_names *n, const struct record *r,
       char file[FILE_ROOM])
{
	bool folder = r->subs > 1;
	unsigned again = 2;

	if (rule_of(r) != RULE_FILE) {
		snprintf(file, FILE_ROOM, "%s", r->name);
		if (is_free(n, file))
			return;
	}
	if (!folder) {
		snprintf(file, FILE_ROOM, "%s.%s", r->name, r->extension);
		if (is_free(n, file))
			return;
	}
	do
		snprintf(file, FILE_ROOM, "%s~%u%s%s", r->name, again++,
			 folder ? "" : ".", folder ? "" : r->extension);
	while (!is_free(n, file));
}

static int
call_all(struct mount_names *n, enum name_rule rule)
{
	char file[FILE_ROOM];

	for (size_t i = 0; i < n->n; i++) {
		struct names_item *item = &n->item[i];

		if (!is_shown(item->record) || rule_of(item->record) != rule)
			continue;
		choose(n, item->record, file);
		item->file = strdup(file);
		if (!item->file)
			return -ENOMEM;
		n->slot[slot_of(n, file)] = i + 1;
	}
	return 0;
}

/* ---- inode numbers --------------------------------------------------- */

uint64_t
names_ino(uint64_t ino, enum names_kind kind, uint64_t which)
{
	return ino | (uint64_t)kind << KIND_SHIFT |
	       (which & ((UINT64_C(1) << KIND_SHIFT) - 1));
}

/* A set of numbers other than 0. */
struct taken {
	uint64_t *number;
	size_t slots;
};

/* Adds a number; false: it was there already. */
static bool
take(struct taken *t, uint64_t number)
{
	size_t at =
	    (number * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (t->slots - 1);

	while (t->number[at] && t->number[at] != number)
		at = (at + 1) & (t->slots - 1);
	if (t->number[at])
		return false;
	t->number[at] = number;
	return true;
}

static int
number_all(struct mount_names *n)
{
	const uint64_t mask = (UINT64_C(1) << INO_BITS) - 1;
	struct taken t = { calloc(n->slots, sizeof *t.number), n->slots };

	if (!t.number)
		return -ENOMEM;
	for (size_t i = 0; i < n->n; i++) {
		uint64_t h = hash(n->item[i].record->name) & mask;

		/* 0 is taken by the root and its folders */
		while (!h || !take(&t, h))
			h = (h + 1) & mask;
		n->item[i].ino = h << INO_SHIFT;
	}
	free(t.number);
	return 0;
}

/* ---- making and freeing ------------------------------------------------ */

static void
free_names(struct mount_names *n)
{
	for (size_t i = 0; i < n->n; i++) {
		record_drop(n->item[i].record);
		free(n->item[i].file);
	}
	free(n->item);
	free(n->slot);
	free(n);
}

int
names_make(struct mount_names **names, struct names_item *item, size_t items)
{
	struct mount_names *n = calloc(1, sizeof *n);
	int err = 0;

	if (!n) {
		for (size_t i = 0; i < items; i++)
			record_drop(item[i].record);
		free(item);
		return -ENOMEM;
	}
	*n = (struct mount_names){ .holders = 1, .item = item, .n = items };
	n->made_ns = clock_now();
	for (n->slots = 16; n->slots < 2 * items;)
		n->slots *= 2;
	n->slot = calloc(n->slots, sizeof *n->slot);
	if (!n->slot)
		err = -ENOMEM;
	for (int rule = 0; rule < RULES && !err; rule++)
		err = call_all(n, (enum name_rule)rule);
	if (!err)
		err = number_all(n);
	if (err)
		free_names(n);
	else
		*names = n;
	return err;
}

struct mount_names *
names_hold(struct mount_names *n)
{
	atomic_fetch_add_explicit(&n->holders, 1, memory_order_relaxed);
	return n;
}

void
names_drop(struct mount_names *n)
{
	if (n && atomic_fetch_sub_explicit(&n->holders, 1,
					   memory_order_acq_rel) == 1)
		free_names(n);
}

const struct names_item *
names_find(const struct mount_names *n, const char *name)
{
	size_t low = 0, high = n->n;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = strcmp(n->item[middle].record->name, name);

		if (!order)
			return &n->item[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const struct names_item *
names_find_file(const struct mount_names *n, const char *file)
{
	size_t at = n->slot[slot_of(n, file)];

	return at ? &n->item[at - 1] : NULL;
}
