/* SPDX-License-Identifier: MIT */
/* Prints a stream for `spated -n`: the keys, and what was derived from them. */
#include <stdio.h>
#include <string.h>

#include "base/shape.h"
#include "base/units.h"
#include "daemon/conf/stream.h"
#include "store/disk/sg.h"

const char *
stream_blocks_show(const struct stream *s, char text[STREAM_BLOCKS_TEXT])
{
	unsigned parts = s->plan.subs * s->keys;
	int at = snprintf(text, STREAM_BLOCKS_TEXT, "%u blocks", s->blocks);

	if (parts > 1 && !s->o.blocks)
		snprintf(text + at, STREAM_BLOCKS_TEXT - (size_t)at,
			 " (2 x %u %s + 2 x %u disks + 4)", parts,
			 s->keys > 1 ? "parts" : "substreams", s->disks);
	return text;
}

static void
listen_print(const struct stream *s)
{
	printf("stream %s: %s", s->name, s->o.receive);
	for (unsigned i = 0; i < s->listen.n; i++)
		printf(" %s", s->listen.text[i]);
	printf("\n");
	if (s->plan.subs > 1)
		printf("  from      %u substreams\n", s->plan.subs);
	if (s->plan.threads > 1)
		printf("  threads   %u share every one's packets\n",
		       s->plan.threads);
	if (s->keys > 1 || s->split)
		printf("  split     by %s: %u recordings\n", s->o.split,
		       s->keys);
}

static void
heap_print(const struct stream *s)
{
	const struct format_shape *shape = &s->shape;
	const struct geometry *g = &s->geometry;

	if (shape->store == HEAP_ROW) {
		printf("  heaps     %s, whole, up to %llu bytes each\n",
		       s->o.format, (unsigned long long)g->block_bytes);
		printf("  block     %llu bytes\n",
		       (unsigned long long)g->block_bytes);
		return;
	}
	printf("  heaps     %s, %u bytes of item 0x%x of each\n", s->o.format,
	       g->payload, shape->item);
	if (shape->time_item)
		printf("  time      item 0x%x", shape->time_item);
	else
		printf("  time      the count of the heap");
	if (shape->time_step)
		printf(", in steps of %llu",
		       (unsigned long long)shape->time_step);
	printf("\n  block     %u heaps, %llu bytes\n", g->slots,
	       (unsigned long long)g->block_bytes);
}

static void
packet_print(const struct stream *s)
{
	char sequence[SHAPE_SEQUENCE_TEXT];
	const struct geometry *g = &s->geometry;

	printf("  packet    %u + %u bytes, %s, sequence %s\n", s->shape.prefix,
	       g->payload, s->o.format,
	       shape_sequence_show(&s->shape, sequence));
	if (g->parts > 1)
		printf("  frame     %u packets\n", g->parts);
	if (s->shape.fps)
		printf("  frames    %u per second and thread\n", s->shape.fps);
	printf(
	    "  block     %u packets, %llu bytes; the quantum is %u packets\n",
	    g->slots, (unsigned long long)g->block_bytes, g->quantum);
}

/* Prints the layout on disk, unless it is the default. */
static void
layout_print(const struct stream *s)
{
	const struct geometry *g = &s->geometry;

	if (s->layout == LAYOUT_MARK6)
		printf("  layout    mark6: one file per disk, blocks of %llu "
		       "bytes with 8 of header, packets of %u\n",
		       (unsigned long long)g->block_bytes + SG_BLOCK,
		       g->payload * g->parts);
	if (s->layout == LAYOUT_SINGLE)
		printf("  layout    file: one file per disk, NAME/NAME.%s\n",
		       s->format->extension);
}

void
stream_print(const struct stream *s)
{
	char a[UNITS_TEXT], b[UNITS_TEXT], blocks[STREAM_BLOCKS_TEXT];

	listen_print(s);
	if (s->shape.store == HEAP_NONE)
		packet_print(s);
	else
		heap_print(s);
	layout_print(s);
	if (s->o.channels_per_file > 1)
		printf("  files     %u substreams in each\n",
		       s->o.channels_per_file);
	if (s->o.rate)
		printf("  at %s  %.1f blocks per second\n",
		       units_show_rate(a, (double)s->o.rate),
		       (double)s->o.rate / 8 / (double)s->geometry.block_bytes);
	printf("  memory    %s, %s\n", stream_blocks_show(s, blocks),
	       units_show_bytes(b, stream_memory(s)));
}
