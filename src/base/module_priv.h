/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_MODULE_PRIV_H
#define SPATE_BASE_MODULE_PRIV_H

#include <stddef.h>

/*
 * Search for plugin files: module_path.c knows the folders, module.c loads.
 * `kind` is "receive", "write", "send" or "format".
 */

/*
 * Returns the folders that are searched, separated by ':'; malloc'ed, or NULL
 * without memory.
 */
char *module_path(void);

/* Returns the file of a plugin, malloc'ed; NULL if no folder has it. */
char *module_path_find(const char *kind, const char *name);

/*
 * Writes the names of all available plugins of a kind into `names`, as "direct,
 * null".
 */
void module_path_names(const char *kind, char *names, size_t bytes);

#endif
