/* SPDX-License-Identifier: MIT */
#include "wire/frame.h"

void
wire_pack(const struct wire_frame *f, uint8_t *to, wire_crc32c *crc)
{
	uint32_t type =
	    f->type |
	    (uint32_t)(f->header_bytes ? f->header_bytes : WIRE_HEADER) << 16;

	write_le32(to, WIRE_MAGIC);
	write_le32(to + 4, type);
	write_le32(to + 8, f->payload_bytes);
	write_le32(to + 12, f->packets);
	write_le64(to + 16, f->run);
	write_le64(to + 24, f->first);
	write_le64(to + 32, f->time_ns);
	write_le32(to + 40, f->payload_crc);
	write_le32(to + 44, crc(0, to, 44));
}

/*
 * Checks the payload's length against the frame's type.  NULL, or what is
 * wrong.
 */
static const char *
wire_check_payload(const struct wire_frame *f)
{
	switch (f->type) {
	case WIRE_HELLO: return NULL;
	case WIRE_DATA:
		if (!f->packets != !f->payload_bytes ||
		    f->packets > f->payload_bytes)
			return "a frame without room for its packets";
		return NULL;
	case WIRE_CHALLENGE:
		return f->payload_bytes == WIRE_NONCE
			   ? NULL
			   : "a challenge of a wrong length";
	case WIRE_PROOF:
		return f->payload_bytes == WIRE_PROOF_BYTES
			   ? NULL
			   : "a proof of a wrong length";
	case WIRE_BESIDE:
	case WIRE_WELCOME:
	case WIRE_REFUSE:
		return f->payload_bytes <= WIRE_ANSWER_MOST
			   ? NULL
			   : "an answer that is too long";
	default:
		return f->payload_bytes
			   ? "a payload in a frame that can have none"
			   : NULL;
	}
}

const char *
wire_check(const struct wire_frame *f)
{
	if (f->type < WIRE_HELLO ||
	    (f->type >= WIRE_TYPES && f->type != WIRE_BESIDE))
		return "a frame of a type that is not known here";
	if (f->header_bytes < WIRE_HEADER || f->header_bytes > WIRE_HEADER_MOST)
		return "a frame whose header has an impossible length";
	if (f->payload_bytes > WIRE_PAYLOAD_MOST)
		return "a frame larger than 4 MiB";
	if (f->run >= WIRE_RUNS || f->first >= WIRE_SEQUENCES)
		return "a frame with an impossible run or sequence";
	if (f->packets && f->type != WIRE_DATA)
		return "packets in a frame that can have none";
	return wire_check_payload(f);
}

const char *
wire_unpack_any(struct wire_frame *f, const uint8_t *at, wire_crc32c *crc)
{
	if (read_le32(at) != WIRE_MAGIC)
		return "something that is no frame of spate's";
	if (read_le32(at + 44) != crc(0, at, 44))
		return "a frame header with a wrong checksum";
	*f = (struct wire_frame){
		.type = read_le16(at + 4),
		.header_bytes = read_le16(at + 6),
		.payload_bytes = read_le32(at + 8),
		.packets = read_le32(at + 12),
		.run = read_le64(at + 16),
		.first = read_le64(at + 24),
		.time_ns = read_le64(at + 32),
		.payload_crc = read_le32(at + 40),
	};
	return NULL;
}

const char *
wire_unpack(struct wire_frame *f, const uint8_t *at, wire_crc32c *crc)
{
	const char *wrong = wire_unpack_any(f, at, crc);

	return wrong ? wrong : wire_check(f);
}

const char *
wire_check_data(const struct wire_frame *f, uint32_t packet_bytes)
{
	if ((uint64_t)f->packets * packet_bytes != f->payload_bytes)
		return "a frame that is not as long as its packets";
	return NULL;
}

void
wire_hello_pack(const struct wire_hello *h, uint8_t *to)
{
	write_le32(to, h->version);
	write_le32(to + 4, h->packet_bytes);
	write_le32(to + 8, h->connections);
	write_le32(to + 12, h->connection);
	write_le64(to + 16, h->transfer);
}

const char *
wire_hello_unpack(struct wire_hello *h, const uint8_t *at, uint32_t bytes)
{
	if (bytes < WIRE_HELLO_BYTES)
		return "a hello that is too short";
	*h = (struct wire_hello){ .version = read_le32(at),
				  .packet_bytes = read_le32(at + 4),
				  .connections = read_le32(at + 8),
				  .connection = read_le32(at + 12),
				  .transfer = read_le64(at + 16) };
	if (h->version != WIRE_VERSION)
		return "a hello of another version";
	if (!h->packet_bytes || h->packet_bytes > WIRE_PAYLOAD_MOST)
		return "a hello with an impossible packet size";
	if (!h->connections || h->connections > WIRE_CONNECTIONS ||
	    h->connection >= h->connections)
		return "a hello with an impossible number of connections";
	if (!h->transfer)
		return "a hello without a transfer";
	return NULL;
}
