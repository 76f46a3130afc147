/* SPDX-License-Identifier: MIT */
/*
 * Feeds a format with foreign bytes.  Built once for each format, with
 * FUZZ_FORMAT the file of the plugin: fuzz_vdif, fuzz_mark5b, ...
 *
 * The first bytes of an input choose a shape, the rest is the packet.  Memory
 * is as large as the shape says to the byte, so that the sanitizer sees every
 * read beyond.  What parse() read is stamped into the same packet and must be
 * read again.
 */
#include <stdlib.h>
#include <string.h>

#include FUZZ_FORMAT

struct choice {
	uint8_t sequence, prefix, sequence_at, threads_n;
	uint16_t payload;
	uint16_t fps;
	int64_t around;
};

static void
require(bool truth)
{
	if (!truth)
		abort();
}

static void
fuzz_packet(const struct format_shape *s, const uint8_t *data, size_t bytes)
{
	size_t whole = (size_t)s->prefix + s->payload;
	uint8_t *prefix = malloc(s->prefix + 1u);
	uint8_t *payload = malloc(s->payload);
	struct format_packet p, q;

	if (bytes > whole)
		bytes = whole;
	memset(payload, 0, s->payload);
	memset(prefix, 0, s->prefix + 1u);
	memcpy(prefix, data, bytes < s->prefix ? bytes : s->prefix);
	if (bytes > s->prefix)
		memcpy(payload, data + s->prefix, bytes - s->prefix);
	spate_format.parse(s, prefix, payload, &p);
	spate_format.parse(s, NULL, payload, &q);
	require(!(p.has & FORMAT_PART) || p.part < s->parts);
	if (p.has & FORMAT_READABLE) {
		spate_format.stamp(s, &p, prefix, payload);
		spate_format.parse(s, prefix, payload, &q);
		require(p.has == q.has);
		require(p.sequence == q.sequence && p.frame == q.frame);
		require(p.second == q.second && p.thread == q.thread);
	}
	free(payload);
	free(prefix);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const uint16_t payloads[] = { 5008, 10016, 8032, 64 };
	static const uint32_t threads[] = { 0, 1, 2, 3 };
	struct format_shape s = { .threads = threads };
	struct choice c;
	char why[160];

	if (bytes < sizeof c)
		return 0;
	memcpy(&c, data, sizeof c);
	s.sequence = c.sequence % SEQUENCE_KINDS;
	s.prefix = c.prefix % 17;
	s.sequence_at = c.sequence_at;
	s.threads_n = c.threads_n % 5;
	s.payload = c.payload % 8 < 4 ? payloads[c.payload % 4] : c.payload;
	s.fps = c.fps;
	s.around = c.around;
	if (spate_format.shape(&s, why, sizeof why) == 0)
		fuzz_packet(&s, data + sizeof c, bytes - sizeof c);
	return 0;
}
