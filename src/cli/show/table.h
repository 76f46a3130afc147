/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_TABLE_H
#define SPATE_CLI_SHOW_TABLE_H

#include <stdbool.h>
#include <stdio.h>

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

#endif
