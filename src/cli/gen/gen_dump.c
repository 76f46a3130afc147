/* SPDX-License-Identifier: MIT */
/*
 * Writes what a recording should contain: all packets that a port's plan
 * numbered, as if none had been lost.
 *
 *   frames         their payloads
 *   heaps          each as one packet with all its items
 *   heaps, a cube  the data of each
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gen/gen_priv.h"

static bool
put(FILE *to, const void *data, size_t bytes)
{
	return !bytes || fwrite(data, bytes, 1, to) == 1;
}

static bool
frame_dump(struct gen *g, unsigned port, uint64_t packet, FILE *to)
{
	const struct format_shape *s = &g->format.shape;
	const uint8_t *datagram = gen_frames_make(&g->frames, port, packet);

	return put(to, datagram + s->prefix, s->payload);
}

/* Writes a packet without its first `skip` bytes. */
static bool
rest_dump(struct gen *g, unsigned port, uint64_t packet, size_t skip, FILE *to)
{
	struct iovec piece[GEN_PIECES];
	unsigned n = g->source->ops->make(g->source, port, packet, piece);
	bool good = true;

	for (unsigned i = 0; i < n && good; i++) {
		size_t less = skip < piece[i].iov_len ? skip : piece[i].iov_len;

		good = put(to, (uint8_t *)piece[i].iov_base + less,
			   piece[i].iov_len - less);
		skip -= less;
	}
	return good;
}

static bool
heap_dump(struct gen *g, unsigned port, uint64_t packet, FILE *to)
{
	bool cube = g->format.shape.store == HEAP_CUBE;
	uint8_t header[GEN_HEAD];
	struct gen_piece p;
	uint64_t skip = 0;

	gen_heaps_find(&g->heaps, port, packet, &p);
	if (cube && !p.data)
		return true;
	if (cube && p.offset < p.kind->front_bytes)
		skip = p.kind->front_bytes - p.offset;
	if (!cube && p.packet == 0 &&
	    !put(to, header, gen_heaps_header(&g->heaps, &p, header)))
		return false;
	if (skip > p.bytes)
		skip = p.bytes;
	return rest_dump(g, port, packet, p.header + skip, to);
}

static int
port_dump(struct gen *g, unsigned port, const char *file)
{
	FILE *to = fopen(file, "we");
	int err = to ? 0 : -errno;
	bool good;

	for (uint64_t i = 0; !err && i < g->port[port].plan.next; i++) {
		if (g->of_heaps)
			good = heap_dump(g, port, i, to);
		else
			good = frame_dump(g, port, i, to);
		if (!good)
			err = -errno;
	}
	if (to && fclose(to) != 0 && !err)
		err = -errno;
	return err;
}

/* Writes `file` for a single port; file.0, file.1 ... for a range. */
int
gen_dump(struct gen *g, struct fault *fault)
{
	char *file = NULL;
	int err = 0;

	for (unsigned i = 0; !err && i < g->socket.ports; i++) {
		free(file);
		if (asprintf(&file, g->socket.ports > 1 ? "%s.%u" : "%s",
			     g->args->dump, i) < 0)
			return fault_set(fault, -ENOMEM, "no-memory",
					 "no memory");
		err = port_dump(g, i, file);
	}
	if (err) {
		fault_set(fault, err, "io", "cannot write %s", file);
		fault_why(fault, "%s", strerror(-err));
	}
	free(file);
	return err;
}
