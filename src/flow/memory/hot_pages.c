/* SPDX-License-Identifier: MIT */
/*
 * Code is the first to go when memory is short: the kernel can read it from its
 * file again, so it needs no swap space to drop it.
 *
 * mlockall() would be one call.  With MCL_FUTURE each later mapping counts
 * against the limit, all 8 MiB of the stack of each thread, and what is over it
 * fails: an ordinary user would get no threads and no files mapped.  With
 * MCL_CURRENT alone all counts that is mapped now, which is some hundred MiB of
 * addresses that are never used, and nothing is locked if that is too much.  So
 * only what is hot is locked, a few MiB, after the memory for packets, which
 * needs the limit more.
 *
 * MLOCK_ONFAULT locks a page when it is used; to read all libraries in would
 * take longer than spated takes to start.
 */
#include "flow/memory/hot_pages.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/units.h"

enum {
	PAGE = 4096,
	STACK = 128 << 10, /* bytes below the frame that is in use */
	OBJECTS = 256,	   /* program, libraries and plugins at most */
};

void
hot_pages_touch(void *at, uint64_t bytes)
{
	volatile uint8_t *p = at;

	for (uint64_t i = 0; i < bytes; i += PAGE)
		p[i] = 0;
}

/* A mapping of this process. */
struct mapping {
	uint64_t from, to, inode;
	char rights[5]; /* "r-xp" */
};

/* Reads a line of /proc/self/maps.  False if it is no part of a file that only
 * this process has: heap, stacks, memory that is shared. */
static bool
mapping_read(const char *line, struct mapping *m)
{
	return sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64,
		      &m->from, &m->to, m->rights, &m->inode) == 4 &&
	       m->inode && m->rights[3] == 'p';
}

static bool
is_among(const uint64_t *inode, unsigned n, uint64_t one)
{
	for (unsigned i = 0; i < n; i++) {
		if (inode[i] == one)
			return true;
	}
	return false;
}

/* Finds the files that have code in this process.  Returns how many. */
static unsigned
objects_find(FILE *maps, uint64_t *inode)
{
	char line[512];
	struct mapping m;
	unsigned n = 0;

	while (n < OBJECTS && fgets(line, sizeof line, maps)) {
		if (mapping_read(line, &m) && m.rights[2] == 'x' &&
		    !is_among(inode, n, m.inode))
			inode[n++] = m.inode;
	}
	return n;
}

/* Locks all mappings of these files, constants too.  Returns 0, or the last
 * -errno; *bytes is how large they are. */
static int
objects_lock(FILE *maps, const uint64_t *inode, unsigned n, uint64_t *bytes)
{
	char line[512];
	struct mapping m;
	int err = 0;

	*bytes = 0;
	while (fgets(line, sizeof line, maps)) {
		if (!mapping_read(line, &m) || m.rights[0] != 'r' ||
		    !is_among(inode, n, m.inode))
			continue;
		*bytes += m.to - m.from;
		if (mlock2((void *)(uintptr_t)m.from, m.to - m.from,
			   MLOCK_ONFAULT) < 0)
			err = -errno;
	}
	return err;
}

void
hot_pages_lock_code(bool told)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char is[UNITS_TEXT], need[UNITS_TEXT];
	uint64_t inode[OBJECTS], bytes;
	struct rlimit limit = { 0, 0 };
	unsigned n;
	int err;

	if (!maps)
		return;
	n = objects_find(maps, inode);
	rewind(maps);
	err = objects_lock(maps, inode, n, &bytes);
	fclose(maps);
	if (!err || told)
		return;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	log_line(LEVEL_WARN, NULL,
		 "the code of spated is not locked in memory: %s; the limit "
		 "for locked memory (RLIMIT_MEMLOCK) is %s, it would take %s "
		 "beside `memory`; going on",
		 strerror(-err), units_show_bytes(is, limit.rlim_cur),
		 units_show_bytes(need, bytes));
}

int
hot_pages_lock_stack(void)
{
	pthread_attr_t attr;
	uintptr_t from, top;
	size_t bytes;
	void *at;
	int err = -pthread_getattr_np(pthread_self(), &attr);

	if (err)
		return err;
	err = -pthread_attr_getstack(&attr, &at, &bytes);
	pthread_attr_destroy(&attr);
	if (err)
		return err;
	/* Above this frame lies what is the thread's own, such as errno. */
	top = (uintptr_t)at + bytes;
	from = (uintptr_t)__builtin_frame_address(0) & -(uintptr_t)PAGE;
	from = from - (uintptr_t)at > STACK ? from - STACK : (uintptr_t)at;
	return mlock2((void *)from, top - from, MLOCK_ONFAULT) < 0 ? -errno : 0;
}
