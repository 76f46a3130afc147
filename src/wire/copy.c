/* SPDX-License-Identifier: MIT */
#include "wire/copy.h"

static const char *
wire_copy_check_payload(const struct wire_frame *f)
{
	uint32_t bytes = f->payload_bytes;

	switch (f->type) {
	case WIRE_HEAD:
		return bytes && bytes <= COPY_HEAD_MOST
			   ? NULL
			   : "the head of a recording with a wrong length";
	case WIRE_INDEX:
		return f->packets && bytes / COPY_TOLD_BYTES >= f->packets
			   ? NULL
			   : "an index without room for its records";
	case WIRE_WANT:
		return (uint64_t)f->packets * COPY_WANT_BYTES == bytes
			   ? NULL
			   : "a list that is not as long as what is wanted";
	case WIRE_PIECE:
		return bytes && bytes <= COPY_PIECE
			   ? NULL
			   : "a piece of a block with an impossible length";
	case WIRE_AGREE:
		return bytes == COPY_DIGEST_BYTES
			   ? NULL
			   : "a digest of a wrong length";
	case WIRE_CLOSE:
		return f->packets <= 1 && bytes >= f->packets * COPY_RECORD
			   ? NULL
			   : "an end without room for its record";
	case WIRE_STATE:
		return bytes <= COPY_STATE_MOST ? NULL
						: "a state that is too long";
	default:
		return bytes ? "a payload in a frame that can have none" : NULL;
	}
}

/*
 * Checks a frame of wire.h or of a copy whose header checksum was good.  NULL,
 * or what is wrong.
 */
static const char *
wire_copy_check(const struct wire_frame *f)
{
	bool counts = f->type == WIRE_INDEX || f->type == WIRE_WANT ||
		      f->type == WIRE_CLOSE;

	if (f->type < WIRE_HEAD || f->type == WIRE_BESIDE)
		return wire_check(f);
	if (f->type >= WIRE_COPY_TYPES)
		return "a frame of a type that is not known here";
	if (f->header_bytes != WIRE_HEADER)
		return "a frame whose header has an impossible length";
	if (f->payload_bytes > WIRE_PAYLOAD_MOST)
		return "a frame larger than 4 MiB";
	if (f->run >= WIRE_RUNS || f->first >= WIRE_SEQUENCES)
		return "a frame with an impossible number";
	if (f->packets && !counts)
		return "packets in a frame that can have none";
	return wire_copy_check_payload(f);
}

const char *
wire_copy_unpack(struct wire_frame *f, const uint8_t *at, wire_crc32c *crc)
{
	const char *wrong = wire_unpack_any(f, at, crc);

	return wrong ? wrong : wire_copy_check(f);
}

uint32_t
copy_told_pack(const struct copy_told *t, uint8_t *to, uint32_t left)
{
	if (left < COPY_TOLD_BYTES || left - COPY_TOLD_BYTES < t->lines_bytes)
		return 0;
	for (unsigned i = 0; i < COPY_RECORD; i++)
		to[i] = t->record[i];
	write_le64(to + 64, t->base);
	write_le64(to + 72, (uint64_t)t->arrival_ns);
	write_le32(to + 80, t->gap);
	write_le32(to + 84, t->lines_bytes);
	for (uint32_t i = 0; i < t->lines_bytes; i++)
		to[COPY_TOLD_BYTES + i] = (uint8_t)t->lines[i];
	return COPY_TOLD_BYTES + t->lines_bytes;
}

uint32_t
copy_told_unpack(struct copy_told *t, const uint8_t *at, uint32_t left)
{
	if (left < COPY_TOLD_BYTES)
		return 0;
	*t = (struct copy_told){
		.record = at,
		.base = read_le64(at + 64),
		.arrival_ns = (int64_t)read_le64(at + 72),
		.gap = read_le32(at + 80),
		.lines_bytes = read_le32(at + 84),
		.lines = (const char *)at + COPY_TOLD_BYTES,
	};
	if (t->lines_bytes > left - COPY_TOLD_BYTES)
		return 0;
	return COPY_TOLD_BYTES + t->lines_bytes;
}

void
copy_want_pack(const struct copy_want *w, uint8_t *to)
{
	write_le64(to, w->number);
	write_le32(to + 8, w->first);
	write_le32(to + 12, w->pieces);
}

void
copy_want_unpack(struct copy_want *w, const uint8_t *at)
{
	*w = (struct copy_want){ .number = read_le64(at),
				 .first = read_le32(at + 8),
				 .pieces = read_le32(at + 12) };
}

void
copy_digest_pack(const struct copy_digest *d, uint8_t *to)
{
	write_le64(to, d->blocks);
	write_le64(to + 8, d->bytes);
	write_le64(to + 16, d->hash);
	write_le32(to + 24, d->crc);
	write_le32(to + 28, 0);
}

void
copy_digest_unpack(struct copy_digest *d, const uint8_t *at)
{
	*d = (struct copy_digest){ .blocks = read_le64(at),
				   .bytes = read_le64(at + 8),
				   .hash = read_le64(at + 16),
				   .crc = read_le32(at + 24) };
}

void
copy_digest_add(struct copy_digest *d, uint64_t number, uint64_t bytes,
		uint32_t crc, wire_crc32c *crc32c)
{
	uint8_t raw[20];

	write_le64(raw, number);
	write_le64(raw + 8, bytes);
	write_le32(raw + 16, crc);
	if (!d->blocks++)
		d->hash = BYTES_HASH;
	d->hash = bytes_hash(d->hash, raw, sizeof raw);
	d->crc = crc32c(d->crc, raw, sizeof raw);
	d->bytes += bytes;
}

bool
copy_digest_same(const struct copy_digest *a, const struct copy_digest *b)
{
	return a->blocks == b->blocks && a->bytes == b->bytes &&
	       a->hash == b->hash && a->crc == b->crc;
}
