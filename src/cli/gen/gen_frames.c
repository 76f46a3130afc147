/* SPDX-License-Identifier: MIT */
/*
 * Data is noise, made once for 64 packets, about half a MiB: it stays in the
 * processor's second-level cache, so that sending costs little more than the
 * kernel's copy.
 *
 *   datagram   prefix | header | noise of packet % 64 ... | mark
 *
 * The mark, 8 bytes, makes the data of each packet unique, so that a recording
 * in which two packets changed places differs from the right one.  Every port
 * has other marks; those of port 0 are the same as without a range of ports.
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/gen/gen_frames.h"
#include "cli/gen/mix.h"

enum { READY = 64, MARK = 8 };

static void
noise(uint8_t *to, uint32_t bytes, uint64_t seed)
{
	for (uint32_t i = 0; i < bytes; i++) {
		if (i % 8 == 0)
			seed = mix64(seed);
		to[i] = (uint8_t)(seed >> i % 8 * 8);
	}
}

static unsigned
make(struct gen_source *s, unsigned port, uint64_t packet, struct iovec *piece)
{
	piece->iov_base = gen_frames_make((struct gen_frames *)s, port, packet);
	piece->iov_len = s->most;
	return 1;
}

static uint64_t
heap(const struct gen_source *s, unsigned port, uint64_t packet)
{
	(void)s;
	(void)port;
	return packet;
}

static uint64_t
end(struct gen_source *s, unsigned port, uint64_t least)
{
	(void)s;
	(void)port;
	return least;
}

static const struct gen_source_ops ops = { make, heap, end };

int
gen_frames_init(struct gen_frames *f)
{
	const struct format_shape *s = f->shape;
	uint32_t bytes = s->prefix + s->payload;

	f->source = (struct gen_source){
		.ops = &ops,
		.most = bytes,
		.mean = bytes,
		.ready =
		    s->parts < READY ? READY / s->parts * s->parts : s->parts,
	};
	f->data = calloc(f->source.ready, bytes);
	if (!f->data)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->source.ready; i++) {
		uint8_t *payload = f->data + (size_t)i * bytes + s->prefix;

		noise(payload, s->payload, mix64(f->seed) + i);
		if (i % s->parts == 0 && f->format->model)
			f->format->model(s, payload);
	}
	return 0;
}

void
gen_frames_finish(struct gen_frames *f)
{
	free(f->data);
	f->data = NULL;
}

static void
packet_describe(const struct gen_frames *f, uint64_t packet,
		struct format_packet *p)
{
	const struct format_shape *s = f->shape;
	uint64_t frame = packet / s->parts;
	uint64_t of_thread = frame / s->threads_n + f->frame;

	*p = (struct format_packet){
		.has = FORMAT_SEQUENCE | FORMAT_READABLE | FORMAT_TIME |
		       FORMAT_VALID,
		.sequence = f->first + packet,
		.second = f->second + (int64_t)(of_thread / s->fps),
		.frame = (uint32_t)(of_thread % s->fps),
		.part = (uint32_t)(packet % s->parts),
		.thread = s->threads[frame % s->threads_n],
		.bytes = s->payload * s->parts,
	};
}

uint8_t *
gen_frames_make(struct gen_frames *f, unsigned port, uint64_t packet)
{
	const struct format_shape *s = f->shape;
	uint8_t *datagram = f->data + packet % f->source.ready * f->source.most;
	uint8_t *payload = datagram + s->prefix;
	uint64_t of_port = (uint64_t)port << 48;
	struct format_packet p;

	packet_describe(f, packet, &p);
	if (s->payload >= s->header + MARK)
		write_le64(payload + s->payload - MARK,
			   mix64(mix64(f->seed) ^ of_port ^ packet));
	f->format->stamp(s, &p, datagram, payload);
	return datagram;
}

uint64_t
gen_frames_sequence(struct gen_frames *f, uint64_t packet)
{
	const uint8_t *datagram = gen_frames_make(f, 0, packet);
	struct format_packet p;

	f->format->parse(f->shape, datagram, datagram + f->shape->prefix, &p);
	return p.has & FORMAT_SEQUENCE ? p.sequence : f->first + packet;
}
