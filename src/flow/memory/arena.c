/* SPDX-License-Identifier: MIT */
/*
 * The memory of the pool, mapped and touched once when the daemon starts:
 * touching costs about half a second per GiB, and the kernel must never have to
 * zero a page while packets arrive.
 *
 * Pages are huge: a memfd of reserved hugetlb pages where the system has enough
 * of them, else anonymous memory with transparent huge pages requested.  Small
 * pages would cost a TLB miss for about every second packet.
 *
 * Only a memfd can be shared with live readers (map.h).  The kernel backs a
 * memfd without reserved pages mostly with small pages, since few systems allow
 * transparent ones there (shmem_enabled); so sharing has to be requested.
 * *Measured* over loopback at 2 Gb/s: 0.33 CPU s/GB in anonymous memory, 0.38
 * in a memfd of small pages, 0.32 in a memfd of transparent huge pages, and the
 * same again with a program that reads all of it (scripts/bench record --live
 * 2e9).
 */
#include "flow/memory/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"

enum { PAGE = 4096, NODES = 1024 };

/* Touches every page: one madvise() call, or where the kernel does not know it
 * (before Linux 5.14) a write to each page. */
static int
touch(uint8_t *at, uint64_t bytes)
{
	if (madvise(at, bytes, MADV_POPULATE_WRITE) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	for (uint64_t i = 0; i < bytes; i += PAGE)
		*(volatile uint8_t *)(at + i) = 0;
	return 0;
}

/* Asks for memory of one NUMA node.  Call it before the first touch, which is
 * when the kernel allocates pages.  MPOL_PREFERRED, not MPOL_BIND: a full node
 * is no reason to fail.  The raw system call spares us libnuma. */
static void
near(const struct arena *a, int node)
{
	unsigned long nodes[NODES / 64] = { 0 };

	if (node < 0)
		return;
	errno = EINVAL;
	if (node < NODES) {
		nodes[node / 64] = 1ul << (node % 64);
		if (syscall(SYS_mbind, a->at, a->bytes, MPOL_PREFERRED, nodes,
			    NODES + 1ul, 0) == 0)
			return;
	}
	log_line(LEVEL_WARN, NULL,
		 "memory cannot be on NUMA node %d: %s; going on without", node,
		 errno == EINVAL ? "there is no such node" : strerror(errno));
}

static int
ready(const struct arena *a, int node)
{
	near(a, node);
	/* A core dump has no use for the packets, and no disk for so many GiB
	 * of them. */
	madvise(a->at, a->bytes, MADV_DONTDUMP);
	return touch(a->at, a->bytes);
}

/* True if the system gives files in memory (memfd, tmpfs) transparent huge
 * pages. */
static bool
files_huge(void)
{
	static const char path[] =
	    "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[128] = "";
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 && !strstr(text, "[never]") && !strstr(text, "[deny]");
}

static bool
map_small(struct arena *a)
{
	int err = memfile_make(&a->file, "spate-arena", a->bytes, false);

	a->pages = "small";
	if (!err && madvise(a->file.at, a->bytes, MADV_HUGEPAGE) == 0 &&
	    files_huge())
		a->pages = "transparent";
	return !err;
}

static void
file_tell(const struct arena *a, bool share)
{
	if (share && a->file.fd < 0)
		log_line(
		    LEVEL_WARN, NULL,
		    "memory cannot be shared: live readers read from disk");
	if (a->file.fd >= 0 && !a->file.sealed)
		log_line(LEVEL_WARN, NULL,
			 "memory that is shared cannot be sealed: root, and "
			 "programs of this user, could write to it");
}

/* Maps the arena as a memfd: of reserved huge pages if there are enough, else
 * of ordinary pages if `share` asks for it.  False if neither worked. */
static bool
map_file(struct arena *a, bool share)
{
	bool mapped =
	    memfile_make(&a->file, "spate-arena", a->bytes, true) == 0;

	a->pages = "hugetlb";
	if (!mapped && share)
		mapped = map_small(a);
	file_tell(a, share);
	a->at = a->file.at;
	return mapped;
}

static int
map_any(struct arena *a, const struct arena_way *way)
{
	if (map_file(a, way->share))
		return ready(a, way->node);

	a->at = mmap(NULL, a->bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (a->at == MAP_FAILED)
		return -errno;
	a->pages = madvise(a->at, a->bytes, MADV_HUGEPAGE) == 0 ? "transparent"
								: "small";
	return ready(a, way->node);
}

static void
lock(struct arena *a)
{
	struct rlimit limit = { 0, 0 };
	char is[UNITS_TEXT], need[UNITS_TEXT];

	a->locked = mlock(a->at, a->bytes) == 0;
	if (a->locked)
		return;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	log_line(LEVEL_WARN, NULL,
		 "memory is not locked: the limit for locked memory "
		 "(RLIMIT_MEMLOCK) is %s, it would take %s; going on",
		 units_show_bytes(is, limit.rlim_cur),
		 units_show_bytes(need, a->bytes));
}

int
arena_make(struct arena *a, uint64_t bytes, const struct arena_way *way)
{
	char text[UNITS_TEXT];
	int err;

	*a = (struct arena){ .at = MAP_FAILED, .bytes = bytes };
	err = map_any(a, way);
	if (err) {
		arena_free(a);
		return err;
	}
	lock(a);
	log_line(LEVEL_INFO, NULL, "memory: %s in %s pages%s%s",
		 units_show_bytes(text, a->bytes), a->pages,
		 a->locked ? ", locked" : "",
		 a->file.fd >= 0 ? ", shared with live readers" : "");
	return 0;
}

void
arena_free(struct arena *a)
{
	if (a->file.at == MAP_FAILED && a->at != MAP_FAILED)
		munmap(a->at, a->bytes);
	memfile_free(&a->file);
	a->at = MAP_FAILED;
}
