/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_TABLE_H
#define SPATE_CLI_SHOW_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/keys.h"

/*
 * A table is text in columns as wide as their widest cell.  Cells are added one
 * after the other, row by row.
 */
struct table_column {
	const char *title; /* NULL in all columns: no line of titles */
	bool right;	   /* aligned right: numbers */
};

struct table;

/* Returns NULL without memory; the functions below accept NULL. */
struct table *table_open(const struct table_column *columns, unsigned n);
void table_close(struct table *table);

/* Adds the next cell. */
void table_cell(struct table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Prints the table with `indent` blanks before each line.  Returns 0, or
 * -ENOMEM if part of it is missing.
 */
int table_print(const struct table *table, unsigned indent, FILE *to);

enum { TABLE_CELL = 512 };

/*
 * A table of JSON objects has a column for each key of a list that is in one of
 * the groups, in the order of the list and with its titles.
 */
struct table_keys {
	const struct key *keys;
	unsigned groups;
	/*
	 * Writes the cell of a key, where it shows more than the key's value;
	 * returns NULL for any other key.  NULL: there are none.
	 */
	const char *(*cell)(char text[TABLE_CELL], const struct key *key,
			    const json_t *object);
	bool sparse; /* leave out columns that are empty in all rows */
};

/* Prints an array of objects on stdout. */
void table_objects(const struct table_keys *t, const json_t *objects,
		   unsigned indent);

#endif
