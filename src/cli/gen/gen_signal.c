/* SPDX-License-Identifier: MIT */
/*
 * A sample is a random number of 16 bits, compared with three bounds: those
 * below which it gives state 0, 1 and 2.  Noise on top of a tone is noise with
 * other bounds, so a table has the bounds for each place in the period of the
 * tones, and there is one such table for each kind of channel.  Of tones whose
 * delay grows it is made anew for each frame.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gen/gen_signal.h"
#include "cli/gen/gen_source.h"
#include "contract/bytes.h"
#include "signal/finding.h"
#include "signal/phase_cal.h"

enum {
	CHANNELS_MOST = 4096, /* of all threads */
	GOOD = FINDING_COUNT, /* the kind of a channel without a defect */
	KINDS,
	BITS = 2,
	/* bytes of a VDIF header, the only one that tells defects */
	VDIF_HEADER = 32,
	WORD4 = 16,
	WORD5 = 20,
	MASK = 24,     /* of EDV 4 */
	PPS_STEP = 512 /* periods of 256 MHz: 2 us */
};

#define THRESHOLD 0.9816 /* of the sampler, in rms: the best one */
#define DEAD_RMS  0.25
#define LOW_RMS	  0.45
#define DRIFT_RMS 0.8 /* 2 dB, which is not wrong in itself */
#define OFFSET	  0.4

struct gen_bounds {
	uint32_t below[3]; /* 0 to 65536 */
};

struct gen_signal {
	struct gen_signal_args args;
	const struct format_shape *shape;
	int64_t second; /* time of the tables, of tones that drift */
	uint32_t frame;
	struct format_samples layout;
	uint64_t seed;
	uint32_t in_frame; /* samples of a channel */
	uint32_t period;   /* samples; 1: there are no tones */
	struct gen_bounds
	    *bounds[KINDS];	     /* `period` of them, of kinds in use */
	uint8_t kind[CHANNELS_MOST]; /* by thread, then by channel */
};

static int
refuse(struct fault *fault, const char *what, const char *hint)
{
	fault_set(fault, -EINVAL, "usage", "%s", what);
	fault_hint(fault, "%s", hint);
	return -EINVAL;
}

/* ---- kinds of channels ------------------------------------------------- */

/* Returns how much later the tones come in the frame of the tables, s. */
static double
delay_of(const struct gen_signal *g)
{
	double t =
	    (double)(g->second % 86400) + g->frame / (double)g->shape->fps;

	return (double)g->args.tone_delay / 1e9 + g->args.tone_drift * t;
}

/* Returns the sum of the tones at a place of the period. */
static double
tones_at(const struct gen_signal *g, uint32_t place)
{
	const struct gen_signal_args *a = &g->args;
	double rate = (double)g->shape->fps * g->in_frame, sum = 0;
	double phase = (double)a->tone_phase * M_PI / 180;
	double t = place / rate - delay_of(g);

	for (double hz = (double)a->tones; a->tones && hz < rate / 2;
	     hz += (double)a->tones)
		sum += a->tone_level * cos(2 * M_PI * hz * t + phase);
	return sum;
}

/* Returns the bound below which a random number means less than x, in rms. */
static uint32_t
bound(double x)
{
	return (uint32_t)lround(65536 * 0.5 * erfc(-x / M_SQRT2));
}

static struct gen_bounds
bounds_of(unsigned kind, double tone)
{
	double zero = bound(-tone);
	double rms = 1;

	switch (kind) {
	case FINDING_CONSTANT: return (struct gen_bounds){ { 0, 0, 65536 } };
	case FINDING_BIT_MISSING:
		return (struct gen_bounds){ { (uint32_t)zero, (uint32_t)zero,
					      (uint32_t)zero } };
	case FINDING_DEAD:
		rms = DEAD_RMS;
		tone = 0;
		break;
	case FINDING_TONES_GONE: tone = 0; break;
	case FINDING_LEVELS: rms = LOW_RMS; break;
	case FINDING_DRIFT: rms = DRIFT_RMS; break;
	case FINDING_DC: tone += OFFSET; break;
	default: break;
	}
	return (struct gen_bounds){ { bound((-THRESHOLD - tone) / rms),
				      bound(-tone / rms),
				      bound((THRESHOLD - tone) / rms) } };
}

static void
bounds_make(struct gen_signal *g, unsigned kind)
{
	for (uint32_t i = 0; i < g->period; i++)
		g->bounds[kind][i] = bounds_of(kind, tones_at(g, i));
}

static int
kind_make(struct gen_signal *g, unsigned kind)
{
	if (g->bounds[kind])
		return 0;
	g->bounds[kind] = calloc(g->period, sizeof *g->bounds[kind]);
	if (!g->bounds[kind])
		return -ENOMEM;
	bounds_make(g, kind);
	return 0;
}

/* Makes the tables those of a frame. */
static void
bounds_follow(struct gen_signal *g, const struct format_packet *p)
{
	if (g->args.tone_drift <= 0 ||
	    (g->second == p->second && g->frame == p->frame))
		return;
	g->second = p->second;
	g->frame = p->frame;
	for (unsigned i = 0; i < KINDS; i++)
		if (g->bounds[i])
			bounds_make(g, i);
}

static unsigned
kind_of(const char *name, size_t length)
{
	unsigned kind = 0;

	while (kind < FINDING_COUNT &&
	       (strlen(finding_name(kind)) != length ||
		strncmp(finding_name(kind), name, length) != 0))
		kind++;
	return kind;
}

/* Tells whether headers can have a defect of this kind. */
static bool
has_room(const struct gen_signal *g, unsigned kind)
{
	if (kind == FINDING_MARKED)
		return g->layout.valid_bits > 0;
	if (kind == FINDING_PPS)
		return g->layout.header == VDIF_HEADER &&
		       !g->layout.valid_bits && !g->layout.rate;
	return kind != FINDING_RATE;
}

/* Reads "dead=0/3". */
static int
defect_read(struct gen_signal *g, const char *text, struct fault *fault)
{
	const struct format_shape *s = g->shape;
	const char *at = strchr(text, '=');
	unsigned thread, channel, kind, index = 0;
	char rest;

	kind = kind_of(text, at ? (size_t)(at - text) : 0);
	if (kind == GOOD || !has_room(g, kind) ||
	    sscanf(at + 1, "%u/%u%c", &thread, &channel, &rest) != 2 ||
	    channel >= g->layout.channels)
		goto wrong;
	while (index < s->threads_n && s->threads[index] != thread)
		index++;
	/* the same as the channel before, which has to be in the thread */
	if (index == s->threads_n || (kind == FINDING_SAME && !channel))
		goto wrong;
	g->kind[index * g->layout.channels + channel] = (uint8_t)kind;
	return 0;
wrong:
	fault_set(fault, -EINVAL, "usage", "--defect %s", text);
	fault_why(fault, "it is no name of a finding with a thread and a "
			 "channel that are there");
	fault_hint(fault,
		   "--defect dead=0/3; or constant, stuck, bit-missing, "
		   "dc, levels, drift, tones-gone, or same, as the channel "
		   "before; of vdif marked with -o edv=4, pps without edv");
	return -EINVAL;
}

/* ---- opening ----------------------------------------------------------- */

static int
layout_read(struct gen_signal *g, const struct gen_signal_args *a,
	    const struct format_ops *format, struct fault *fault)
{
	const struct format_shape *s = g->shape;
	struct format_samples *l = &g->layout;
	uint8_t *payload;

	if (!format->samples || !format->model)
		return refuse(fault, "this format knows of no samples",
			      "--signal is for vdif and mark5b");
	payload = calloc(1, s->payload);
	if (!payload)
		return fault_no_memory(fault);
	format->model(s, payload);
	format->samples(s, payload, l);
	free(payload);
	if (!l->bits)
		l->bits = BITS;
	if (!l->channels)
		l->channels =
		    a->channels <= CHANNELS_MOST ? (uint32_t)a->channels : 0;
	if (l->bits != BITS || l->complex)
		return refuse(fault, "a signal is of real samples of 2 bits",
			      "-o bits=2 -o complex=false, the defaults");
	if (!l->channels || l->channels > CHANNELS_MOST / s->threads_n)
		return refuse(fault, "the number of channels is out of bounds",
			      "--channels says it of a format whose headers "
			      "do not; all threads have 4096 at most");
	g->in_frame =
	    (s->payload * s->parts - l->header) * (8 / BITS) / l->channels;
	return 0;
}

static int
period_find(struct gen_signal *g, const struct gen_signal_args *a,
	    struct fault *fault)
{
	const struct phase_cal_comb comb = {
		.rate = (uint64_t)g->shape->fps * g->in_frame,
		.spacing = a->tones,
	};

	g->period = a->tones ? phase_cal_period(&comb) : 1;
	if (g->period)
		return 0;
	fault_set(fault, -EINVAL, "usage",
		  "tones every %" PRIu64 " Hz do not repeat within %d samples",
		  a->tones, PHASE_CAL_PERIOD);
	fault_why(fault, "there are %" PRIu64 " samples per second", comb.rate);
	fault_hint(fault,
		   "--fps sets the frames per second, of %" PRIu32
		   " samples each",
		   g->in_frame);
	return -EINVAL;
}

int
gen_signal_open(struct gen_signal **out, const struct gen_signal_args *a,
		const struct format_ops *format,
		const struct format_shape *shape, uint64_t seed,
		struct fault *fault)
{
	struct gen_signal *g = calloc(1, sizeof *g);
	int err;

	if (!g)
		return fault_no_memory(fault);
	g->args = *a;
	g->shape = shape;
	g->seed = seed;
	memset(g->kind, GOOD, sizeof g->kind);
	err = layout_read(g, a, format, fault);
	if (!err)
		err = period_find(g, a, fault);
	for (unsigned i = 0; i < a->defects.n && !err; i++)
		err = defect_read(g, a->defects.text[i], fault);
	for (unsigned i = 0; i < CHANNELS_MOST && !err; i++)
		if (kind_make(g, g->kind[i]))
			err = fault_no_memory(fault);
	if (err) {
		gen_signal_close(g);
		return err;
	}
	*out = g;
	return 0;
}

void
gen_signal_close(struct gen_signal *g)
{
	if (!g)
		return;
	for (unsigned i = 0; i < KINDS; i++)
		free(g->bounds[i]);
	free(g);
}

/* ---- samples ----------------------------------------------------------- */

static unsigned
thread_index(const struct gen_signal *g, uint32_t thread)
{
	unsigned i = 0;

	while (i + 1 < g->shape->threads_n && g->shape->threads[i] != thread)
		i++;
	return i;
}

/* Returns what the samples of a channel in a frame are made of. */
static uint64_t
key_of(const struct gen_signal *g, unsigned port, unsigned channel,
       const struct format_packet *p)
{
	uint64_t key = mix64(g->seed ^ (uint64_t)port << 48);

	if (g->kind[channel] == FINDING_SAME)
		channel--;
	key = mix64(key ^ channel);
	if (g->kind[channel] == FINDING_STUCK)
		return key;
	return mix64(key ^ mix64((uint64_t)p->second << 24 ^ p->frame));
}

static unsigned
state_make(const struct gen_bounds *b, uint64_t key, uint32_t sample)
{
	uint64_t four = mix64(key ^ sample / 4);
	uint32_t x = four >> sample % 4 * 16 & UINT16_MAX;

	return (x >= b->below[0]) + (x >= b->below[1]) + (x >= b->below[2]);
}

/* Returns the bits of a state on the wire. */
static unsigned
code_of(const struct gen_signal *g, unsigned state)
{
	if (g->layout.coding == SAMPLE_MARK5B)
		return state >> 1 | (state & 1) << 1;
	return state;
}

void
gen_signal_make(struct gen_signal *g, unsigned port,
		const struct format_packet *p, uint8_t *payload)
{
	const struct format_shape *s = g->shape;
	const struct format_samples *l = &g->layout;
	uint32_t channels = l->channels, head = p->part ? 0 : l->header;
	uint32_t first = (p->part * s->payload + head - l->header) * (8 / BITS);
	uint32_t end = first + (s->payload - head) * (8 / BITS);
	unsigned base = thread_index(g, p->thread) * channels;
	uint64_t from = (uint64_t)p->frame * g->in_frame;

	bounds_follow(g, p);
	memset(payload + head, 0, s->payload - head);
	for (unsigned c = 0; c < channels; c++) {
		uint64_t key = key_of(g, port, base + c, p);
		unsigned kind = g->kind[base + c];
		/* sample i of the channel is number i * channels + c of all */
		uint32_t i = (first + channels - 1 - c) / channels;
		uint32_t place = (uint32_t)((from + i) % g->period);

		for (uint32_t e = i * channels + c; e < end;
		     e += channels, i++) {
			const struct gen_bounds *b = &g->bounds[kind][place];
			unsigned code = code_of(g, state_make(b, key, i));

			payload[head + (e - first) / 4] |=
			    (uint8_t)(code << (e - first) % 4 * BITS);
			place = place + 1 == g->period ? 0 : place + 1;
		}
	}
}

void
gen_signal_header(const struct gen_signal *g, const struct format_packet *p,
		  uint8_t *payload)
{
	const struct format_samples *l = &g->layout;
	unsigned base = thread_index(g, p->thread) * l->channels;
	uint64_t mask = l->valid;
	bool pps = false;

	for (unsigned c = 0; c < l->channels; c++) {
		unsigned kind = g->kind[base + c];

		pps = pps || kind == FINDING_PPS;
		if (kind == FINDING_MARKED)
			mask &= ~(1ull
				  << (uint64_t)c * l->valid_bits / l->channels);
	}
	/* in half of the frames, whichever of them are looked at */
	if (l->valid_bits)
		write_le64(payload + MASK,
			   mix64(p->frame) & 1 ? mask : l->valid);
	if (pps) {
		write_le32(payload + WORD4, 2u << 24);
		write_le32(payload + WORD5, p->second & 1 ? PPS_STEP : 0);
	}
}
