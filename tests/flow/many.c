/* SPDX-License-Identifier: MIT */
/*
 * many FROM DISK N: N recordings that are one, under the names scan00000,
 * scan00001 ...: its files are linked, which takes no time and no room.
 */
#include "config.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* FROM/name.index becomes TO/scan00000.index. */
static void
link_files(const char *from, const char *to, const char *name)
{
	DIR *dir = opendir(from);
	struct dirent *file;

	if (!dir)
		err(1, "%s", from);
	while ((file = readdir(dir))) {
		const char *dot = strchr(file->d_name, '.');
		char *old, *new;

		if (!dot || dot == file->d_name)
			continue;
		if (asprintf(&old, "%s/%s", from, file->d_name) < 0 ||
		    asprintf(&new, "%s/%s%s", to, name, dot) < 0)
			err(1, NULL);
		if (link(old, new) < 0)
			err(1, "%s", new);
		free(old);
		free(new);
	}
	closedir(dir);
}

int
main(int argc, char **argv)
{
	int n = argc == 4 ? atoi(argv[3]) : 0;

	if (n < 1)
		errx(2, "usage: many FROM DISK N");
	for (int i = 0; i < n; i++) {
		char name[32], *to;

		snprintf(name, sizeof name, "scan%05d", i);
		if (asprintf(&to, "%s/%s", argv[2], name) < 0)
			err(1, NULL);
		if (mkdir(to, 0755) < 0)
			err(1, "%s", to);
		link_files(argv[1], to, name);
		free(to);
	}
	return 0;
}
