/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_KEYS_H
#define SPATE_BASE_KEYS_H

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Keys describe how a struct is written as a JSON object, and read from one, and
 * which of them are columns of a printed table.  A list of keys is a macro with
 * one line per key, X(KIND, name, groups, help[, title of the column]); it
 * declares the struct's members (KEY_MEMBER) and fills a table (KEY_ENTRY).  The
 * manual is made from the lists, too (scripts/keys):
 *
 *	#define DISK_KEYS(X)                                            \
 *		X(TEXT, path, 1 | KEY_COLUMN, "its folder", "disk")     \
 *		X(BYTES, written, 1, "since it takes part")
 *	struct disk_info { DISK_KEYS(KEY_MEMBER) };
 *
 * Each kind has a value that means "unknown", and is null in JSON.  The kind
 * also says the unit, for people.
 */
enum key_kind {
	KEY_TEXT,    /* unknown: NULL */
	KEY_COUNT,   /* unknown: KEY_UNKNOWN */
	KEY_BYTES,   /* the same */
	KEY_DECIMAL, /* the same as text, for numbers that need 64 bits */
	KEY_INTEGER, /* may be negative, and is known */
	KEY_REAL,    /* unknown: NAN */
	KEY_BITS_S,  /* the same: bits per second */
	KEY_BYTES_S, /* the same: bytes per second */
	KEY_SECONDS, /* the same */
	KEY_MS,	     /* the same */
	KEY_TIME,    /* UTC ns, written as ISO 8601; unknown: 0 */
	KEY_BOOL,
	KEY_JSON, /* anything else, with a reference; unknown: NULL */
};

#define KEY_UNKNOWN UINT64_MAX

/* Types of the members, by kind. */
typedef const char *key_type_TEXT;
typedef uint64_t key_type_COUNT;
typedef uint64_t key_type_BYTES;
typedef uint64_t key_type_DECIMAL;
typedef int64_t key_type_INTEGER;
typedef double key_type_REAL;
typedef double key_type_BITS_S;
typedef double key_type_BYTES_S;
typedef double key_type_SECONDS;
typedef double key_type_MS;
typedef int64_t key_type_TIME;
typedef bool key_type_BOOL;
typedef json_t *key_type_JSON;

#define KEY_MEMBER(kind, name, ...) key_type_##kind name;
#define KEY_TITLE(help, title, ...) title
#define KEY_ENTRY(type, kind, name, groups, ...)                               \
	{ #name, KEY_##kind, groups, offsetof(type, name),                     \
	  KEY_TITLE(__VA_ARGS__, "", "") },

/* A key with this bit is left out if it is unknown or false. */
#define KEY_OPTIONAL (1u << 31)
/* Keys with these bits are columns of a table, and of a longer one. */
#define KEY_COLUMN	(1u << 30)
#define KEY_COLUMN_MORE (1u << 29)
/* A column of words made of a number begins at the left, one of JSON that is
 * a number ends at the right. */
#define KEY_OTHER_SIDE (1u << 28)

struct key {
	const char *name; /* NULL: end of a table */
	enum key_kind kind;
	unsigned groups; /* bits; their meaning is the table's */
	size_t offset;
	const char *title; /* of its column, may be empty */
};

/* True if a struct's member is this key. */
#define KEY_IS(key, type, name) ((key)->offset == offsetof(type, name))

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

/* Drops the references of all KEY_JSON members that keys_read() has set. */
void keys_drop(const struct key *keys, void *of, unsigned groups);

/* Returns a number that was read, and 0 for an unknown one. */
static inline uint64_t
key_or_0(uint64_t n)
{
	return n == KEY_UNKNOWN ? 0 : n;
}

#endif
