/* SPDX-License-Identifier: MIT */
/*
 * A clock of the computer that can be stepped: LD_PRELOAD of a daemon.  The file
 * $SET_CLOCK holds the offset in ns, a little-endian 64-bit number, which is
 * added to CLOCK_REALTIME and to the kernel's stamps of datagrams.  The steady
 * clock stays as it is.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)
#define SHOWN  __attribute__((visibility("default")))

static const volatile int64_t *offset;

__attribute__((constructor)) static void
set_clock_open(void)
{
	const char *path = getenv("SET_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map;

	if (fd < 0)
		return;
	map = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (map != MAP_FAILED)
		offset = map;
}

static void
add(struct timespec *t)
{
	int64_t ns = offset ? t->tv_sec * SECOND + t->tv_nsec + *offset
			    : t->tv_sec * SECOND + t->tv_nsec;

	t->tv_sec = ns / SECOND;
	t->tv_nsec = ns % SECOND;
}

SHOWN int
clock_gettime(clockid_t id, struct timespec *t)
{
	long err = syscall(SYS_clock_gettime, id, t);

	if (!err && id == CLOCK_REALTIME)
		add(t);
	return (int)err;
}

static void
stamps_step(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		struct timespec t;

		if (c->cmsg_level != SOL_SOCKET ||
		    c->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&t, CMSG_DATA(c), sizeof t);
		add(&t);
		memcpy(CMSG_DATA(c), &t, sizeof t);
	}
}

SHOWN int
recvmmsg(int fd, struct mmsghdr *m, unsigned n, int flags, struct timespec *t)
{
	long got = syscall(SYS_recvmmsg, fd, m, n, flags, t);

	for (long i = 0; i < got; i++)
		stamps_step(&m[i].msg_hdr);
	return (int)got;
}

SHOWN ssize_t
recvmsg(int fd, struct msghdr *m, int flags)
{
	long got = syscall(SYS_recvmsg, fd, m, flags);

	if (got >= 0)
		stamps_step(m);
	return got;
}
