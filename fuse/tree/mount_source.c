/* SPDX-License-Identifier: MIT */
/*
 * Finds the disks that a mount shows, and the daemon that it asks: by the command
 * line, by a configuration, and while it is mounted from that daemon, too, which
 * may have disks that were added by hand.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "control/control.h"
#include "fuse/tree/mount_source.h"
#include "fuse/tree/options.h"
#include "store/disk/configured.h"

/* Disks of the daemon that are looked at; ms that its answer is waited for. */
enum { DISKS_MOST = 256, ANSWER_MS = 1000 };

/* Disks and configuration as the command line names them. */
struct source_words {
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
read_source(struct source_words *s, const char *text, struct fault *fault)
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
	while ((one = disk_list_next(&rest))) {
		if (!*one)
			continue;
		if (asprintf(&next, "%s%s%s%s%s", all ? all : "",
			     all ? ":" : "", disk_is_absolute(one) ? "" : here,
			     disk_is_absolute(one) ? "" : "/", one) < 0)
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
listed(struct mount_source *s, const char *list, struct fault *fault)
{
	s->list = absolute(list);
	if (!s->list)
		return fault_set(fault, -EINVAL, "usage",
				 "-o disks=%.200s names no disk", list);
	return disks_listed(s->list, &s->disks, fault);
}

static int
configured(struct mount_source *s, const char *conf, struct fault *fault)
{
	int err;

	*fault = (struct fault){ .code = NULL };
	err = disks_configured(conf, &s->disks, fault);
	if (!err && conf) {
		s->conf = realpath(conf, NULL);
		err = s->conf ? 0 : -errno;
	}
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
socket_set(struct mount_source *s, const char *path, struct fault *fault)
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
socket_find(struct mount_source *s, const struct mount_options *o,
	    const struct source_words *said, struct fault *fault)
{
	char path[CONFIGURED_SOCKET];
	int err = 0;

	if (!o->socket)
		err = configured_socket(said->conf, path, fault);
	return err ? err : socket_set(s, o->socket ? o->socket : path, fault);
}

int
source_find(struct mount_source *s, const struct mount_options *o,
	    struct fault *fault)
{
	struct source_words said = { NULL, NULL };
	int err;

	*s = (struct mount_source){ .disks = { .n = 0 } };
	err = read_source(&said, o->source, fault);
	if (err)
		return err;
	if (o->disks)
		said.disks = o->disks;
	if (o->conf)
		said.conf = o->conf;
	if (said.disks)
		err = listed(s, said.disks, fault);
	else
		err = configured(s, said.conf, fault);
	if (!err)
		err = any(&s->disks, fault);
	return err ? err : socket_find(s, o, &said, fault);
}

/* Asks the daemon about its disks.  Returns false if it is there and does not
 * answer; without a daemon *answer stays NULL. */
static bool
ask_daemon(const char *socket, json_t **answer)
{
	struct control *control;
	struct fault fault;
	int err = control_open_within(&control, socket, ANSWER_MS, &fault);

	if (!err) {
		err = control_ask(control, "disks", NULL, answer, &fault);
		control_close(control);
	}
	return err != -ETIMEDOUT && err != -ECONNRESET && err != -EPIPE;
}

/* Returns how many paths of disks an answer has; they belong to it. */
static unsigned
paths_of(const json_t *answer, const char **path)
{
	const json_t *row, *rows = json_object_get(answer, "disks");
	unsigned n = 0;
	size_t i;

	json_array_foreach(rows, i, row) {
		path[n] = json_string_value(json_object_get(row, "path"));
		if (path[n] && ++n == DISKS_MOST)
			break;
	}
	return n;
}

/* Appends `more` to `disks`, and empties it. */
static void
add_disks(struct disks *disks, struct disks *more)
{
	size_t bytes = (disks->n + more->n + 1) * sizeof *disks->disk;
	struct disk *grown = realloc(disks->disk, bytes);

	if (!grown) {
		disks_clear(more);
		return;
	}
	disks->disk = grown;
	memcpy(grown + disks->n, more->disk, more->n * sizeof *grown);
	disks->n += more->n;
	free(more->disk);
	*more = (struct disks){ .n = 0 };
}

bool
source_look(const struct mount_source *s, struct disks *now)
{
	struct disks more = { .n = 0 };
	const char *path[DISKS_MOST];
	struct fault fault;
	json_t *answer = NULL;
	bool all;
	unsigned n;

	*now = (struct disks){ .n = 0 };
	if (s->list) {
		disks_listed(s->list, now, &fault);
		return true;
	}
	disks_configured(s->conf, now, &fault);
	all = ask_daemon(s->socket, &answer);
	n = paths_of(answer, path);
	if (n && !disks_matched(path, n, &more, &fault))
		add_disks(now, &more);
	json_decref(answer);
	return all;
}

struct mount_source *
source_copy(const struct mount_source *s)
{
	struct mount_source *copy = calloc(1, sizeof *copy);

	if (!copy)
		return NULL;
	strcpy(copy->socket, s->socket);
	copy->list = s->list ? strdup(s->list) : NULL;
	copy->conf = s->conf ? strdup(s->conf) : NULL;
	if (!copy->list == !s->list && !copy->conf == !s->conf)
		return copy;
	source_clear(copy);
	free(copy);
	return NULL;
}

void
source_clear(struct mount_source *s)
{
	disks_clear(&s->disks);
	free(s->list);
	free(s->conf);
}
