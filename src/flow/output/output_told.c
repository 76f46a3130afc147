/* SPDX-License-Identifier: MIT */
/* Decides which facts about a stream of heaps are written to the metadata, on
 * whichever disk: each description of an item once, and control heaps until
 * there are OUTPUT_CONTROLS of them. */
#include "contract/bytes.h"
#include "flow/output/output.h"

/* FNV-1a, 64 bits: two descriptions that differ have the same hash only by a
 * rare accident, which costs one line of metadata. */
static uint64_t
hash(const uint8_t *data, uint32_t bytes)
{
	uint64_t h = bytes_hash(BYTES_HASH, data, bytes);

	return h ? h : 1;
}

/* Returns the entry that has the hash, or the free one where it belongs.  Half
 * of the table is always free, so the search ends. */
static unsigned
described_at(const struct output *o, uint64_t h)
{
	unsigned mask = 2 * OUTPUT_DESCRIBED - 1, i = (unsigned)h & mask;

	while (o->described[i].hash && o->described[i].hash != h)
		i = (i + 1) & mask;
	return i;
}

bool
output_described(struct output *o, const uint8_t *descriptor, uint32_t bytes,
		 uint64_t number, const void *disk)
{
	uint64_t h = hash(descriptor, bytes);
	struct output_described *entry;
	bool added, again;

	pthread_mutex_lock(&o->lock);
	entry = &o->described[described_at(o, h)];
	added = !entry->hash && o->described_n < OUTPUT_DESCRIBED;
	again = entry->hash && entry->number == number && entry->disk != disk;
	if (added || again)
		*entry = (struct output_described){ h, number, disk };
	o->described_n += added;
	pthread_mutex_unlock(&o->lock);
	return added || again;
}

bool
output_controlled(struct output *o)
{
	bool told;

	pthread_mutex_lock(&o->lock);
	told = o->controls < OUTPUT_CONTROLS;
	o->controls += told;
	pthread_mutex_unlock(&o->lock);
	return told;
}
