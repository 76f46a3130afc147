/* SPDX-License-Identifier: MIT */
#include "fuse/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

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

int
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

int
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
