/* SPDX-License-Identifier: MIT */
/*
 * vdif: one VDIF frame in each packet, header included.  The header is eight
 * little-endian words, or the first four of them if it is `legacy`.
 *
 *   word 0   0-29 seconds from the epoch, 30 legacy, 31 invalid
 *        1   0-23 frame in the second, of its thread; 24-29 epoch
 *        2   0-23 bytes of the frame / 8, 24-28 log2(channels), 29-31 version
 *        3   0-15 station, 16-25 thread, 26-30 bits - 1, 31 complex
 *        4   24-31 EDV, the kind of words 4 to 7
 *
 *   EDV 1, 3   4   0-22 sample rate, 23 in MHz, else kHz
 *              5   0xacabfeed
 *       2      4   4-23 0xa5ea5 of ALMA, 0 of R2DBE
 *              5   R2DBE: how much later the PPS of GPS is, in periods of 256 MHz
 *              6-7 a serial number of the packet, u64
 *       4      4   16-23 bits of the mask
 *              5   0xacabfeed
 *              6-7 mask: a bit of 0 marks channels that are no data
 *
 * The epoch is a half-year since 2000 in six bits, which wrap every 32 years,
 * first in 2032; the epoch nearest to the shape's `around` is taken.  Leap
 * seconds are not looked up: there has been none since 2017, and senders use
 * the epoch of the current half-year.
 *
 * A header is believed if its length field is the packet's length.  Zeros, text
 * and fill all fail that test.  The legacy bit is read from each header,
 * because only EDV 2 depends on it.
 *
 * SEQUENCE_TIME numbers the frames of all threads since 2000:
 *
 *   ((second - 2000) x fps + frame) x threads + index of thread in `threads`
 *
 * A frame has no sequence if its thread is not in the list or its frame number
 * is not below fps: any number would be that of another frame.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "contract/defaults.h"

enum {
	HEADER = 32,
	LEGACY_HEADER = 16,
	UNIT = 8,	/* bytes: unit of the length field */
	SERIAL_AT = 24, /* byte of the serial number of EDV 2 */
	VERSION = 1,
	EPOCHS = 64,	     /* half-years before the field wraps */
	HALVES = 3 * EPOCHS, /* half-years up to 2095; 2100 has no leap day */
	DAY = 86400,
};

#define INVALID_BIT	(1u << 31)
#define LEGACY_BIT	(1u << 30)
#define SECONDS_MASK	0x3fffffffu
#define LOW24_MASK	0xffffffu
#define EPOCH_MASK	0x3fu
#define THREAD_MASK	0x3ffu
#define SYNC		0xacabfeedu /* of EDV 1, 3 and 4 */
#define SUBVERSION	0xfffffu
#define SUBVERSION_ALMA 0xa5ea5u /* readers look for it */
#define RATE_MASK	0x7fffffu
#define RATE_MHZ_BIT	(1u << 23)
#define R2DBE_PERIOD_NS (1e3 / 256)
#define SIXTEEN_YEARS	(INT64_C(16) * 1461 / 4 * DAY)

/*
 * Options of the headers that model() makes.  They do not matter to a
 * recording, except `legacy`.
 */
struct vdif_options {
	const char *station;
	uint32_t bits;
	uint32_t channels;
	bool complex;
	uint32_t edv;
	bool legacy;
};

static const struct vdif_options usual = { "Sp", .bits = 2, .channels = 1 };

#define OF(member) offsetof(struct vdif_options, member)

static const struct option_key options[] = {
	{ "station", OPTION_TEXT, OF(station), "Sp",
	  .help = "two letters or a number, in headers made here" },
	{ "bits", OPTION_COUNT, OF(bits), "2", .min = 1, .max = 32,
	  .help = "bits per sample, in headers made here" },
	{ "channels", OPTION_COUNT, OF(channels), "1", .min = 1, .max = 1 << 30,
	  .help = "channels, a power of two, in headers made here" },
	{ "complex", OPTION_FLAG, OF(complex), "false",
	  .help = "complex samples, in headers made here" },
	{ "edv", OPTION_COUNT, OF(edv), "0", .max = 4,
	  .help = "extended data version, in headers made here" },
	{ "legacy", OPTION_FLAG, OF(legacy), "false",
	  .help = "headers are 16 bytes instead of 32" },
	{ .name = NULL },
};

static const struct vdif_options *
options_of(const struct format_shape *s)
{
	return s->options ? s->options : &usual;
}

/*
 * Reads a station: two letters are two bytes, the first one high; digits are a
 * number.
 */
static bool
station_read(const char *text, uint32_t *station)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (*text >= '0' && *text <= '9' && !*end) {
		*station = (uint32_t)number;
		return number <= UINT16_MAX;
	}
	if (strlen(text) != 2 || text[0] < '0' || text[1] < ' ')
		return false;
	*station = (uint32_t)text[0] << 8 | (uint32_t)text[1];
	return true;
}

/*
 * Returns the UTC second at which a half-year begins; `half` counts from 2000
 * and is below HALVES.
 */
static int64_t
half_start(uint32_t half)
{
	uint32_t year = half / 2;
	int64_t days = year * 365 + (year + 3) / 4;

	if (half % 2)
		days += 181 + (year % 4 == 0);
	return FORMAT_Y2000 + days * DAY;
}

/*
 * Returns the half-year that a second is in; the first or last one for a second
 * outside of all.
 */
static uint32_t
half_of(int64_t second)
{
	uint32_t half = 0;

	while (half + 1 < HALVES && half_start(half + 1) <= second)
		half++;
	return half;
}

/*
 * Returns the UTC second that is `seconds` behind the start of an epoch, from
 * the 32-year period nearest to `around`.
 */
static int64_t
second_read(uint32_t epoch, uint32_t seconds, int64_t around)
{
	uint32_t half = epoch;

	while (half + EPOCHS < HALVES &&
	       around > half_start(half + EPOCHS) + seconds - SIXTEEN_YEARS)
		half += EPOCHS;
	return half_start(half) + seconds;
}

static void
bits_write(void *word, uint32_t mask, uint32_t bits)
{
	write_le32(word, (read_le32(word) & ~mask) | (bits & mask));
}

/*
 * Tells whether a header with this half-year as its epoch would be read back as
 * `second`.
 */
static bool
reads_back(uint32_t half, int64_t second, int64_t around)
{
	int64_t start = half_start(half);

	if (second < start || second - start > SECONDS_MASK)
		return false;
	return second_read(half % EPOCHS, (uint32_t)(second - start), around) ==
	       second;
}

/*
 * Writes a UTC second.  The epoch of the header is kept if it can express the
 * second, so that it stays the same as in the frames around.
 */
static void
second_write(uint8_t *header, int64_t second, int64_t around)
{
	uint32_t half = read_le32(header + 4) >> 24 & EPOCH_MASK;
	uint64_t seconds;

	while (half < HALVES && !reads_back(half, second, around))
		half += EPOCHS;
	if (half >= HALVES)
		half = half_of(second);
	seconds = (uint64_t)second - (uint64_t)half_start(half);
	bits_write(header, SECONDS_MASK, (uint32_t)seconds);
	bits_write(header + 4, EPOCH_MASK << 24, half << 24);
}

static int
payload_check(const struct format_shape *s, char *why, uint32_t why_bytes)
{
	uint32_t header = options_of(s)->legacy ? LEGACY_HEADER : HEADER;

	if (s->payload % UNIT || s->payload <= header ||
	    s->payload / UNIT > LOW24_MASK)
		return format_refuse(
		    why, why_bytes,
		    "payload %u is no VDIF frame: that is a multiple of 8, "
		    "the header of %u bytes included; one with 8000 bytes of "
		    "data has payload = %u",
		    s->payload, header, 8000 + header);
	return 0;
}

static int
options_check(const struct format_shape *s, char *why, uint32_t why_bytes)
{
	const struct vdif_options *o = options_of(s);
	uint32_t station;

	if (!station_read(o->station, &station))
		return format_refuse(
		    why, why_bytes,
		    "station \"%s\" is neither two letters, as \"Ef\", nor a "
		    "number up to 65535",
		    o->station);
	if (!o->channels || o->channels & (o->channels - 1))
		return format_refuse(
		    why, why_bytes,
		    "%u channels are not a power of two, as a VDIF header "
		    "needs them",
		    o->channels);
	if (o->legacy && (o->edv || s->sequence == SEQUENCE_EDV2))
		return format_refuse(
		    why, why_bytes,
		    "a legacy header of 16 bytes has no EDV; leave out either "
		    "legacy, or edv");
	if (o->edv && o->edv != 2 && s->sequence == SEQUENCE_EDV2)
		return format_refuse(
		    why, why_bytes,
		    "sequence \"edv2\" is in headers with edv = 2, not %u",
		    o->edv);
	return 0;
}

static int
threads_check(const struct format_shape *s, char *why, uint32_t why_bytes)
{
	for (uint32_t i = 0; s->threads && i < s->threads_n; i++)
		if (s->threads[i] > THREAD_MASK)
			return format_refuse(
			    why, why_bytes,
			    "thread %u: VDIF numbers threads from 0 to 1023",
			    s->threads[i]);
	if (s->fps > LOW24_MASK + 1)
		return format_refuse(
		    why, why_bytes,
		    "%u frames per second and thread are more than a VDIF "
		    "header can count; larger frames would do",
		    s->fps);
	return 0;
}

/*
 * Settles where the sequence is.  The default with a prefix is le64@0: FiLa10G,
 * DBBC3 and jive5ab send a prefix that is a counter of 8 bytes.
 */
static int
sequence_settle(struct format_shape *s, char *why, uint32_t why_bytes)
{
	uint32_t end;

	if (s->sequence == SEQUENCE_DEFAULT && s->prefix && s->prefix < 8)
		return format_refuse(
		    why, why_bytes,
		    "a prefix of %u bytes is too short for the usual counter "
		    "of 8; say which sequence it has, as \"le32@0\" or "
		    "\"time\"",
		    s->prefix);
	if (s->sequence == SEQUENCE_DEFAULT) {
		s->sequence = s->prefix ? SEQUENCE_LE64 : SEQUENCE_TIME;
		s->sequence_at = 0;
	}
	end = format_counter_end(s);
	if (end &&
	    (end > s->header || end - format_counter_bytes(s) < LEGACY_HEADER))
		return format_refuse(
		    why, why_bytes,
		    "a counter at byte %u is in the time or the data of a "
		    "VDIF frame; without a prefix, sequence is \"time\" or "
		    "\"edv2\"",
		    s->sequence_at);
	return format_counter_settle(s, why, why_bytes);
}

static int
shape(struct format_shape *s, char *why, uint32_t why_bytes)
{
	int err = payload_check(s, why, why_bytes);

	if (!err)
		err = options_check(s, why, why_bytes);
	if (err)
		return err;
	s->parts = 1;
	s->header = options_of(s)->legacy ? LEGACY_HEADER : HEADER;
	if (!s->fps)
		s->fps = format_fps(s->rate, s->threads_n,
				    s->payload - s->header, s->payload);
	err = threads_check(s, why, why_bytes);
	if (!err)
		err = sequence_settle(s, why, why_bytes);
	return err;
}

static bool
sequence_of_time(const struct format_shape *s, struct format_packet *p)
{
	uint64_t count = (uint64_t)(p->second - FORMAT_Y2000) * s->fps;

	if (p->frame >= s->fps || !s->threads)
		return false;
	for (uint32_t i = 0; i < s->threads_n; i++)
		if (s->threads[i] == p->thread) {
			p->sequence = (count + p->frame) * s->threads_n + i;
			return true;
		}
	return false;
}

static bool
has_serial(const struct format_shape *s, const uint8_t *header)
{
	return s->sequence == SEQUENCE_EDV2 &&
	       !(read_le32(header) & LEGACY_BIT) &&
	       read_le32(header + 16) >> 24 == 2;
}

static bool
sequence_read(const struct format_shape *s, const void *prefix,
	      const uint8_t *header, struct format_packet *p)
{
	if (format_counter_read(s, prefix, header, &p->sequence))
		return true;
	if (!(p->has & FORMAT_READABLE))
		return false;
	if (s->sequence == SEQUENCE_TIME)
		return sequence_of_time(s, p);
	if (!has_serial(s, header))
		return false;
	p->sequence = read_le64(header + SERIAL_AT);
	return true;
}

static void
header_read(const struct format_shape *s, const uint8_t *header,
	    struct format_packet *p)
{
	uint32_t word0 = read_le32(header), word1 = read_le32(header + 4);
	uint32_t word3 = read_le32(header + 12);

	p->has = FORMAT_READABLE | FORMAT_TIME;
	if (!(word0 & INVALID_BIT))
		p->has |= FORMAT_VALID;
	p->second = second_read(word1 >> 24 & EPOCH_MASK, word0 & SECONDS_MASK,
				s->around);
	p->frame = word1 & LOW24_MASK;
	p->thread = word3 >> 16 & THREAD_MASK;
	p->station = word3 & UINT16_MAX;
	p->bytes = s->payload;
}

static void
parse(const struct format_shape *s, const void *prefix, const void *payload,
      struct format_packet *packet)
{
	const uint8_t *header = payload;
	uint32_t units = read_le32(header + 8) & LOW24_MASK;

	*packet = (struct format_packet){ .has = 0 };
	if (units * UNIT == s->payload)
		header_read(s, header, packet);
	if (sequence_read(s, prefix, header, packet))
		packet->has |= FORMAT_SEQUENCE;
}

/* Returns the sample rate as a header has it: of EDV 3, half of it, for real
 * samples; 0: it is not known, or no whole number of kHz. */
static uint32_t
rate_word(const struct format_shape *s, const struct vdif_options *o,
	  uint32_t edv)
{
	uint64_t bits = (uint64_t)o->bits * o->channels * (o->complex ? 2 : 1);
	uint64_t rate = (s->payload - s->header) * UINT64_C(8) / bits * s->fps;

	if (edv == 3 && !o->complex)
		rate /= 2;
	if (rate % 1000 == 0 && rate / 1000 <= RATE_MASK)
		return (uint32_t)(rate / 1000);
	if (rate % 1000000 == 0 && rate / 1000000 <= RATE_MASK)
		return (uint32_t)(rate / 1000000) | RATE_MHZ_BIT;
	return 0;
}

/* Writes words 4 to 7. */
static void
extension_write(const struct format_shape *s, const struct vdif_options *o,
		uint32_t edv, uint8_t *words)
{
	uint32_t parts = o->channels < 64 ? o->channels : 64;

	write_le32(words, edv << 24);
	if (edv == 2)
		bits_write(words, SUBVERSION << 4, SUBVERSION_ALMA << 4);
	else
		write_le32(words + 4, SYNC);
	if (edv == 1 || edv == 3)
		bits_write(words, LOW24_MASK, rate_word(s, o, edv));
	if (edv == 4) {
		bits_write(words, LOW24_MASK, parts << 16);
		write_le64(words + 8, UINT64_MAX >> (64 - parts));
	}
}

static void
model(const struct format_shape *s, void *payload)
{
	const struct vdif_options *o = options_of(s);
	uint32_t edv = s->sequence == SEQUENCE_EDV2 ? 2 : o->edv;
	uint32_t epoch = half_of(s->around) % EPOCHS, station = 0;
	uint32_t channels = (uint32_t)__builtin_ctz(o->channels);
	uint8_t *header = payload;

	station_read(o->station, &station);
	memset(header, 0, s->header);
	write_le32(header, o->legacy ? LEGACY_BIT : 0);
	write_le32(header + 4, epoch << 24);
	write_le32(header + 8,
		   s->payload / UNIT | channels << 24 | VERSION << 29);
	write_le32(header + 12,
		   station | (o->bits - 1) << 26 | (uint32_t)o->complex << 31);
	if (edv)
		extension_write(s, o, edv, header + LEGACY_HEADER);
}

static void
stamp(const struct format_shape *s, const struct format_packet *packet,
      void *prefix, void *payload)
{
	uint32_t valid = packet->has & FORMAT_VALID;
	uint8_t *header = payload;

	bits_write(header, INVALID_BIT, valid ? 0 : INVALID_BIT);
	if (packet->has & (FORMAT_READABLE | FORMAT_TIME))
		bits_write(header + 12, THREAD_MASK << 16,
			   packet->thread << 16);
	if (packet->has & FORMAT_TIME) {
		second_write(header, packet->second, s->around);
		bits_write(header + 4, LOW24_MASK, packet->frame);
	}
	if (!(packet->has & FORMAT_SEQUENCE))
		return;
	format_counter_write(s, packet->sequence, prefix, payload);
	if (has_serial(s, header))
		write_le64(header + SERIAL_AT, packet->sequence);
}

/* Reads what words 4 to 7 say of who made the samples. */
static void
extension_read(const uint8_t *words, struct format_samples *out)
{
	uint32_t word4 = read_le32(words), word5 = read_le32(words + 4);
	uint32_t edv = word4 >> 24;
	unsigned parts = word4 >> 16 & 0xff;

	if (edv == 2 && !(word4 >> 4 & SUBVERSION)) {
		out->has_pps = true;
		out->pps_ns = (int32_t)word5 * R2DBE_PERIOD_NS;
	}
	if (word5 != SYNC)
		return;
	if (edv == 1 || edv == 3)
		out->rate = (word4 & RATE_MASK) * UINT64_C(1000) *
			    (word4 & RATE_MHZ_BIT ? 1000 : 1);
	if (edv == 4 && parts <= 64) {
		out->valid_bits = parts;
		out->valid = read_le64(words + 8);
	}
}

static void
samples(const struct format_shape *s, const void *payload,
	struct format_samples *out)
{
	const uint8_t *header = payload;
	uint32_t word2 = read_le32(header + 8), word3 = read_le32(header + 12);
	bool legacy = read_le32(header) & LEGACY_BIT;

	(void)s;
	*out = (struct format_samples){
		.header = legacy ? LEGACY_HEADER : HEADER,
		.bits = (word3 >> 26 & 31) + 1,
		.channels = UINT32_C(1) << (word2 >> 24 & 31),
		.complex = word3 >> 31,
	};
	if (!legacy)
		extension_read(header + LEGACY_HEADER, out);
}

SPATE_PLUGIN const struct format_ops spate_format = {
	.head = {
		.abi = SPATE_ABI,
		.bytes = sizeof(struct format_ops),
		.name = "vdif",
		.help = "VDIF frames, one in each packet",
		.options = options,
		.options_bytes = sizeof(struct vdif_options),
	},
	.extension = "vdif",
	.shape = shape,
	.parse = parse,
	.model = model,
	.stamp = stamp,
	.samples = samples,
};
