/* SPDX-License-Identifier: MIT */
#include "fuse/tree/source.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

/* Disks and configuration as the command line names them. */
struct said {
	const char *disks, *conf;
};

static int
source_fault(const char *text, int err, struct fault *fault)
{
	fault_set(fault, err, "not-found", "%.200s is no source of recordings",
		  text);
	fault_why(fault, "%s", strerror(-err));
	fault_hint(fault, "name a configuration, or disks as "
			  "/mnt/disk0:/mnt/disk1");
	return err;
}

static int
read_source(struct said *s, const char *text, struct fault *fault)
{
	struct stat st;

	if (!text || strcmp(text, "none") == 0 || strcmp(text, "spate") == 0)
		return 0;
	if (strchr(text, ':') || disk_is_pattern(text)) {
		s->disks = text;
		return 0;
	}
	if (stat(text, &st) < 0)
		return source_fault(text, -errno, fault);
	if (S_ISDIR(st.st_mode))
		s->disks = text;
	else
		s->conf = text;
	return 0;
}

/*
 * Makes the paths of a list absolute, because the program leaves its working
 * directory when it goes into the background.  The caller frees the list; NULL
 * on failure.
 */
static char *
absolute(const char *list)
{
	char here[PATH_MAX], *text = strdup(list), *rest = text, *one;
	char *all = NULL, *next;

	if (!text || !getcwd(here, sizeof here)) {
		free(text);
		return NULL;
	}
	while ((one = strsep(&rest, ":"))) {
		if (!*one)
			continue;
		if (asprintf(&next, "%s%s%s%s%s", all ? all : "",
			     all ? ":" : "", *one == '/' ? "" : here,
			     *one == '/' ? "" : "/", one) < 0)
			next = NULL;
		free(all);
		all = next;
		if (!all)
			break;
	}
	free(text);
	return all;
}

static int
listed(struct disks *disks, const char *list, struct fault *fault)
{
	char *paths = absolute(list);
	int err;

	if (!paths)
		return fault_set(fault, -EINVAL, "usage",
				 "-o disks=%.200s names no disk", list);
	err = where_listed(paths, disks, fault);
	free(paths);
	return err;
}

static int
configured(struct disks *disks, const char *conf, struct fault *fault)
{
	int err;

	*fault = (struct fault){ .code = NULL };
	err = where_configured(conf, disks, fault);
	if (err && !fault->code) {
		fault_set(fault, err, "no-disk", "no disks to look on");
		fault_why(fault, "there is no %s", SPATE_CONF);
		fault_hint(fault, "name them, -o disks=/mnt/disk0:/mnt/disk1, "
				  "or a configuration, -o conf=FILE");
	}
	return err;
}

/* Checks that at least one disk is there; others may come later. */
static int
any(const struct disks *disks, struct fault *fault)
{
	unsigned there = 0;

	for (unsigned i = 0; i < disks->n; i++)
		there += disks->disk[i].fd >= 0;
	for (unsigned i = 0; i < disks->n && there; i++)
		if (disks->disk[i].fd < 0)
			log_line(LEVEL_WARN, disks->disk[i].path,
				 "is not there: what is on it looks missing");
	if (there)
		return 0;
	fault_set(fault, -ENOENT, "no-disk", "none of the disks is there");
	fault_why(fault, "%.200s%s", disks->disk[0].path,
		  disks->n > 1 ? " is the first of them" : "");
	fault_hint(fault, "name others with -o disks=");
	return -ENOENT;
}

static int
socket_set(struct source *s, const char *path, struct fault *fault)
{
	char here[PATH_MAX] = "";
	int n;

	if (*path != '/' && !getcwd(here, sizeof here))
		return fault_set(fault, -errno, "io", "cannot find socket %s",
				 path);
	n = snprintf(s->socket, sizeof s->socket, "%s%s%s", here,
		     *path == '/' ? "" : "/", path);
	return n < (int)sizeof s->socket
		   ? 0
		   : fault_set(fault, -ENAMETOOLONG, "usage",
			       "-o socket=%.100s... is too long", path);
}

/*
 * Finds the socket.  If disks are named, it is the only thing taken from a
 * configuration.
 */
static int
socket_find(struct source *s, const struct options *o, const struct said *said,
	    struct fault *fault)
{
	char path[WHERE_SOCKET];
	int err = 0;

	if (!o->socket)
		err = where_socket(said->conf, path, fault);
	return err ? err : socket_set(s, o->socket ? o->socket : path, fault);
}

int
source_find(struct source *s, const struct options *o, struct fault *fault)
{
	struct said said = { NULL, NULL };
	int err;

	*s = (struct source){ .disks = { .n = 0 } };
	err = read_source(&said, o->source, fault);
	if (err)
		return err;
	if (o->disks)
		said.disks = o->disks;
	if (o->conf)
		said.conf = o->conf;
	if (said.disks)
		err = listed(&s->disks, said.disks, fault);
	else
		err = configured(&s->disks, said.conf, fault);
	if (!err)
		err = any(&s->disks, fault);
	return err ? err : socket_find(s, o, &said, fault);
}

void
source_clear(struct source *s)
{
	disks_clear(&s->disks);
}
