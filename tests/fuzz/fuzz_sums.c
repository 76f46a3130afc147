/* SPDX-License-Identifier: MIT */
/*
 * Reads checksums from foreign bytes: an input is a file of them.  What is
 * believed must lie in the file, and be found again.
 */
#include "config.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "base/crc32c.c"
#include "store/record/sums.c"

static void
require(int truth)
{
	if (!truth)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("sums", MFD_CLOEXEC);
	struct sums_list l;
	uint32_t x = 0;

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	require(sums_read(fd, &l) == 0);
	require(l.end + l.torn == size && l.damaged <= l.end);
	for (size_t i = 0; i < l.n; i++) {
		const struct sums *s = &l.sums[i];

		require(s->raw >= l.raw + SUMS_HEAD);
		require(s->raw + s->count * 4ul + SUMS_CHECK <= l.raw + size);
		require(sums_find(&l, s->number) == s);
		for (uint32_t k = 0; k < s->count; k++)
			x ^= sums_at(s, k);
	}
	require(!sums_find(&l, x) || l.n);
	sums_clear(&l);
	close(fd);
	return 0;
}
