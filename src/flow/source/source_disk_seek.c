/* SPDX-License-Identifier: MIT */
/*
 * Seeking in a source on disks.  The blocks are searched from the first one on:
 * runs follow each other, but within a run each substream has its own
 * sequences, so there is nothing to bisect by.  A seek happens after a broken
 * connection, not for each packet.
 */
#include "config.h"

#include "flow/source/source_disk_priv.h"
#include "store/recording/recording_priv.h"

static void
go(struct source_disk *d, uint64_t number, uint64_t at)
{
	d->number = number < d->range.first ? d->range.first : number;
	d->at = d->number == number ? at : 0;
	d->have = 0;
	d->stretch_told = d->at != 0;
	d->removed_asked = false;
}

int
source_disk_seek_number(struct source *s, uint64_t number)
{
	struct source_disk *d = source_disk_of(s);
	int err = d->err ? d->err : source_disk_open(d);

	if (!err)
		go(d, number, 0);
	return err;
}

/* True if the block has the packet, at *at, or lies behind it; false: it lies
 * before it.  A block of rows is one parcel, and only its first packet's
 * sequence is known, so the next block decides. */
static bool
has_packet(const struct source_disk *d, const struct recording_block *b,
	   uint32_t run, uint64_t first, uint64_t *at)
{
	const struct recording_block *next = b + 1;
	bool last = b->record.number + 1 >= d->end;

	*at = 0;
	if (b->record.run != run || b->record.first >= first)
		return b->record.run >= run;
	if (d->rec->shape.store == HEAP_ROW)
		return last || next->record.run != run ||
		       next->record.first > first;
	*at = (first - b->record.first) * d->rec->shape.payload;
	return *at < b->record.bytes;
}

int
source_disk_seek(struct source *s, uint32_t run, uint64_t first)
{
	struct source_disk *d = source_disk_of(s);
	int err = d->err ? d->err : source_disk_open(d);
	uint64_t at = 0, passed = 0, i;

	if (err)
		return err;
	for (i = 0; i < d->end; i++) {
		const struct recording_block *b = &d->rec->block[i];

		if (b->record.kind != INDEX_BLOCK ||
		    (d->a.sub >= 0 && b->record.sub != d->a.sub))
			continue;
		if (has_packet(d, b, run, first, &at))
			break;
		passed += i < d->range.first ? 0 : b->record.bytes;
	}
	go(d, i, i < d->end ? at : 0);
	if (!d->facts.bytes_disk)
		d->facts.passed = passed + d->at;
	return 0;
}
