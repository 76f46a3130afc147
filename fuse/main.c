/* SPDX-License-Identifier: MIT */
/*
 * spatefs: every recording is one file.
 *
 *   kernel <--> session --> ops --> tree      names, sizes      a worker's
 *                (its        |                                  thread
 *                 threads)   `----> open file data              one for each
 *                                     |                         disk, and for
 *                                     |                         what waits
 *                                    live     what spated has   one
 *                                             in memory
 *
 * The order of steps follows from rights.  Steps that need the rights of the
 * user who started the program come first (mounting, read-ahead, the
 * configuration); then it becomes the user of -o user=; only then are
 * recordings looked at.
 */
#include <config.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ease.h"
#include "base/log.h"
#include "fuse/live/live.h"
#include "fuse/ops.h"
#include "fuse/point.h"
#include "fuse/session.h"
#include "fuse/tree/mount_source.h"
#include "fuse/tree/options.h"
#include "fuse/tree/tree.h"
#include "store/read/open_recordings.h"

/* ---- going to the background ---------------------------------------------- */

/*
 * Puts the program into the background.  The process that the user started
 * waits until the mount is ready, or prints on their terminal why it is not,
 * and ends with that status.
 */
struct detach {
	int fd; /* pipe to the waiting process; -1: not in the background */
};

/*
 * Waits in the old process: a byte on the pipe means ready; its end means that
 * the new process failed, whose exit status is taken over.
 */
static void __attribute__((noreturn)) wait_until_ready(int fd, pid_t pid)
{
	int status;
	ssize_t n;
	char byte;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		_exit(0);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			_exit(1);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/*
 * Forks; called before any thread exists.  Returns 0 in the new process, which
 * has to call detach_ready() or end.  The old process ends with it.
 */
static int
detach_begin(struct detach *d)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid > 0) {
		close(ends[1]);
		wait_until_ready(ends[0], pid);
	}
	close(ends[0]);
	d->fd = ends[1];
	if (pid < 0) {
		pid = -errno;
		close(d->fd);
		d->fd = -1;
		return pid;
	}
	return 0;
}

/*
 * Ends the waiting process with success, leaves terminal and working directory,
 * and sends the log to syslog.  Returns 0 or -errno.  Does nothing in the
 * foreground.
 */
static int
detach_ready(struct detach *d, const char *name)
{
	int null, err = 0;

	if (d->fd < 0)
		return 0;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (setsid() < 0 || null < 0 || chdir("/") < 0)
		err = -errno;
	log_to_syslog(name);
	for (int fd = 0; fd <= STDERR_FILENO && !err; fd++)
		if (dup2(null, fd) < 0)
			err = -errno;
	if (null > STDERR_FILENO)
		close(null);
	if (!err && write(d->fd, "", 1) != 1)
		err = -errno;
	close(d->fd);
	d->fd = -1;
	return err;
}

enum { DONE = 0, FAILED = 1, USAGE = 2 };

static const char usage[] =
    "usage: spatefs [SOURCE] MOUNT [-f] [-d] [-o KEY[=VALUE],...]\n"
    "\n"
    "Shows recordings as files, one for each, in the folder MOUNT, until that\n"
    "is unmounted (umount, fusermount3 -u) or the program gets SIGTERM.\n"
    "SOURCE is a configuration of spated, or disks as /mnt/disk0:/mnt/disk1.\n"
    "\n"
    "  -f                       stay in the foreground, the log on stderr\n"
    "  -d                       the same, and tell every request\n"
    "  -h, --help               this page\n"
    "  -V, --version            the version\n";

/* ---- the mount ----------------------------------------------------- */

struct mount {
	struct mount_options o;
	struct mount_source source;
	struct point point;
	struct mount_user user;
	struct detach detach;
	struct ops ops;
	struct mount_session *session;
	struct live *live;
};

static int
fail(const struct fault *fault)
{
	char line[1024];

	fault_line(fault, line, sizeof line);
	fprintf(stderr, "spatefs: %s\n", line);
	return fault->code && strcmp(fault->code, "usage") == 0 ? USAGE
								: FAILED;
}

static void
help(void)
{
	fputs(usage, stdout);
	options_help(stdout);
	fputs("\nfstab: /etc/spate/spate.conf /recordings fuse.spatefs "
	      "allow_other,nofail 0 0\n"
	      "See spatefs(8).\n",
	      stdout);
}

/* Does everything that needs the rights of the user who started the program. */
static int
mount_begin(struct mount *m, struct fault *fault)
{
	int err = source_find(&m->source, &m->o, fault);

	if (!err)
		err = user_find(&m->user, m->o.user, fault);
	if (!err)
		err =
		    point_find(&m->point, m->o.point, &m->source.disks, fault);
	if (!err)
		err = session_open(&m->session, &m->o, &m->ops, fault);
	if (!err)
		err = session_mount(m->session, &m->point, &m->user, fault);
	if (err)
		return err;
	err = user_become(&m->user);
	if (err) {
		fault_set(fault, err, "io", "cannot become %.100s",
			  m->user.name);
		fault_why(fault, "%s", strerror(-err));
	}
	return err;
}

/* Makes the parts that read recordings.  The first threads begin here. */
static int
look_begin(struct mount *m)
{
	struct open_recordings_args opened = {
		.disks = &m->source.disks,
		.spare = TREE_JOIN,
		.cache = m->o.cache,
		.patience = m->o.timeout,
		.verify = m->o.verify,
	};
	struct tree_args tree = {
		.disks = &m->source.disks,
		.source = &m->source,
		.choice = &m->ops.choice,
		.patience_ns = m->o.timeout,
		.uid = m->user.uid,
		.gid = m->user.gid,
	};
	int err = log_queue_start();

	if (err)
		log_line(LEVEL_WARN, NULL,
			 "the log has no thread of its own, so a reader of it "
			 "that stalls stops this mount: %s",
			 strerror(-err));
	err = live_open(&m->live, m->source.socket);
	if (err)
		return err;
	opened.hooks = live_hooks(m->live);
	err = open_recordings_make(&m->ops.opened, &opened);
	if (err)
		return err;
	tree.opened = m->ops.opened;
	return tree_make(&m->ops.tree, &tree);
}

static void
look_end(struct mount *m)
{
	if (m->ops.tree)
		tree_free(m->ops.tree);
	open_recordings_free(m->ops.opened);
	live_close(m->live);
}

/*
 * Closes the disks, which a mount must not keep open: an open disk cannot be
 * unmounted.  Readers open it again.
 */
static void
let_disks_go(struct mount *m)
{
	for (unsigned i = 0; i < m->source.disks.n; i++)
		disk_close(&m->source.disks.disk[i]);
}

static int
serve(struct mount *m, struct fault *fault)
{
	int err = look_begin(m);

	let_disks_go(m);
	if (!err)
		err = detach_ready(&m->detach, "spatefs");
	if (err)
		return fault_set(fault, err, "internal", "cannot begin: %s",
				 strerror(-err));
	log_line(LEVEL_INFO, m->point.path, "shows what is on %u disks",
		 m->source.disks.n);
	err = session_run(m->session, (unsigned)m->o.threads);
	if (err) {
		fault_set(fault, err, "io",
			  "the conversation with the kernel "
			  "broke off");
		fault_why(fault, "%s", strerror(-err));
	}
	return err;
}

/*
 * Raises the limit of open files as far as allowed.  An open recording has
 * three files or more on each disk, and the usual limit is 1024.  A disk whose
 * files cannot be opened would look like a missing disk.
 */
static void
files_allow(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int
run(struct mount *m)
{
	struct fault fault = { .code = NULL };
	int err = 0;

	m->detach.fd = -1;
	m->ops.choice.strip = (uint32_t)m->o.strip;
	m->ops.choice.fill = m->o.fill;
	m->ops.direct_io = m->o.direct_io;
	ease_process();
	files_allow();
	if (!m->o.foreground && !m->o.debug)
		err = detach_begin(&m->detach);
	if (err)
		fault_set(&fault, err, "internal", "cannot fork: %s",
			  strerror(-err));
	if (!err)
		err = mount_begin(m, &fault);
	if (!err)
		err = serve(m, &fault);
	session_close(m->session);
	ops_finish(&m->ops);
	look_end(m);
	source_clear(&m->source);
	log_queue_flush();
	return err ? fail(&fault) : DONE;
}

int
main(int argc, char **argv)
{
	struct mount *m = calloc(1, sizeof *m);
	struct fault fault;
	int status = DONE;

	if (!m)
		return FAILED;
	ops_init(&m->ops);
	if (options_read(&m->o, argc, argv, &fault) < 0) {
		status = fail(&fault);
	} else if (m->o.help) {
		help();
	} else if (m->o.version) {
		puts("spatefs " PACKAGE_VERSION);
	} else {
		log_level_set(m->o.debug ? LEVEL_DEBUG : LEVEL_INFO);
		status = run(m);
	}
	options_clear(&m->o);
	free(m);
	return status;
}
