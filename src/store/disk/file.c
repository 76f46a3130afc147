/* SPDX-License-Identifier: MIT */
/*
 * One system call reads hundreds of packets: preadv() puts the payloads where
 * they belong, and the bytes between them into a scratch buffer.
 */
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "store/disk/file.h"

int
append_bytes(struct append_file *to, const void *data, size_t bytes)
{
	const char *at = data;
	size_t left = bytes;

	while (left) {
		ssize_t put = write(to->fd, at, left);
		int err = errno;

		if (put < 0 && err == EINTR)
			continue;
		/* If it cannot be cut, readers stop at the half record. */
		if (put < 0)
			return ftruncate(to->fd, to->bytes) < 0 ? -EIO : -err;
		at += put;
		left -= (size_t)put;
	}
	to->bytes += (off_t)bytes;
	return 0;
}

bool
file_has_data(int fd, uint64_t from)
{
	static const uint8_t zero[4096];
	uint8_t page[sizeof zero];
	ssize_t n;

	while ((n = read_whole(fd, page, sizeof page, from)) > 0) {
		if (memcmp(page, zero, (size_t)n))
			return true;
		from += (uint64_t)n;
	}
	return n < 0;
}

enum { PACKETS = 256 };

/* How many of the `got` bytes read from the file are data.  The first `ahead`
 * of them are the rest of a packet. */
static size_t
data_of(const struct stride *s, size_t got, size_t ahead)
{
	size_t packet = (size_t)s->prefix + s->payload, part;

	if (got <= ahead)
		return got;
	got -= ahead;
	part = got % packet;
	return ahead + got / packet * s->payload +
	       (part > s->prefix ? part - s->prefix : 0);
}

ssize_t
stride_read(int fd, const struct stride *s, void *data, size_t bytes,
	    uint64_t at)
{
	uint8_t rubbish[STRIDE_PREFIX], *to = data;
	struct iovec v[2 * PACKETS];
	uint64_t slot = at / s->payload;
	uint32_t in = (uint32_t)(at % s->payload);
	size_t done, ahead = s->payload - in < bytes ? s->payload - in : bytes;
	uint64_t from = s->offset + slot * ((uint64_t)s->prefix + s->payload) +
			s->prefix + in;
	int n = 0;
	ssize_t got;

	if (!s->prefix)
		return pread(fd, data, bytes, (off_t)(s->offset + at));
	v[n++] = (struct iovec){ to, ahead };
	for (done = ahead; done < bytes && n + 2 <= 2 * PACKETS;) {
		size_t part =
		    bytes - done < s->payload ? bytes - done : s->payload;

		v[n++] = (struct iovec){ rubbish, s->prefix };
		v[n++] = (struct iovec){ to + done, part };
		done += part;
	}
	got = preadv(fd, v, n, (off_t)from);
	return got <= 0 ? got : (ssize_t)data_of(s, (size_t)got, ahead);
}
