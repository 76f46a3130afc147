/* SPDX-License-Identifier: MIT */
/*
 * raw: packets with a payload of unknown content.
 *
 * raw is the smallest honest format, and the one for traffic that spate has no
 * format for.  Packets are numbered as they arrive, so none can be missing and
 * none is reordered, unless the configuration says where a counter is.  A
 * counter within the payload makes everything up to its end a header, so that
 * fill can copy and count it on.
 */
#include "contract/defaults.h"

static int
shape(struct format_shape *s, char *why, uint32_t why_bytes)
{
	int err;

	if (!s->payload)
		return format_refuse(why, why_bytes,
				     "raw packets need payload = the bytes of "
				     "a datagram behind its prefix");
	if (s->sequence == SEQUENCE_DEFAULT)
		s->sequence = SEQUENCE_ARRIVAL;
	if (s->sequence != SEQUENCE_ARRIVAL && !format_counter_bytes(s))
		return format_refuse(why, why_bytes,
				     "raw packets have no header to count by; "
				     "sequence can be \"arrival\", or a "
				     "counter such as \"le64@0\"");
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
		.name = "raw",
		.help = "packets of any content",
	},
	.extension = "raw",
	.shape = shape,
	.parse = format_counted_parse,
	.model = format_counted_model,
	.stamp = format_counted_stamp,
};
