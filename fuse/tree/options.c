/* SPDX-License-Identifier: MIT */
/*
 * libfuse splits the command line (-o a,b -oc, '\,' in values); one table says
 * what its parts mean, and --help is printed from it.
 *
 * mount(8) passes "rw" for every line of fstab that does not say "ro", even if
 * nobody asked for it.  So "rw" is accepted, and the mount is read-only all the
 * same, as the table of mounts shows.
 */
#include <errno.h>
#include <fuse_log.h>
#include <fuse_opt.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "fuse/tree/options.h"
#include "store/disk/configured.h"

#define TIMEOUT_MOST (86400 * NS_SECOND)

enum type {
	FLAG,	/* bool */
	TEXT,	/* char * */
	FILL,	/* enum view_fill */
	BYTES,	/* uint64_t */
	COUNT,	/* uint64_t */
	SPAN,	/* int64_t ns */
	PASSED, /* passed on to libfuse */
	MEANT,	/* accepted and ignored */
};

#define AT(field) offsetof(struct mount_options, field)

static const struct word {
	const char *name;
	enum type type;
	size_t at;
	const char *value, *help; /* help NULL: not shown by --help */
} words[] = {
	{ "disks", TEXT, AT(disks), "A:B:...",
	  "look on these disks; else as the configuration says" },
	{ "conf", TEXT, AT(conf), "FILE",
	  "the configuration of spated (" SPATE_CONF ")" },
	{ "socket", TEXT, AT(socket), "PATH",
	  "the control socket of spated; else as the configuration says" },
	{ "strip", COUNT, AT(strip), "N",
	  "leave out the first N bytes of each packet" },
	{ "fill", FILL, AT(fill), "invalid|zero|skip",
	  "what stands for packets that are missing; skip: nothing" },
	{ "cache", BYTES, AT(cache), "512M", "memory to read ahead into" },
	{ "direct_io", FLAG, AT(direct_io), NULL,
	  "no page cache: faster where each byte is read once" },
	{ "verify", FLAG, AT(verify), NULL,
	  "what has a wrong checksum is an error" },
	{ "timeout", SPAN, AT(timeout), "10s",
	  "how long a disk is waited for" },
	{ "threads", COUNT, AT(threads), "64", "that answer requests" },
	{ "user", TEXT, AT(user), "NAME",
	  "whose the mount is, and who the program is once it is mounted" },
	{ "allow_other", FLAG, AT(allow_other), NULL,
	  "let others than that user look into it" },
	{ "io_uring", FLAG, AT(io_uring), NULL,
	  "take requests by io_uring, where kernel and libfuse can" },
	{ "ro", MEANT, .help = NULL },
	{ "rw", MEANT, .help = NULL },
	{ "debug", FLAG, AT(debug), NULL, NULL },
	{ "auto_unmount", PASSED, .help = NULL },
	{ "exec", PASSED, .help = NULL },
	{ "noexec", PASSED, .help = NULL },
	{ "context", PASSED, .help = NULL },
	{ "fscontext", PASSED, .help = NULL },
	{ "defcontext", PASSED, .help = NULL },
	{ "rootcontext", PASSED, .help = NULL },
	{ NULL, FLAG, 0, NULL, NULL },
};

/* Words of mount(8) and fstab(5) that are ignored. */
static const char *const meant[] = {
	"_netdev",	 "async",      "atime",	   "auto",
	"comment",	 "defaults",   "dev",	   "default_permissions",
	"diratime",	 "dirsync",    "group",	   "iversion",
	"lazytime",	 "mand",       "noauto",   "noatime",
	"nodev",	 "nodiratime", "nofail",   "noiversion",
	"nolazytime",	 "nomand",     "nonempty", "norelatime",
	"nostrictatime", "nosuid",     "nouser",   "nousers",
	"owner",	 "relatime",   "silent",   "strictatime",
	"suid",		 "sync",       "users",	   NULL,
};

struct reading_of {
	struct mount_options *o;
	struct fault *fault;
};

static int
usage(struct fault *fault, const char *what, const char *word, const char *hint)
{
	fault_set(fault, -EINVAL, "usage", what, word);
	fault_hint(fault, "%s", hint);
	return -EINVAL;
}

/* Tells whether an argument is this name, alone or with "=value". */
static bool
is(const char *arg, const char *name)
{
	size_t n = strlen(name);

	return strncmp(arg, name, n) == 0 && (!arg[n] || arg[n] == '=');
}

static const struct word *
word_find(const char *arg)
{
	for (const struct word *w = words; w->name; w++)
		if (is(arg, w->name))
			return w;
	return NULL;
}

static bool
is_meant(const char *arg)
{
	for (const char *const *m = meant; *m; m++)
		if (is(arg, *m))
			return true;
	return strncmp(arg, "x-", 2) == 0 || strncmp(arg, "X-", 2) == 0;
}

static int
text_set(char **to, const char *value, struct fault *fault)
{
	char *text = strdup(value);

	if (!text)
		return fault_no_memory(fault);
	free(*to);
	*to = text;
	return 0;
}

static int
pass(struct mount_options *o, const char *arg, struct fault *fault)
{
	return fuse_opt_add_opt_escaped(&o->passed, arg)
		   ? fault_no_memory(fault)
		   : 0;
}

static int
count_set(uint64_t *to, const char *value)
{
	char *end;

	errno = 0;
	*to = strtoull(value, &end, 10);
	return *value < '0' || *value > '9' || *end || errno || *to > UINT32_MAX
		   ? -EINVAL
		   : 0;
}

static int
fill_set(enum view_fill *to, const char *value)
{
	static const char *const names[] = {
		[VIEW_INVALID] = "invalid",
		[VIEW_ZERO] = "zero",
		[VIEW_SKIP] = "skip",
	};

	for (int i = VIEW_INVALID; i <= VIEW_SKIP; i++)
		if (strcmp(value, names[i]) == 0) {
			*to = i;
			return 0;
		}
	return -EINVAL;
}

static int
value_set(struct mount_options *o, const struct word *w, const char *value)
{
	void *to = (char *)o + w->at;

	switch (w->type) {
	case FILL: return fill_set(to, value);
	case BYTES: return units_bytes(value, to);
	case COUNT: return count_set(to, value);
	case SPAN: return units_span(value, to);
	default: return 0;
	}
}

static int
word_take(struct mount_options *o, const struct word *w, const char *arg,
	  struct fault *fault)
{
	const char *value = strchr(arg, '=');

	if (w->type == MEANT)
		return 0;
	if (w->type == PASSED)
		return pass(o, arg, fault);
	if (w->type == FLAG && !value) {
		*((bool *)((char *)o + w->at)) = true;
		return 0;
	}
	if (w->type == FLAG || !value || !value[1]) {
		fault_set(fault, -EINVAL, "usage", "-o %s %s", w->name,
			  value && value[1] ? "takes no value"
					    : "lacks its value");
		fault_hint(fault, "-o %s%s%s", w->name, w->value ? "=" : "",
			   w->value ? w->value : "");
		return -EINVAL;
	}
	if (w->type == TEXT)
		return text_set((char **)((char *)o + w->at), value + 1, fault);
	if (value_set(o, w, value + 1) == 0)
		return 0;
	fault_set(fault, -EINVAL, "usage", "-o %s cannot be used", arg);
	fault_why(fault, "'%s' is no value of it", value + 1);
	fault_hint(fault, "-o %s=%s", w->name, w->value);
	return -EINVAL;
}

/* Reads an option that does not follow -o. */
static int
letter_take(struct mount_options *o, const char *arg, struct fault *fault)
{
	if (strcmp(arg, "-f") == 0)
		o->foreground = true;
	else if (strcmp(arg, "-d") == 0)
		o->debug = true;
	else if (strcmp(arg, "-h") == 0 || strcmp(arg, "--help") == 0)
		o->help = true;
	else if (strcmp(arg, "-V") == 0 || strcmp(arg, "--version") == 0)
		o->version = true;
	else
		return usage(fault, "%s: there is no such option", arg,
			     "spatefs --help lists them");
	return 0;
}

/*
 * Reads one option of -o.  "user" without a value is fstab's: any user may
 * mount it.
 */
static int
option_take(struct mount_options *o, const char *arg, struct fault *fault)
{
	const struct word *w = word_find(arg);

	if (arg[0] == '-')
		return letter_take(o, arg, fault);
	if (strcmp(arg, "user") == 0 || (!w && is_meant(arg)))
		return 0;
	if (!w)
		return usage(fault, "-o %s: there is no such option", arg,
			     "spatefs --help lists them");
	return word_take(o, w, arg, fault);
}

static int
operand_take(struct mount_options *o, const char *arg, struct fault *fault)
{
	if (o->source)
		return usage(fault, "%s is one operand too many", arg,
			     "spatefs [SOURCE] MOUNT");
	o->source = o->point;
	o->point = NULL;
	return text_set(&o->point, arg, fault);
}

static int
take(void *data, const char *arg, int key, struct fuse_args *args)
{
	const struct reading_of *r = data;
	int err = key == FUSE_OPT_KEY_NONOPT ? operand_take(r->o, arg, r->fault)
					     : option_take(r->o, arg, r->fault);

	(void)args;
	return err ? -1 : 0;
}

static int
check(const struct mount_options *o, struct fault *fault)
{
	if (!o->point)
		return usage(fault, "%s is missing", "MOUNT",
			     "spatefs [SOURCE] MOUNT [-o disks=A:B:...]");
	if (o->source && *o->source == '\0')
		return usage(fault, "%s: the source is empty", o->point,
			     "spatefs [SOURCE] MOUNT");
	if (o->threads < 1 || o->threads > 1024)
		return usage(fault, "-o threads=%s is out of bounds", "N",
			     "it is from 1 to 1024");
	if (o->timeout <= 0 || o->timeout > TIMEOUT_MOST)
		return usage(fault, "-o timeout=%s is out of bounds", "SPAN",
			     "a day is the most, 10s is right for most");
	if (o->cache < 16 << 20)
		return usage(fault, "-o cache=%s is too little", "BYTES",
			     "16M is the least, 512M is right for most");
	return 0;
}

/*
 * Silences libfuse while it reads options: errors are reported once, as faults.
 */
static void
silent(enum fuse_log_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
}

int
options_read(struct mount_options *o, int argc, char **argv,
	     struct fault *fault)
{
	struct reading_of r = { o, fault };
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	int err = 0;

	*o = (struct mount_options){
		.cache = 512 << 20,
		.threads = 64,
		.timeout = 10 * NS_SECOND,
	};
	*fault = (struct fault){ .code = NULL };
	fuse_set_log_func(silent);
	if (fuse_opt_parse(&args, &r, NULL, take) < 0) {
		err = -EINVAL;
		if (!fault->code)
			usage(fault, "%s: its value is missing", "-o",
			      "-o KEY[=VALUE],...");
	}
	fuse_set_log_func(NULL);
	fuse_opt_free_args(&args);
	return err || o->help || o->version ? err : check(o, fault);
}

void
options_clear(struct mount_options *o)
{
	char *text[] = { o->source, o->point, o->disks, o->conf,
			 o->socket, o->user,  o->passed };

	for (unsigned i = 0; i < sizeof text / sizeof *text; i++)
		free(text[i]);
	*o = (struct mount_options){ .source = NULL };
}

void
options_help(FILE *to)
{
	char left[40];

	for (const struct word *w = words; w->name; w++) {
		if (!w->help)
			continue;
		snprintf(left, sizeof left, "%s%s%s", w->name,
			 w->value ? "=" : "", w->value ? w->value : "");
		fprintf(to, "  -o %-22s %s\n", left, w->help);
	}
}
