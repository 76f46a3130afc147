/* SPDX-License-Identifier: MIT */
/*
 * A memfd has no name, but a process with a descriptor of it finds it in /proc
 * and may open it anew: its inode says mode 0777 like any other's.  So two
 * locks guard it.  Its mode lets the owner read and nobody write, which root
 * and the owner can get around.  And it is sealed: F_SEAL_FUTURE_WRITE (Linux
 * 5.1) refuses every later write and writable mapping, but leaves our own,
 * which exists already.
 *
 * Shrinking is sealed, too: touching a page that is cut off raises SIGBUS in
 * every process that maps it.
 */
#include "flow/memory/memfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const int SIZE = F_SEAL_SHRINK | F_SEAL_GROW;

static bool
seal(struct memfile *m, int fd)
{
	m->sealed = fcntl(fd, F_ADD_SEALS,
			  SIZE | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0;
	return m->sealed || fcntl(fd, F_ADD_SEALS, SIZE | F_SEAL_SEAL) == 0;
}

/* Opens a second, read-only descriptor to give away: access rights travel with
 * a descriptor, and fd may write. */
static int
open_anew(int fd)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int
make(struct memfile *m, int fd)
{
	if (ftruncate(fd, (off_t)m->bytes) < 0)
		return -errno;
	m->at = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (m->at == MAP_FAILED)
		return -errno;
	if (fchmod(fd, S_IRUSR) == 0 && seal(m, fd))
		m->fd = open_anew(fd);
	return 0;
}

int
memfile_make(struct memfile *m, const char *name, uint64_t bytes, bool huge)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING |
					(huge ? MFD_HUGETLB : 0));
	int err;

	*m = (struct memfile){ .at = MAP_FAILED, .bytes = bytes, .fd = -1 };
	if (fd < 0)
		return -errno;
	err = make(m, fd);
	close(fd);
	if (err)
		memfile_free(m);
	return err;
}

void
memfile_free(struct memfile *m)
{
	if (m->at != MAP_FAILED)
		munmap(m->at, m->bytes);
	if (m->fd >= 0)
		close(m->fd);
	m->at = MAP_FAILED;
	m->fd = -1;
}
