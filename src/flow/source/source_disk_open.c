/* SPDX-License-Identifier: MIT */
/*
 * Opening a source on disks touches all of them, so the sender's thread does it
 * at its first read.
 *
 * The reader's pieces become parcels.  A piece is some MiB, so that it has many
 * packets and several pieces of each disk fit in memory; for rows it is the
 * longest block that can come.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "flow/source/source_disk_priv.h"
#include "store/recording/recording_priv.h"

enum { PIECE = 4 << 20, SLOTS = 8 /* least slots in a piece */ };

static uint64_t
row_bytes(const struct recording *rec)
{
	json_t *geometry = json_object_get(rec->head, "geometry");
	json_int_t block =
	    json_integer_value(json_object_get(geometry, "block_bytes"));
	uint64_t most = block > 0 ? (uint64_t)block : PIECE;

	for (size_t i = 0; i < rec->blocks; i++) {
		if (rec->block[i].record.bytes > most)
			most = rec->block[i].record.bytes;
	}
	return most;
}

static int
open_reader(struct source_disk *d)
{
	const struct recording *rec = d->rec;
	uint64_t slots = (uint64_t)rec->shape.payload * SLOTS;
	struct reader_args a = {
		.memory = d->a.memory,
		.verify = d->a.verify,
		.patience = d->a.patience,
		.head = rec->shape.payload,
		.piece = slots > PIECE ? slots : PIECE,
		.timer = d->timer,
	};
	int err;

	if (rec->shape.store == HEAP_ROW) {
		a.piece = row_bytes(rec);
		a.head = 0;
	}
	d->tail = malloc(rec->shape.payload);
	if (!d->tail)
		return -ENOMEM;
	err = reader_open(&d->reader, d->rec, &a);
	if (err)
		return err;
	reader_way_begin(&d->way, d->reader, d->a.sub);
	d->way.sure = true;
	return 0;
}

static int
check_sub(struct source_disk *d)
{
	const struct recording_facts *f = &d->rec->facts;

	if (d->a.sub < (int)f->subs)
		return 0;
	fault_set(&d->fault, -EINVAL, "usage", "%s has no substream %d",
		  d->name, d->a.sub);
	fault_why(&d->fault, "it has %u, numbered from 0", f->subs);
	return -EINVAL;
}

static int
open_all(struct source_disk *d)
{
	int err;

	for (unsigned i = 0; i < d->disks.n; i++)
		disk_open(&d->disks.disk[i]);
	err = recording_open(&d->rec, &d->disks, d->name, &d->fault);
	if (!err)
		err = check_sub(d);
	if (!err)
		err = recording_format(d->rec, &d->format, &d->fault);
	if (err)
		return err;
	d->range = (struct recording_range){ .from_ns = d->a.from_ns,
					     .to_ns = d->a.to_ns,
					     .from_byte = d->a.from_byte,
					     .to_byte = d->a.to_byte,
					     .sub = d->a.sub };
	err = source_disk_looked(d);
	return err ? err : open_reader(d);
}

int
source_disk_open(struct source_disk *d)
{
	if (!d->opened)
		d->err = open_all(d);
	d->opened = !d->err;
	return d->err;
}
