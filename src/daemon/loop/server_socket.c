/* SPDX-License-Identifier: MIT */
/*
 * A lock on <socket>.lock decides who owns the socket.  The socket file itself
 * survives a kill -9, and a connection to find out would race.
 */
#include "daemon/loop/server_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

/* Says what to do if the lock file belongs to another user, or cannot be
 * made. */
static const char *
lock_hint(const char *lock)
{
	if (access(lock, F_OK) == 0)
		return "a spated of another user left that file; remove it, "
		       "or set control.socket to another path";
	return "make its folder, writable for this user, or set "
	       "control.socket to another path";
}

static int
lock_take(struct server_socket *s, struct fault *fault)
{
	char lock[sizeof s->path + 8];
	int err;

	snprintf(lock, sizeof lock, "%s.lock", s->path);
	s->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock >= 0 && flock(s->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	err = errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
	fault_set(fault, err, "busy", "cannot listen on %s", s->path);
	if (err == -EADDRINUSE) {
		fault_why(fault, "another spated has it");
		fault_hint(fault, "stop that one, or set control.socket to "
				  "another path");
	} else {
		fault_why(fault, "%s: %s", lock, strerror(-err));
		fault_hint(fault, "%s", lock_hint(lock));
	}
	return err;
}

static void
group_allow(const struct server_socket *s, const char *group)
{
	struct group *g = group ? getgrnam(group) : NULL;

	if (!group)
		return;
	if (g && chown(s->path, (uid_t)-1, g->gr_gid) == 0 &&
	    chmod(s->path, 0660) == 0)
		return;
	log_line(LEVEL_WARN, NULL, "%s is for this user alone: %s", s->path,
		 g ? "only root or a member can give it to its group"
		   : "there is no group of that name");
}

static int
socket_bind(struct server_socket *s)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	mode_t mask;
	int err = 0;

	memcpy(a.sun_path, s->path, sizeof a.sun_path);
	s->listen =
	    socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listen < 0)
		return -errno;
	unlink(s->path); /* left by a daemon that is gone: we hold the lock */
	mask = umask(0177);
	if (bind(s->listen, (struct sockaddr *)&a, sizeof a) < 0)
		err = -errno;
	umask(mask);
	return err;
}

int
server_socket_open(struct server_socket *s, const char *path, const char *group,
		   struct fault *fault)
{
	int err;

	*s = (struct server_socket){ .lock = -1, .listen = -1 };
	if (strlen(path) >= sizeof s->path)
		return fault_set(fault, -ENAMETOOLONG, "conf",
				 "%s is too long for a socket's path", path);
	memcpy(s->path, path, strlen(path));
	err = lock_take(s, fault);
	if (!err) {
		err = socket_bind(s);
		if (err) {
			fault_set(fault, err, "io", "cannot listen on %s",
				  path);
			fault_why(fault, "%s", strerror(-err));
		}
	}
	if (err) {
		s->path[0] = '\0'; /* not ours to remove */
		server_socket_close(s);
		return err;
	}
	group_allow(s, group);
	return 0;
}

void
server_socket_close(struct server_socket *s)
{
	if (s->path[0])
		unlink(s->path);
	if (s->listen >= 0)
		close(s->listen);
	if (s->lock >= 0)
		close(s->lock);
	*s = (struct server_socket){ .lock = -1, .listen = -1 };
}
