/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_MEMFILE_H
#define SPATE_FLOW_MEMORY_MEMFILE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A memfile is memory of this process that other processes may map to read, but
 * never to write: neither through the descriptor they get, nor by opening the
 * file anew through /proc, nor by truncating it; not even as root.
 */
struct memfile {
	void *at;
	uint64_t bytes;
	int fd;	     /* read-only, to give away; -1: this memory cannot be given
			away */
	bool sealed; /* false: the kernel lacks F_SEAL_FUTURE_WRITE, so root and
			processes of the same user could write */
};

/* Makes a memfile of `bytes`, mapped but not touched.  `name` is shown in
 * /proc; `huge` asks for reserved huge pages.  Returns 0, or -errno with
 * nothing left behind. */
int memfile_make(struct memfile *m, const char *name, uint64_t bytes,
		 bool huge);
void memfile_free(struct memfile *m);

#endif
