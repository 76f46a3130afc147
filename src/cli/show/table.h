/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_TABLE_H
#define SPATE_CLI_SHOW_TABLE_H

#include <stdbool.h>
#include <stdio.h>

/*
 * A table is text in columns that line up: each is as wide as what stands
 * in it.  Cells are added one after the other, row by row.
 */
struct table_column {
	const char *title; /* of none or all columns: NULL, no titles */
	bool right;	   /* aligned: numbers */
};

struct table;

/* NULL without memory, which the functions below bear. */
struct table *table_open(const struct table_column *columns, unsigned n);
void table_close(struct table *table);

void table_cell(struct table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints it, with `indent` blanks before each line.  0, or -ENOMEM if any
 * of it is missing. */
int table_print(const struct table *table, unsigned indent, FILE *to);

#endif
