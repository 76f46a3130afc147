/* SPDX-License-Identifier: MIT */
/*
 * Finds and loads plugins.  A program in a build tree uses the plugins that
 * were built with it, an installed one those of its installation, so that two
 * trees and an installation never mix on one machine.
 *
 * The struct that a plugin exports is checked as a whole before it is used: its
 * ABI number, its name, its callbacks, and that no option would be written past
 * the end of the struct that it declares.  Then its ops are copied, so that a
 * plugin built when the struct was shorter has zeroes in the members it did not
 * know.
 *
 * A plugin is never unloaded: pointers to its tables and names are kept in many
 * places, and a process loads a handful.
 */
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/module.h"

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

/*
 * Returns the folders that are searched, separated by ':'; malloc'ed, or NULL
 * without memory.
 */
static char *
folders(void)
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

/* Returns the file of a plugin, malloc'ed; NULL if no folder has it. */
static char *
find_file(const char *kind, const char *name)
{
	char *path, *at, *file = NULL;
	const char *folder;

	if (!name_good(name))
		return NULL;
	path = at = folders();
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
module_names(const char *kind, char *names, size_t bytes)
{
	char *path = folders(), *at = path;
	const char *folder;

	names[0] = '\0';
	while ((folder = next_folder(&at)))
		list_names(kind, folder, names, bytes);
	free(path);
}

struct callback { /* A callback, or another pointer, that must not be NULL. */
	const char *name;
	size_t offset;
};

struct plugin_kind {
	const char *name;
	const char *symbol;
	size_t bytes;		  /* size of its ops struct */
	struct callback must[20]; /* mandatory; a NULL name ends the list */
	/*
	 * If the first callback of `instead` is present, all of it is
	 * mandatory, else all of `plain`.  A send plugin with `objects` puts
	 * files, and one without sends packets; a disk plugin without `write`
	 * can only be read.
	 */
	struct callback instead[10], plain[9];
};

static const struct plugin_kind receive_kind = {
	.name = "receive",
	.symbol = "spate_receive",
	.bytes = sizeof(struct receive_ops),
	.must = {
		{ "open", offsetof(struct receive_ops, open) },
		{ "sources", offsetof(struct receive_ops, sources) },
		{ "fd", offsetof(struct receive_ops, fd) },
		{ "receive", offsetof(struct receive_ops, receive) },
		{ "counts", offsetof(struct receive_ops, counts) },
		{ "close", offsetof(struct receive_ops, close) },
	},
};

static const struct plugin_kind write_kind = {
	.name = "write",
	.symbol = "spate_write",
	.bytes = sizeof(struct write_ops),
	.must = {
		{ "open", offsetof(struct write_ops, open) },
		{ "submit", offsetof(struct write_ops, submit) },
		{ "close", offsetof(struct write_ops, close) },
	},
};

static const struct plugin_kind send_kind = {
	.name = "send",
	.symbol = "spate_send",
	.bytes = sizeof(struct send_ops),
	.must = {
		{ "check", offsetof(struct send_ops, check) },
	},
	.instead = {
		{ "objects", offsetof(struct send_ops, objects) },
	},
	.plain = {
		{ "open", offsetof(struct send_ops, open) },
		{ "send", offsetof(struct send_ops, send) },
		{ "poll", offsetof(struct send_ops, poll) },
		{ "release", offsetof(struct send_ops, release) },
		{ "detach", offsetof(struct send_ops, detach) },
		{ "finish", offsetof(struct send_ops, finish) },
		{ "facts", offsetof(struct send_ops, facts) },
		{ "close", offsetof(struct send_ops, close) },
	},
};

static const struct plugin_kind format_kind = {
	.name = "format",
	.symbol = "spate_format",
	.bytes = sizeof(struct format_ops),
	.must = {
		{ "shape", offsetof(struct format_ops, shape) },
		{ "extension", offsetof(struct format_ops, extension) },
	},
	.instead = {
		{ "piece", offsetof(struct format_ops, piece) },
		{ "items", offsetof(struct format_ops, items) },
		{ "wrap", offsetof(struct format_ops, wrap) },
		{ "wrap_bytes", offsetof(struct format_ops, wrap_bytes) },
		{ "item", offsetof(struct format_ops, item) },
	},
	.plain = {
		{ "parse", offsetof(struct format_ops, parse) },
		{ "stamp", offsetof(struct format_ops, stamp) },
	},
};

static const struct plugin_kind disk_kind = {
	.name = "disk",
	.symbol = "spate_disk",
	.bytes = sizeof(struct disk_ops),
	.must = {
		{ "open", offsetof(struct disk_ops, open) },
		{ "file_open", offsetof(struct disk_ops, file_open) },
		{ "file_close", offsetof(struct disk_ops, file_close) },
		{ "read", offsetof(struct disk_ops, read) },
		{ "stat", offsetof(struct disk_ops, stat) },
		{ "stat_at", offsetof(struct disk_ops, stat_at) },
		{ "lock", offsetof(struct disk_ops, lock) },
		{ "list", offsetof(struct disk_ops, list) },
		{ "room", offsetof(struct disk_ops, room) },
	},
	.instead = {
		{ "write", offsetof(struct disk_ops, write) },
		{ "append", offsetof(struct disk_ops, append) },
		{ "sync", offsetof(struct disk_ops, sync) },
		{ "cut", offsetof(struct disk_ops, cut) },
		{ "remove", offsetof(struct disk_ops, remove) },
		{ "rename", offsetof(struct disk_ops, rename) },
		{ "make_folder", offsetof(struct disk_ops, make_folder) },
		{ "nameless", offsetof(struct disk_ops, nameless) },
		{ "link", offsetof(struct disk_ops, link) },
	},
};

/* A loaded plugin, with our copy of its ops. */
struct module {
	struct module *next; /* links `loaded` */
	const struct plugin_kind *kind;
	_Alignas(max_align_t) unsigned char ops[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct module *loaded; /* protected by `lock`; only grows */

static int
not_found(const struct plugin_kind *kind, const char *name, struct fault *fault)
{
	char names[sizeof fault->hint];
	char *path = folders();

	fault_set(fault, -ENOENT, "not-found", "there is no %s plugin '%s'",
		  kind->name, name);
	if (path)
		fault_why(fault, "looked in %s", path);
	free(path);
	module_names(kind->name, names, sizeof names);
	if (names[0])
		fault_hint(fault, "there are %s", names);
	else
		fault_hint(fault, "name the folder of the plugins in "
				  "SPATE_PLUGINS");
	return -ENOENT;
}

static size_t
value_bytes(enum option_type type)
{
	static const size_t bytes[] = {
		[OPTION_FLAG] = sizeof(bool),
		[OPTION_COUNT] = sizeof(uint32_t),
		[OPTION_BYTES] = sizeof(uint64_t),
		[OPTION_RATE] = sizeof(uint64_t),
		[OPTION_SPAN] = sizeof(int64_t),
		[OPTION_SHARE] = sizeof(double),
		[OPTION_TEXT] = sizeof(char *),
		[OPTION_CHOICE] = sizeof(char *),
		[OPTION_TEXTS] = sizeof(struct option_texts),
		[OPTION_COUNTS] = sizeof(struct option_counts),
	};

	return type < sizeof bytes / sizeof *bytes ? bytes[type] : SIZE_MAX;
}

/* Checks the plugin's table of options.  0, or -EINVAL with fault->why. */
static int
check_options(const struct plugin *head, struct fault *fault)
{
	for (const struct option_key *o = head->options; o && o->name; o++) {
		size_t bytes = value_bytes(o->type);

		if (bytes == SIZE_MAX ||
		    (o->type == OPTION_CHOICE && !o->choices)) {
			fault_why(fault, "its option %s is of no known type",
				  o->name);
			return -EINVAL;
		}
		if (o->offset > head->options_bytes ||
		    bytes > head->options_bytes - o->offset) {
			fault_why(fault,
				  "its option %s is outside of the %u bytes of "
				  "its options",
				  o->name, head->options_bytes);
			return -EINVAL;
		}
	}
	return 0;
}

static bool
lacks(const void *ops, const struct callback *c)
{
	void *callback;

	memcpy(&callback, (const char *)ops + c->offset, sizeof callback);
	return !callback;
}

static size_t
lacking(const void *ops, const struct callback *c, char *names, size_t bytes,
	size_t used)
{
	for (; c->name; c++) {
		if (lacks(ops, c))
			used += snprintf(names + used, bytes - used, "%s%s",
					 used ? ", " : "", c->name);
	}
	return used;
}

static int
check_callbacks(const struct plugin_kind *kind, const void *ops,
		struct fault *fault)
{
	char names[160] = "";
	size_t used = lacking(ops, kind->must, names, sizeof names, 0);
	bool instead = kind->instead->name && !lacks(ops, kind->instead);

	used = lacking(ops, instead ? kind->instead : kind->plain, names,
		       sizeof names, used);
	if (!used)
		return 0;
	fault_why(fault, "it lacks what every %s plugin must have: %s",
		  kind->name, names);
	return -EINVAL;
}

static int
check_head(const struct plugin *head, const char *name, struct fault *fault)
{
	if (head->abi != SPATE_ABI) {
		fault_why(fault, "it has ABI number %u, and this is %u",
			  head->abi, SPATE_ABI);
		fault_hint(fault, "build it with the headers of this version");
		return -EINVAL;
	}
	if (head->bytes < sizeof *head) {
		fault_why(fault, "it declares %u bytes, less than its head",
			  head->bytes);
		return -EINVAL;
	}
	if (!head->name || strcmp(head->name, name) != 0) {
		fault_why(fault, "it calls itself '%s'",
			  head->name ? head->name : "");
		return -EINVAL;
	}
	return 0;
}

/*
 * Checks what the plugin exports, and makes our copy of it.  0, or -errno with
 * fault->why.
 */
static int
adopt(const struct plugin_kind *kind, const char *name,
      const struct plugin *head, struct module **module, struct fault *fault)
{
	struct module *m;
	int err = check_head(head, name, fault);

	if (err)
		return err;
	m = calloc(1, sizeof *m + kind->bytes);
	if (!m)
		return fault_set(fault, -ENOMEM, "no-memory",
				 "cannot load the plugin %s: no memory", name);
	m->kind = kind;
	memcpy(m->ops, head,
	       head->bytes < kind->bytes ? head->bytes : kind->bytes);
	err = check_callbacks(kind, m->ops, fault);
	if (!err)
		err = check_options(head, fault);
	if (err)
		free(m);
	else
		*module = m;
	return err;
}

static int
load(const struct plugin_kind *kind, const char *name, struct module **module,
     struct fault *fault)
{
	char *file = find_file(kind->name, name);
	const struct plugin *head;
	void *handle;
	int err = -EINVAL;

	if (!file)
		return not_found(kind, name, fault);
	fault_set(fault, 0, "conf", "cannot use the plugin %s", file);
	handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		fault_why(fault, "%s", dlerror());
		goto out;
	}
	head = dlsym(handle, kind->symbol);
	if (head)
		err = adopt(kind, name, head, module, fault);
	else
		fault_why(fault, "it exports no %s", kind->symbol);
	if (err)
		dlclose(handle);
	else
		fault->code = NULL;
out:
	free(file);
	return err;
}

static int
get(const struct plugin_kind *kind, const char *name, const void **ops,
    struct fault *fault)
{
	struct module *m;
	int err = 0;

	pthread_mutex_lock(&lock);
	for (m = loaded; m; m = m->next)
		if (m->kind == kind &&
		    strcmp(((struct plugin *)m->ops)->name, name) == 0)
			break;
	if (!m) {
		err = load(kind, name, &m, fault);
		if (!err) {
			m->next = loaded;
			loaded = m;
		}
	}
	pthread_mutex_unlock(&lock);
	if (!err)
		*ops = m->ops;
	return err;
}

int
module_receive(const char *name, const struct receive_ops **ops,
	       struct fault *fault)
{
	return get(&receive_kind, name, (const void **)ops, fault);
}

int
module_write(const char *name, const struct write_ops **ops,
	     struct fault *fault)
{
	return get(&write_kind, name, (const void **)ops, fault);
}

int
module_send(const char *name, const struct send_ops **ops, struct fault *fault)
{
	return get(&send_kind, name, (const void **)ops, fault);
}

int
module_format(const char *name, const struct format_ops **ops,
	      struct fault *fault)
{
	return get(&format_kind, name, (const void **)ops, fault);
}

int
module_disk(const char *name, const struct disk_ops **ops, struct fault *fault)
{
	return get(&disk_kind, name, (const void **)ops, fault);
}
