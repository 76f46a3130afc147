/* SPDX-License-Identifier: MIT */
/*
 * udpmon: packets of the network test tool of that name.
 *
 *   byte 0   u64 big-endian, counts packets
 *        8   anything
 *
 * The datagram begins with the counter. prefix = 8 strips the counter; prefix =
 * 0 stores it with the rest, as a header of the payload.
 */
#include "contract/defaults.h"

static int
shape(struct format_shape *s, char *why, uint32_t why_bytes)
{
	int err;

	if (!s->payload)
		return format_refuse(why, why_bytes,
				     "udpmon packets need payload = the bytes "
				     "of a datagram behind its prefix");
	if (s->sequence == SEQUENCE_DEFAULT) {
		s->sequence = SEQUENCE_BE64;
		s->sequence_at = 0;
	}
	if (s->sequence != SEQUENCE_ARRIVAL && !format_counter_bytes(s))
		return format_refuse(why, why_bytes,
				     "udpmon packets count in their first 8 "
				     "bytes; leave out sequence, or say "
				     "\"be64@0\"");
	err = format_counter_settle(s, why, why_bytes);
	if (err)
		return err;
	s->parts = 1;
	s->header = format_counter_end(s);
	return 0;
}

SPATE_PLUGIN const struct format_ops spate_format = {
	.head = {
		.abi = SPATE_ABI,
		.bytes = sizeof(struct format_ops),
		.name = "udpmon",
		.help = "packets that begin with a big-endian counter",
	},
	.extension = "udpmon",
	.shape = shape,
	.parse = format_counted_parse,
	.model = format_counted_model,
	.stamp = format_counted_stamp,
};
