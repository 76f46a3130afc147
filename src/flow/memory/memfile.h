/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_MEMFILE_H
#define SPATE_FLOW_MEMORY_MEMFILE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A memfile is memory of this process that others may be given to read, and by
 * no means to write: not by the descriptor that they get, not by opening
 * what it is of anew, not by making it shorter; not even by root.
 */
struct memfile {
	void *at;
	uint64_t bytes;
	int fd;	     /* to be given away: for reading alone; -1: it cannot be */
	bool sealed; /* false: the kernel cannot; then root, and who runs as
			the same user, could write */
};

/* `name` is for people; `huge`: of reserved huge pages.  Not touched.  0 or
 * -errno, and nothing is left. */
int memfile_make(struct memfile *m, const char *name, uint64_t bytes,
		 bool huge);
void memfile_free(struct memfile *m);

#endif
