/* SPDX-License-Identifier: MIT */
/*
 * libfuse's loop ends when its main thread catches a signal, so signals are
 * blocked in all other threads: session_open() blocks them, and session_run()
 * lets them in for the main thread while the loop runs.
 *
 * A thread of the loop answers one request at a time and may wait for a disk.
 * No more threads are made than requests wait at once.  Idle threads are kept:
 * making one costs more than keeping one, whose buffer of 1 MiB is not touched
 * beyond its first page, because read requests are short.
 */
#include <errno.h>
#include <fuse_lowlevel.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/log.h"
#include "fuse/ops.h"
#include "fuse/session.h"

/* ---- the user who owns the mount ------------------------------------------ */

/*
 * The kernel lets fusermount3 unmount for the user whom the mount names as its
 * owner (user_id), and libfuse writes the real user there.  So user_mounts()
 * changes the real user before mounting, while the effective user, whose rights
 * count, is still root.
 */

int
user_find(struct mount_user *u, const char *name, struct fault *fault)
{
	const struct passwd *p;

	*u = (struct mount_user){ .uid = getuid(), .gid = getgid() };
	if (!name)
		return 0;
	p = getpwnam(name);
	if (!p) {
		fault_set(fault, -ENOENT, "not-found", "-o user=%.100s", name);
		fault_why(fault, "there is no such user");
		return -ENOENT;
	}
	if (p->pw_uid == u->uid)
		return 0;
	if (geteuid() != 0) {
		fault_set(fault, -EPERM, "usage", "-o user=%.100s", name);
		fault_why(fault, "only root can mount for another user");
		fault_hint(fault, "leave it out, or let root mount it");
		return -EPERM;
	}
	*u = (struct mount_user){ name, p->pw_uid, p->pw_gid };
	return 0;
}

/*
 * Makes the next mount belong to the user, who can then unmount it; the program
 * keeps root's rights.  Returns 0 or -errno.
 */
static int
user_mounts(const struct mount_user *u)
{
	if (!u->name)
		return 0;
	if (setresgid(u->gid, (gid_t)-1, (gid_t)-1) < 0 ||
	    setresuid(u->uid, (uid_t)-1, (uid_t)-1) < 0)
		return -errno;
	return 0;
}

int
user_become(const struct mount_user *u)
{
	if (!u->name)
		return 0;
	if (initgroups(u->name, u->gid) < 0 ||
	    setresgid(u->gid, u->gid, u->gid) < 0 ||
	    setresuid(u->uid, u->uid, u->uid) < 0)
		return -errno;
	return 0;
}

/* ---- the session --------------------------------------------------- */

struct mount_session {
	struct fuse_session *fuse;
	sigset_t outside; /* signals that were blocked before session_open() */
	bool handles, mounted;
};

/* Last message of libfuse while it mounts, for the error of a failed mount. */
static char last[200]; /* used by the main thread, before others exist */

static void
fuse_says(enum fuse_log_level level, const char *format, va_list args)
{
	char text[200];
	int n = vsnprintf(text, sizeof text, format, args);

	while (n > 0 && n < (int)sizeof text && text[n - 1] == '\n')
		text[--n] = '\0';
	if (level >= FUSE_LOG_DEBUG)
		log_line(LEVEL_DEBUG, NULL, "%s", text);
	else if (level >= FUSE_LOG_NOTICE)
		log_line(LEVEL_INFO, NULL, "%s", text);
	else
		log_line(LEVEL_WARN, NULL, "%s", text);
}

static void
fuse_explains(enum fuse_log_level level, const char *format, va_list args)
{
	const char *from = last;

	(void)level;
	vsnprintf(last, sizeof last, format, args);
	last[strcspn(last, "\n")] = '\0';
	if (strncmp(last, "fuse: ", 6) == 0)
		from += 6;
	memmove(last, from, strlen(from) + 1);
}

static void
signals_block(sigset_t *outside)
{
	static const int ours[] = { SIGHUP, SIGINT, SIGTERM };
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof ours / sizeof *ours; i++)
		sigaddset(&set, ours[i]);
	pthread_sigmask(SIG_BLOCK, &set, outside);
}

/*
 * Builds libfuse's arguments, so that the mount is listed as "source on
 * /recordings type fuse.spatefs (ro,nosuid,nodev ...)".  The kernel checks
 * modes, and refuses all changes.
 */
static int
arguments(struct fuse_args *args, const struct mount_options *o)
{
	char *list = strdup("ro,nosuid,nodev,default_permissions,"
			    "subtype=spatefs");
	char *source = NULL;
	int err = !list;

	if (!err &&
	    asprintf(&source, "fsname=%s", o->source ? o->source : "spate") < 0)
		source = NULL;
	err = err || !source || fuse_opt_add_opt_escaped(&list, source);
	if (!err && o->allow_other)
		err = fuse_opt_add_opt(&list, "allow_other");
	if (!err && o->passed)
		err = fuse_opt_add_opt(&list, o->passed);
	if (!err && o->debug)
		err = fuse_opt_add_opt(&list, "debug");
	err = err || fuse_opt_add_arg(args, "spatefs") ||
	      fuse_opt_add_arg(args, "-o") || fuse_opt_add_arg(args, list);
	free(source);
	free(list);
	return err ? -ENOMEM : 0;
}

int
session_open(struct mount_session **out, const struct mount_options *o,
	     struct ops *ops, struct fault *fault)
{
	struct mount_session *s = calloc(1, sizeof *s);
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	int err = s ? arguments(&args, o) : -ENOMEM;

	if (err) {
		fault_set(fault, err, "no-memory", "no memory");
		goto out;
	}
	if (o->io_uring)
		uring_want(&args);
	fuse_set_log_func(fuse_explains);
	s->fuse = fuse_session_new(&args, &ops_table, sizeof ops_table, ops);
	if (!s->fuse) {
		err = fault_set(fault, -EINVAL, "usage", "libfuse refuses %s",
				args.argv[args.argc - 1]);
		fault_why(fault, "%s", last);
		goto out;
	}
	signals_block(&s->outside);
	*out = s;
	s = NULL;
out:
	fuse_opt_free_args(&args);
	free(s);
	return err;
}

static int
mount_fault(const struct point *p, int err, struct fault *fault)
{
	fault_set(fault, err, "io", "cannot mount on %.200s", p->path);
	fault_why(fault, "%s", *last ? last : "fusermount3 refuses it");
	if (access("/dev/fuse", F_OK) < 0)
		fault_hint(fault, "the kernel has no fuse: modprobe fuse");
	else if (geteuid() != 0)
		fault_hint(fault, "it takes fusermount3, a folder of yours "
				  "and a right to write /dev/fuse; "
				  "allow_other takes user_allow_other in "
				  "/etc/fuse.conf");
	return err;
}

int
session_mount(struct mount_session *s, struct point *p,
	      const struct mount_user *u, struct fault *fault)
{
	int err = user_mounts(u);

	last[0] = '\0';
	if (!err && fuse_session_mount(s->fuse, p->path) < 0)
		err = -EIO;
	fuse_set_log_func(fuse_says);
	if (err)
		return mount_fault(p, err, fault);
	s->mounted = true;
	if (point_look(p) == 0)
		point_read_ahead(p);
	if (fuse_set_signal_handlers(s->fuse) < 0)
		return fault_set(fault, -EINVAL, "internal",
				 "signals cannot be handled");
	s->handles = true;
	return 0;
}

int
session_run(struct mount_session *s, unsigned threads)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int status;

	if (!config)
		return -ENOMEM;
	fuse_loop_cfg_set_clone_fd(config, 1);
	fuse_loop_cfg_set_max_threads(config, threads);
	pthread_sigmask(SIG_SETMASK, &s->outside, NULL);
	status = fuse_session_loop_mt(s->fuse, config);
	signals_block(&s->outside);
	fuse_loop_cfg_destroy(config);
	if (status > 0)
		log_line(LEVEL_INFO, NULL, "ends on a signal: %s",
			 strsignal(status));
	return status < 0 ? status : 0;
}

void
session_close(struct mount_session *s)
{
	if (!s)
		return;
	if (s->handles)
		fuse_remove_signal_handlers(s->fuse);
	if (s->mounted)
		fuse_session_unmount(s->fuse);
	fuse_session_destroy(s->fuse);
	free(s);
}
