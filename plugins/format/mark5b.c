/* SPDX-License-Identifier: MIT */
/*
 * mark5b: Mark5B disk frames of 10016 bytes: a header of four little-endian
 * words, then 10000 bytes of data.
 *
 *   word 0   0xABADDEED
 *        1   0-14 frame in the second, 15 test pattern, 16-31 user's
 *        2   BCD JJJSSSSS: day (MJD mod 1000) and second of the day
 *        3   16-31 BCD .SSSS of the second, 0-15 CRC of the 48 bits before
 *
 * FiLa10G and related backends send a frame as two datagrams.  Each begins with
 * a prefix: 4 bytes without meaning and a counter of 4 bytes.
 *
 *   part 0   prefix | 16 header, 4992 data
 *   part 1   prefix | 5008 data
 *
 * The first word of a packet tells which part it is, because only part 0 begins
 * with the sync word.  The parity of the counter would not do: counters start
 * anywhere.  Random data equals the sync word once in 2^32 parts, about once a
 * day at 4 Gb/s; the effect is one misread header, not a lost packet.
 *
 * parse() reads neither .SSSS, which is too coarse above 512 Mb/s and often 0,
 * nor the CRC, which is often 0, too. stamp() writes both, because some readers
 * insist on the CRC.  The header has no mark for invalid data: readers take a
 * frame for invalid if all of its 10000 bytes are fill.
 */
#include <string.h>

#include "contract/defaults.h"

enum {
	FRAME = 10016,
	HALF = FRAME / 2,
	HEADER = 16,
	FRAME_NUMBERS = 1 << 15, /* frame numbers that word 1 has room for */
	DAY = 86400,
	MJD_1970 = 40587,
	MJD_CYCLE = 1000,
	/*
	 * Range of `around`, in days (MJD).  The first Mark5B frames were made
	 * in 2004; the upper end keeps the arithmetic from overflowing.
	 */
	MJD_FIRST = 53000 + MJD_CYCLE / 2,
	MJD_LAST = 200000,
};

#define SYNC	       0xabaddeedu
#define CRC_POLYNOMIAL 0x8005u

static uint32_t
bcd_write(uint32_t number)
{
	uint32_t bcd = 0;

	for (unsigned shift = 0; number; shift += 4, number /= 10)
		bcd |= number % 10 << shift;
	return bcd;
}

static bool
bcd_read(uint32_t bcd, uint32_t *number)
{
	*number = 0;
	for (int shift = 28; shift >= 0; shift -= 4) {
		uint32_t digit = bcd >> shift & 15;

		if (digit > 9)
			return false;
		*number = *number * 10 + digit;
	}
	return true;
}

/*
 * Returns the CRC-16 of the 48 bits of time, highest bit first, start value 0.
 */
static uint32_t
crc_of(uint32_t word2, uint32_t fraction)
{
	uint64_t bits = (uint64_t)word2 << 16 | fraction;
	uint32_t crc = 0;

	for (int i = 47; i >= 0; i--) {
		uint32_t top = crc >> 15 ^ (uint32_t)(bits >> i & 1);

		crc = (crc << 1 & UINT16_MAX) ^ (top ? CRC_POLYNOMIAL : 0);
	}
	return crc;
}

/*
 * Returns the MJD within 500 days of `around` whose last three digits are
 * `day`.
 */
static int64_t
mjd_read(uint32_t day, int64_t around)
{
	int64_t from = around / DAY + MJD_1970;

	if (from < MJD_FIRST)
		from = MJD_FIRST;
	if (from > MJD_LAST)
		from = MJD_LAST;
	from -= MJD_CYCLE / 2;
	return from + (day + MJD_CYCLE - from % MJD_CYCLE) % MJD_CYCLE;
}

static bool
time_read(const struct format_shape *s, const uint8_t *header,
	  struct format_packet *p)
{
	uint32_t word2 = read_le32(header + 8), day, second;

	if (!bcd_read(word2 >> 20, &day) ||
	    !bcd_read(word2 & 0xfffff, &second) || second >= DAY)
		return false;
	p->second = (mjd_read(day, s->around) - MJD_1970) * DAY + second;
	p->frame = read_le32(header + 4) % FRAME_NUMBERS;
	return true;
}

static void
time_write(const struct format_shape *s, const struct format_packet *p,
	   uint8_t *header)
{
	uint64_t second = p->second < 0 ? 0 : (uint64_t)p->second;
	uint32_t day = (second / DAY + MJD_1970) % MJD_CYCLE;
	uint32_t word1 = read_le32(header + 4) & ~(FRAME_NUMBERS - 1u);
	uint32_t word2 = bcd_write(day) << 20 | bcd_write(second % DAY);
	uint32_t fraction = 0;

	if (s->fps && p->frame < s->fps)
		fraction =
		    bcd_write((uint32_t)((uint64_t)p->frame * 10000 / s->fps));
	write_le32(header + 4, word1 | p->frame % FRAME_NUMBERS);
	write_le32(header + 8, word2);
	write_le32(header + 12, fraction << 16 | crc_of(word2, fraction));
}

static int
frame_check(const struct format_shape *s, char *why, uint32_t why_bytes)
{
	if (s->payload != HALF && s->payload != FRAME)
		return format_refuse(why, why_bytes,
				     "payload %u is no Mark5B: a frame of "
				     "10016 bytes comes as two datagrams of "
				     "payload = 5008, or whole with payload = "
				     "10016; a counter before it is the prefix",
				     s->payload);
	if (s->threads_n > 1)
		return format_refuse(why, why_bytes,
				     "a Mark5B stream has no threads; leave "
				     "out threads");
	if (s->fps > FRAME_NUMBERS)
		return format_refuse(why, why_bytes,
				     "%u frames per second are more than the "
				     "32768 that a Mark5B header can count "
				     "(2621 Mb/s of samples)",
				     s->fps);
	return 0;
}

/*
 * Chooses the sequence if the configuration names none: le32@4 in a prefix of 8
 * bytes or more, else the time in the header.  Half frames need the counter,
 * because the second half has no header.
 */
static int
sequence_choose(struct format_shape *s, char *why, uint32_t why_bytes)
{
	if (s->sequence != SEQUENCE_DEFAULT)
		return 0;
	if (s->prefix >= 8) {
		s->sequence = SEQUENCE_LE32;
		s->sequence_at = 4;
		return 0;
	}
	if (s->prefix)
		return format_refuse(why, why_bytes,
				     "a prefix of %u bytes is too short for "
				     "the usual counter, \"le32@4\"; say which "
				     "sequence it has, as \"le32@0\"",
				     s->prefix);
	s->sequence = SEQUENCE_TIME;
	return 0;
}

static int
sequence_check(const struct format_shape *s, char *why, uint32_t why_bytes)
{
	if (s->sequence == SEQUENCE_EDV2)
		return format_refuse(why, why_bytes,
				     "sequence \"edv2\" is in VDIF headers; "
				     "Mark5B has \"le32@4\" in a prefix of 8 "
				     "bytes");
	if (s->parts > 1 && !format_counter_bytes(s))
		return format_refuse(why, why_bytes,
				     "half frames of Mark5B can only be put "
				     "in order by a counter: prefix = 8 with "
				     "sequence \"le32@4\"; whole frames, "
				     "payload = 10016, by \"time\"");
	if (format_counter_end(s))
		return format_refuse(why, why_bytes,
				     "a counter at byte %u is in the Mark5B "
				     "frame, which has no room for one; it "
				     "can be in the prefix of %u bytes",
				     s->sequence_at, s->prefix);
	return 0;
}

static int
shape(struct format_shape *s, char *why, uint32_t why_bytes)
{
	static const uint32_t only = 0; /* a Mark5B stream has one thread, 0 */
	int err;

	if (!s->threads_n) {
		s->threads = &only;
		s->threads_n = 1;
	}
	if (!s->fps)
		s->fps = format_fps(s->rate, 1, FRAME - HEADER, FRAME);
	err = frame_check(s, why, why_bytes);
	if (err)
		return err;
	s->parts = FRAME / s->payload;
	s->header = HEADER;
	err = sequence_choose(s, why, why_bytes);
	if (!err)
		err = sequence_check(s, why, why_bytes);
	if (!err)
		err = format_counter_settle(s, why, why_bytes);
	return err;
}

static bool
sequence_read(const struct format_shape *s, const void *prefix,
	      const void *payload, struct format_packet *p)
{
	uint64_t second = (uint64_t)p->second - (uint64_t)FORMAT_Y2000;

	if (s->sequence != SEQUENCE_TIME)
		return format_counter_read(s, prefix, payload, &p->sequence);
	p->sequence = second * s->fps + p->frame;
	return p->has & FORMAT_TIME && p->frame < s->fps;
}

static void
parse(const struct format_shape *s, const void *prefix, const void *payload,
      struct format_packet *packet)
{
	bool headed = read_le32(payload) == SYNC;

	*packet = (struct format_packet){ .bytes = FRAME };
	if (headed && time_read(s, payload, packet))
		packet->has |= FORMAT_TIME;
	if (s->parts > 1) {
		packet->part = !headed;
		packet->has |= FORMAT_PART;
	}
	if (headed || s->parts > 1)
		packet->has |= FORMAT_READABLE | FORMAT_VALID;
	if (sequence_read(s, prefix, payload, packet))
		packet->has |= FORMAT_SEQUENCE;
}

static void
model(const struct format_shape *s, void *payload)
{
	memset(payload, 0, s->header);
	write_le32(payload, SYNC);
}

static void
stamp(const struct format_shape *s, const struct format_packet *packet,
      void *prefix, void *payload)
{
	if (packet->has & FORMAT_SEQUENCE)
		format_counter_write(s, packet->sequence, prefix, payload);
	if (packet->part == 0 && packet->has & FORMAT_TIME)
		time_write(s, packet, payload);
}

/* A Mark5B header says neither how many channels there are, nor how many bits. */
static void
samples(const struct format_shape *s, const void *payload,
	struct format_samples *out)
{
	(void)s;
	(void)payload;
	*out = (struct format_samples){
		.header = HEADER,
		.coding = SAMPLE_MARK5B,
	};
}

SPATE_PLUGIN const struct format_ops spate_format = {
	.head = {
		.abi = SPATE_ABI,
		.bytes = sizeof(struct format_ops),
		.name = "mark5b",
		.help = "Mark5B frames, whole or in two packets",
	},
	.extension = "m5b",
	.shape = shape,
	.parse = parse,
	.model = model,
	.stamp = stamp,
	.samples = samples,
};
