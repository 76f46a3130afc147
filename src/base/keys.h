/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_KEYS_H
#define SPATE_BASE_KEYS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Keys describe how a struct is written as a JSON object, and read from one.
 * A list of keys is a macro with one line per key, X(KIND, name, groups, help);
 * it declares the struct's members (KEY_MEMBER) and fills a table (KEY_ENTRY):
 *
 *	#define DISK_KEYS(X)                                            \
 *		X(TEXT, path, 1, "its folder")                          \
 *		X(COUNT, bytes, 1, "of its chunks")
 *	struct disk_info { DISK_KEYS(KEY_MEMBER) };
 *
 * Each kind has a value that means "unknown", and is null in JSON.
 */
enum key_kind {
	KEY_TEXT,    /* unknown: NULL */
	KEY_COUNT,   /* unknown: KEY_UNKNOWN */
	KEY_DECIMAL, /* the same as text, for numbers that need 64 bits */
	KEY_REAL,    /* unknown: negative */
	KEY_TIME,    /* UTC ns, written as ISO 8601; unknown: 0 */
	KEY_BOOL,
	KEY_JSON, /* a list or an object, with a reference; unknown: NULL */
};

#define KEY_UNKNOWN UINT64_MAX

/* Types of the members, by kind. */
typedef const char *key_type_TEXT;
typedef uint64_t key_type_COUNT;
typedef uint64_t key_type_DECIMAL;
typedef double key_type_REAL;
typedef int64_t key_type_TIME;
typedef bool key_type_BOOL;
typedef json_t *key_type_JSON;

#define KEY_MEMBER(kind, name, groups, help) key_type_##kind name;
#define KEY_ENTRY(type, kind, name, groups)                                    \
	{ #name, KEY_##kind, groups, offsetof(type, name) },

/* A key with this bit is left out if it is unknown or false. */
#define KEY_OPTIONAL (1u << 31)

struct key {
	const char *name; /* NULL: end of a table */
	enum key_kind kind;
	unsigned groups; /* bits; their meaning is the table's */
	size_t offset;
};

/*
 * Makes an object of all keys that are in one of the groups.  Takes over the
 * references of all KEY_JSON members, also of those in no such group.  Returns a
 * new reference, or NULL without memory.
 */
json_t *keys_json(const struct key *keys, const void *from, unsigned groups);

/*
 * Sets the members of all keys that are in one of the groups from an object;
 * those that are missing or of another type become unknown.  NULL is an empty
 * object.  Texts are borrowed from the object, KEY_JSON members are new
 * references.
 */
void keys_read(const struct key *keys, void *to, const json_t *object,
	       unsigned groups);

#endif
