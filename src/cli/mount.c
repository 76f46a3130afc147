/* SPDX-License-Identifier: MIT */
/*
 * spate mount: replaces this process by spatefs, which shows every recording as
 * a file, with the disks and the socket that the other commands use.  Messages
 * and exit status are those of spatefs.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/show/cli.h"
#include "cli/show/site.h"
#include "store/disk/configured.h"

struct mount_args {
	struct args_texts options;
	bool foreground;
};

/* The command line of spatefs, and the texts made for it. */
struct mount_command {
	/* spatefs -f -o DISKS -o SOCKET ... -- FOLDER, and NULL */
	const char *word[2 * ARGS_REPEATED + 9];
	unsigned n;
	char *disks, *socket;
};

/*
 * Returns "KEY=value" with commas and backslashes escaped; the caller frees it.
 */
static char *
escaped(const char *key, const char *value)
{
	char *text = malloc(strlen(key) + 2 * strlen(value) + 2), *to;

	if (!text)
		return NULL;
	to = text + sprintf(text, "%s=", key);
	for (; *value; value++) {
		if (*value == ',' || *value == '\\')
			*to++ = '\\';
		*to++ = *value;
	}
	*to = '\0';
	return text;
}

static char *
paths(const struct disks *disks)
{
	char *all = NULL, *next;

	for (unsigned i = 0; i < disks->n; i++) {
		if (asprintf(&next, "%s%s%s", all ? all : "", all ? ":" : "",
			     disks->disk[i].path) < 0)
			next = NULL;
		free(all);
		all = next;
		if (!all)
			return NULL;
	}
	return all;
}

/* True if a list cannot have the path. */
static bool
has_colon(const char *path)
{
	for (; (path = strchr(path, ':')); path++) {
		if (strncmp(path, "://", 3) != 0)
			return true;
	}
	return false;
}

static int
disks_word(const struct cli *cli, struct mount_command *w, struct fault *fault)
{
	struct disks disks;
	char *list;
	int err = site_disks(cli, &disks, fault);

	if (err)
		return err;
	for (unsigned i = 0; i < disks.n && !err; i++)
		if (has_colon(disks.disk[i].path))
			err = fault_set(fault, -EINVAL, "usage",
					"%.200s cannot be named to spatefs: it "
					"has a colon",
					disks.disk[i].path);
	if (!err) {
		list = paths(&disks);
		w->disks = list ? escaped("disks", list) : NULL;
		free(list);
		err = w->disks ? 0 : fault_no_memory(fault);
	}
	disks_clear(&disks);
	return err;
}

static int
socket_word(const struct cli *cli, struct mount_command *w, struct fault *fault)
{
	char path[CONFIGURED_SOCKET];
	int err;

	if (!cli->socket) {
		err = configured_socket(cli->conf, path, fault);
		if (err)
			return err;
	}
	w->socket = escaped("socket", cli->socket ? cli->socket : path);
	return w->socket ? 0 : fault_no_memory(fault);
}

static void
option_word(struct mount_command *w, const char *text)
{
	w->word[w->n++] = "-o";
	w->word[w->n++] = text;
}

/* Makes the command line; the user's options come last, and win. */
static int
words_make(struct mount_command *w, const struct cli *cli,
	   const struct mount_args *a, const char *folder, struct fault *fault)
{
	int err = disks_word(cli, w, fault);

	if (!err)
		err = socket_word(cli, w, fault);
	if (err)
		return err;
	w->word[w->n++] = "spatefs";
	if (a->foreground)
		w->word[w->n++] = "-f";
	option_word(w, w->disks);
	option_word(w, w->socket);
	for (unsigned i = 0; i < a->options.n; i++)
		option_word(w, a->options.text[i]);
	w->word[w->n++] = "--";
	w->word[w->n++] = folder;
	return 0;
}

/*
 * Starts the spatefs beside this program, else the one in PATH.  Returns only
 * on failure, with errno.
 */
static void
become(const struct mount_command *w)
{
	char path[PATH_MAX + 16];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
	char *const *argv = (char *const *)w->word;

	while (n > 0 && path[n - 1] != '/')
		n--;
	if (n > 0) {
		strcpy(path + n, "spatefs");
		execv(path, argv);
		if (errno != ENOENT)
			return;
	}
	execvp("spatefs", argv);
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	struct mount_command w = { .n = 0 };
	struct fault fault;
	int err = words_make(&w, cli, values, operand[0], &fault);

	if (!err) {
		become(&w);
		err = -errno;
		fault_set(&fault, err, "not-found",
			  "cannot mount on %.200s: spatefs does not start",
			  operand[0]);
		fault_why(&fault, "%s", strerror(-err));
		if (err == -ENOENT)
			fault_hint(&fault, "it is built and installed where "
					   "libfuse3 is");
	}
	free(w.disks);
	free(w.socket);
	return cli_fail(&fault);
}

#define AT(field) offsetof(struct mount_args, field)

static const struct args_option options[] = {
	{ "option", 'o', ARGS_TEXTS, AT(options), "KEY[=VALUE],...",
	  "options of the mount; spatefs --help lists them" },
	{ "foreground", 'f', ARGS_FLAG, AT(foreground), NULL,
	  "stay in the foreground, the log on stderr" },
	{ .name = NULL },
};

const struct command command_mount = {
	.name = "mount",
	.operands = "FOLDER",
	.help = "Show every recording as a file in FOLDER; umount ends it",
	.least = 1,
	.most = 1,
	.options = options,
	.bytes = sizeof(struct mount_args),
	.run = run,
};
