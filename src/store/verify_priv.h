/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_VERIFY_PRIV_H
#define SPATE_STORE_VERIFY_PRIV_H

#include "store/recording_priv.h"
#include "store/verify.h"

/* What verify.c and verify_chunk.c share. */
struct check {
	struct recording *rec;
	const struct disks *disks;
	const struct verify_hooks *hooks;
	int found;
	const struct format_ops *format; /* of rows; NULL: not installed */
	uint64_t heaps, incomplete;
};

__attribute__((format(printf, 2, 3))) void
verify_found(struct check *c, const char *format, ...);
const char *verify_path(const struct check *c, unsigned disk);

/* Gets ready to look into chunks. */
void verify_begin(struct check *c);
/* Into one whose length is right. */
void verify_chunk(struct check *c, const struct recording_block *b);
/* At the sequences of all. */
void verify_order(struct check *c);

#endif
