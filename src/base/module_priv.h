/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_MODULE_PRIV_H
#define SPATE_BASE_MODULE_PRIV_H

#include <stddef.h>

/*
 * Where plugins lie: module_path.c knows the folders, module.c loads.
 * `kind` is "receive", "write", "send" or "format".
 */

/* The folders that are looked in, split at ':'; malloc'ed, or NULL. */
char *module_path(void);

/* The file of a plugin, malloc'ed; NULL where no folder has it. */
char *module_path_find(const char *kind, const char *name);

/* Writes the names that there are, as "direct, null", into `names`. */
void module_path_names(const char *kind, char *names, size_t bytes);

#endif
