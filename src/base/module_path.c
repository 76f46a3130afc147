/* SPDX-License-Identifier: MIT */
/*
 * Finds the folders of plugins.  A program in a build tree uses the plugins
 * that were built with it, an installed one those of its installation, so that
 * two trees and an installation never mix on one machine.
 */
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/module_priv.h"

/*
 * Returns the first existing folder of these, relative to the program's own,
 * malloc'ed; NULL if there is none.
 */
static char *
folder_of_build(void)
{
	static const char *const places[] = { "plugins/.libs",
					      "../../plugins/.libs" };
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	char *folder, *slash;

	if (length < 0)
		return NULL;
	self[length] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
		if (asprintf(&folder, "%s/%s", self, places[i]) < 0)
			return NULL;
		if (access(folder, X_OK) == 0)
			return folder;
		free(folder);
	}
	return NULL;
}

char *
module_path(void)
{
	const char *told = getenv("SPATE_PLUGINS");
	char *build;

	if (told)
		return strdup(told);
	build = folder_of_build();
	return build ? build : strdup(SPATE_PLUGIN_DIR);
}

/* Returns the next non-empty folder and advances *path; NULL after the last. */
static const char *
next_folder(char **path)
{
	const char *folder;

	do
		folder = strsep(path, ":");
	while (folder && !*folder);
	return folder;
}

/*
 * Appends to `names` the plugins of a kind that a folder has: "direct, null".
 */
static void
list_names(const char *kind, const char *folder, char *names, size_t bytes)
{
	char pattern[PATH_MAX];
	size_t used = strlen(names);
	glob_t found;

	snprintf(pattern, sizeof pattern, "%s/%s-*.so", folder, kind);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc && used < bytes; i++) {
		const char *name =
		    strrchr(found.gl_pathv[i], '/') + 1 + strlen(kind) + 1;

		used += snprintf(names + used, bytes - used, "%s%.*s",
				 used ? ", " : "", (int)strlen(name) - 3, name);
	}
	globfree(&found);
}

/*
 * Tells whether a name can only be part of a file name, and not lead to another
 * folder.
 */
static bool
name_good(const char *name)
{
	return *name && !strchr(name, '/') && strlen(name) < 64;
}

char *
module_path_find(const char *kind, const char *name)
{
	char *path, *at, *file = NULL;
	const char *folder;

	if (!name_good(name))
		return NULL;
	path = at = module_path();
	while (!file && (folder = next_folder(&at))) {
		if (asprintf(&file, "%s/%s-%s.so", folder, kind, name) < 0)
			file = NULL;
		else if (access(file, F_OK) != 0) {
			free(file);
			file = NULL;
		}
	}
	free(path);
	return file;
}

void
module_path_names(const char *kind, char *names, size_t bytes)
{
	char *path = module_path(), *at = path;
	const char *folder;

	names[0] = '\0';
	while ((folder = next_folder(&at)))
		list_names(kind, folder, names, bytes);
	free(path);
}
