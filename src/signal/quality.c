/* SPDX-License-Identifier: MIT */
/*
 * Channels with the same samples are found by digests: each channel keeps those
 * of its last frames in a small table, at a place that the frame's time chooses.
 * Two channels are the same if they were seen at the same times, and their
 * digests agree at each.  One whose own digests are all the same repeats itself.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/defaults.h"
#include "signal/finding.h"
#include "signal/levels.h"
#include "signal/phase_cal.h"
#include "signal/quality.h"
#include "signal/samples.h"
#include "signal/spectrum.h"

enum {
	DIGEST_SHIFT = 58,
	DIGESTS = 1 << (64 - DIGEST_SHIFT), /* of a channel */
	DIGESTS_ENOUGH = 4,   /* that agree, to be no coincidence */
	DIGEST_SAMPLES = 256, /* of a frame */
	DIGEST_BITS = 64, /* least bits of samples that are worth a digest */
	STATES_SHOWN = 256,
};

/* A channel lacks its tones only when so many samples were seen that tones of this
 * amplitude, in rms, would have shown. */
#define TONE_WEAK 0.01

/* Nanoseconds; a pulse of GPS wavers by some 10 ns. */
#define PPS_MOVES 1000

struct quality_channel {
	struct levels levels[2]; /* of the real or only part, the imaginary */
	struct spectrum spectrum;
	struct phase_cal *tones; /* NULL: none are to be there */
	struct digest {
		int64_t time; /* 0: none */
		uint64_t hash;
	} digest[DIGESTS];
	uint64_t marked; /* frames in which it is no data */
	unsigned findings;
};

struct quality_thread {
	unsigned sub;
	uint32_t number;
	uint64_t frames, sample_rate;
	bool
	    rate_given_wrong; /* quality_args::sample_rate: frames have another */
	bool rate_differs;    /* a header has another sample rate */
	/* ns by which the PPS from outside is later than the sampler's, as
	 * headers say: last, least, most; NAN: they say nothing */
	double pps, pps_least, pps_most;
	struct samples samples;
	size_t in_frame; /* samples of a channel */
	struct spectrum_plan *plan;
	struct quality_channel *channel;
};

struct quality {
	struct quality_args args;
	struct quality_counts counts;
	uint32_t bytes; /* of a frame */
	unsigned channels;
	struct quality_thread *thread;
	unsigned threads;
	/* buffers for one frame, made with the first: all states; those, and
	 * values, of a channel */
	uint16_t *all, *state;
	float *value[2];
};

#define X(...) KEY_ENTRY(struct quality_line, __VA_ARGS__)
const struct key quality_keys[] = { QUALITY_KEYS(X){ .name = NULL } };
#undef X

/* ---- opening ----------------------------------------------------------- */

int
quality_open(struct quality **out, const struct quality_args *args, char *why,
	     uint32_t why_bytes)
{
	struct quality *q;

	if (!args->format->samples)
		return format_refuse(why, why_bytes,
				     "the format %s knows of no samples",
				     args->format->head.name);
	q = calloc(1, sizeof *q);
	if (!q)
		return -ENOMEM;
	q->args = *args;
	q->bytes = args->shape->payload * args->shape->parts;
	*out = q;
	return 0;
}

/* Makes buffers for the most there can be: one channel, one bit per sample. */
static int
buffers_make(struct quality *q)
{
	if (!q->all)
		q->all = calloc((size_t)q->bytes * 8, sizeof *q->all);
	if (!q->state)
		q->state = calloc((size_t)q->bytes * 8, sizeof *q->state);
	for (unsigned i = 0; i < 2; i++) {
		if (!q->value[i])
			q->value[i] =
			    calloc((size_t)q->bytes * 8, sizeof **q->value);
	}
	return q->all && q->state && q->value[0] && q->value[1] ? 0 : -ENOMEM;
}

static void
thread_close(struct quality_thread *t)
{
	for (unsigned i = 0; t->channel && i < t->samples.layout.channels;
	     i++) {
		levels_close(&t->channel[i].levels[0]);
		levels_close(&t->channel[i].levels[1]);
		phase_cal_close(t->channel[i].tones);
	}
	free(t->channel);
	spectrum_plan_close(t->plan);
	samples_close(&t->samples);
}

void
quality_close(struct quality *q)
{
	if (!q)
		return;
	for (unsigned i = 0; i < q->threads; i++)
		thread_close(&q->thread[i]);
	free(q->thread);
	free(q->all);
	free(q->state);
	free(q->value[0]);
	free(q->value[1]);
	free(q);
}

struct quality_counts
quality_counts(const struct quality *q)
{
	return q->counts;
}

/* ---- threads ----------------------------------------------------------- */

/* Reads how a frame's samples lie, with what its header does not say. */
static void
layout_read(const struct quality *q, const void *frame,
	    struct format_samples *layout)
{
	q->args.format->samples(q->args.shape, frame, layout);
	if (!layout->bits)
		layout->bits = q->args.bits;
	if (!layout->channels)
		layout->channels = q->args.channels;
}

static int
layout_check(const struct quality *q, const struct format_samples *l, char *why,
	     uint32_t why_bytes)
{
	if (!l->bits || !l->channels)
		return format_refuse(why, why_bytes,
				     "a %s header does not say how many "
				     "channels there are, and of how many "
				     "bits: --channels 16 --bits 2",
				     q->args.format->head.name);
	if (l->channels > QUALITY_CHANNELS - q->channels)
		return format_refuse(why, why_bytes,
				     "there are more than %d channels",
				     QUALITY_CHANNELS);
	return 0;
}

static int
comb_check(const struct quality *q, const struct phase_cal_comb *comb,
	   char *why, uint32_t why_bytes)
{
	if (!q->args.tones || phase_cal_period(comb))
		return 0;
	if (!comb->rate)
		return format_refuse(why, why_bytes,
				     "the sample rate is not known: "
				     "--sample-rate HZ");
	return format_refuse(why, why_bytes,
			     "tones every %" PRIu64 " Hz from %" PRIu64
			     " Hz on do not repeat within %d samples at "
			     "%" PRIu64 " samples per second, or "
			     "--tone-offset is not below --tones",
			     comb->spacing, comb->offset, PHASE_CAL_PERIOD,
			     comb->rate);
}

static int
channels_make(const struct quality *q, struct quality_thread *t,
	      const struct phase_cal_comb *comb)
{
	const struct format_samples *l = &t->samples.layout;
	int err = 0;

	t->channel = calloc(l->channels, sizeof *t->channel);
	if (!t->channel)
		return -ENOMEM;
	for (unsigned i = 0; i < l->channels && !err; i++) {
		struct quality_channel *c = &t->channel[i];

		for (unsigned part = 0; part < t->samples.parts && !err; part++)
			err = levels_open(&c->levels[part], &t->samples);
		if (q->args.tones && !err)
			err = phase_cal_open(&c->tones, comb, l->complex);
	}
	return err;
}

static int
thread_open(const struct quality *q, struct quality_thread *t,
	    const struct quality_thread *like, const struct format_samples *l,
	    char *why, uint32_t why_bytes)
{
	struct phase_cal_comb comb = {
		.spacing = q->args.tones,
		.offset = q->args.tone_offset,
		.rate = q->args.sample_rate,
	};
	uint64_t frames; /* samples per second, by theirs */
	int err;

	*t =
	    (struct quality_thread){ .sub = like->sub, .number = like->number };
	err = layout_check(q, l, why, why_bytes);
	if (err)
		return err;
	err = samples_open(&t->samples, l);
	if (err == -ENOTSUP)
		return format_refuse(why, why_bytes,
				     "samples of %u bits are not read; those "
				     "of 1, 2, 4, 8 and 16 are, and of Mark5B "
				     "1 and 2",
				     l->bits);
	if (err)
		return err;
	t->in_frame = samples_in(&t->samples, q->bytes - l->header);
	frames = (uint64_t)q->args.shape->fps * t->in_frame;
	t->rate_given_wrong = comb.rate && frames && comb.rate != frames;
	if (!comb.rate)
		comb.rate = frames;
	t->sample_rate = comb.rate;
	t->pps = t->pps_least = t->pps_most = NAN;
	err = comb_check(q, &comb, why, why_bytes);
	if (!err)
		err = channels_make(q, t, &comb);
	if (!err)
		err = spectrum_plan_open(&t->plan, l->complex);
	if (err)
		thread_close(t);
	return err;
}

static bool
is_layout_of(const struct quality_thread *t, const struct format_samples *l)
{
	const struct format_samples *has = &t->samples.layout;

	return l->header == has->header && l->bits == has->bits &&
	       l->channels == has->channels && l->complex == has->complex;
}

static bool
is_before(const struct quality_thread *a, const struct quality_thread *b)
{
	return a->sub != b->sub ? a->sub < b->sub : a->number < b->number;
}

/* Finds the thread with the substream and number of `like`, or adds it in their
 * order. */
static int
thread_get(struct quality *q, const struct quality_thread *like,
	   const struct format_samples *l, struct quality_thread **out,
	   char *why, uint32_t why_bytes)
{
	struct quality_thread new, *more;
	unsigned i = 0;
	int err;

	while (i < q->threads && is_before(&q->thread[i], like))
		i++;
	if (i == q->threads || is_before(like, &q->thread[i])) {
		more = realloc(q->thread, (q->threads + 1) * sizeof *more);
		if (!more)
			return -ENOMEM;
		q->thread = more;
		err = thread_open(q, &new, like, l, why, why_bytes);
		if (err)
			return err;
		memmove(&more[i + 1], &more[i],
			(q->threads - i) * sizeof *more);
		more[i] = new;
		q->threads++;
		q->channels += l->channels;
	}
	*out = &q->thread[i];
	return 0;
}

/* ---- frames ------------------------------------------------------------ */

/* Chosen frames are evenly spaced, so that a plain remainder could put all of
 * them into one place. */
static unsigned
digest_at(int64_t time)
{
	return (unsigned)((uint64_t)time * 0x9e3779b97f4a7c15u >> DIGEST_SHIFT);
}

/* Keeps a hash (FNV-1a) of the first states of a channel in a frame. */
static void
digest_add(const struct quality *q, struct quality_channel *c, int64_t time,
	   size_t n, unsigned bits)
{
	uint64_t hash = 0xcbf29ce484222325u;

	if (n > DIGEST_SAMPLES)
		n = DIGEST_SAMPLES;
	if (n * bits < DIGEST_BITS)
		return;
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ q->state[i]) * 0x100000001b3u;
	c->digest[digest_at(time)] = (struct digest){ time, hash };
}

/* Returns how many samples of a channel in a frame its spectrum is made of: of
 * many channels at least those of one transform. */
static size_t
spectrum_samples(const struct quality *q, const struct quality_thread *t)
{
	size_t most = q->args.spectrum / t->samples.layout.channels;

	if (!q->args.spectrum || most > t->in_frame)
		return t->in_frame;
	if (most < 2 * SPECTRUM_POINTS)
		most = 2 * SPECTRUM_POINTS;
	return most < t->in_frame ? most : t->in_frame;
}

static void
channel_add(struct quality *q, struct quality_thread *t, unsigned number,
	    const struct format_packet *p)
{
	struct quality_channel *c = &t->channel[number];
	const struct samples *s = &t->samples;
	size_t n = t->in_frame, transformed = spectrum_samples(q, t);
	size_t values = c->tones ? n : transformed;

	for (unsigned part = 0; part < s->parts; part++) {
		samples_pick(s, q->all, number, part, n, q->state);
		levels_add(&c->levels[part], q->state, n, s);
		for (size_t i = 0; i < values; i++)
			q->value[part][i] = s->level[q->state[i]];
	}
	digest_add(q, c, p->second * (1 << 24) + p->frame + 1, n,
		   s->layout.bits);
	spectrum_add(&c->spectrum, t->plan, q->value[0], q->value[1],
		     transformed);
	if (c->tones)
		phase_cal_add(c->tones, p->frame * (uint64_t)n, q->value[0],
			      q->value[1], n);
}

/* Tells whether a header marks a channel as no data. */
static bool
is_marked(const struct format_samples *l, unsigned channel)
{
	uint64_t part = (uint64_t)channel * l->valid_bits / l->channels;

	return l->valid_bits && !(l->valid >> part & 1);
}

/* True if the rate in a header fits.  Some senders of real samples write the
 * bandwidth, which is half of it. */
static bool
is_rate(const struct quality_thread *t, const struct format_samples *l)
{
	return !l->rate || !t->sample_rate || l->rate == t->sample_rate ||
	       (!l->complex && l->rate * 2 == t->sample_rate);
}

/* Notes what a header says of who made the samples. */
static void
header_note(struct quality_thread *t, const struct format_samples *l)
{
	t->rate_differs |= !is_rate(t, l);
	if (!l->has_pps)
		return;
	t->pps = l->pps_ns;
	t->pps_least = fmin(t->pps_least, l->pps_ns);
	t->pps_most = fmax(t->pps_most, l->pps_ns);
}

int
quality_add(struct quality *q, unsigned sub, const void *frame, char *why,
	    uint32_t why_bytes)
{
	struct format_samples layout;
	struct format_packet p;
	struct quality_thread *t;
	int err = buffers_make(q);

	if (err)
		return err;

	q->args.format->parse(q->args.shape, NULL, frame, &p);
	if (!(p.has & FORMAT_READABLE) || !(p.has & FORMAT_TIME) || p.part) {
		q->counts.odd++;
		return 0;
	}
	if (!(p.has & FORMAT_VALID)) {
		q->counts.invalid++;
		return 0;
	}
	layout_read(q, frame, &layout);
	if (layout.header >= q->bytes) {
		q->counts.odd++;
		return 0;
	}
	err = thread_get(
	    q, &(struct quality_thread){ .sub = sub, .number = p.thread },
	    &layout, &t, why, why_bytes);
	if (err)
		return err;
	if (!is_layout_of(t, &layout)) {
		q->counts.odd++;
		return 0;
	}
	samples_decode(&t->samples, (const uint8_t *)frame + layout.header,
		       q->bytes - layout.header, q->all);
	for (unsigned i = 0; i < layout.channels; i++) {
		if (is_marked(&layout, i))
			t->channel[i].marked++;
		else
			channel_add(q, t, i, &p);
	}
	header_note(t, &layout);
	t->frames++;
	q->counts.frames++;
	return 0;
}

/* ---- merging ----------------------------------------------------------- */

static void
digests_merge(struct quality_channel *c, const struct quality_channel *from)
{
	for (unsigned i = 0; i < DIGESTS; i++) {
		if (from->digest[i].time > c->digest[i].time)
			c->digest[i] = from->digest[i];
	}
}

static void
channel_merge(const struct quality_thread *t, struct quality_channel *c,
	      const struct quality_channel *from)
{
	for (unsigned part = 0; part < t->samples.parts; part++)
		levels_merge(&c->levels[part], &from->levels[part],
			     &t->samples);
	spectrum_merge(&c->spectrum, &from->spectrum);
	if (c->tones)
		phase_cal_merge(c->tones, from->tones);
	digests_merge(c, from);
	c->marked += from->marked;
}

int
quality_merge(struct quality *q, const struct quality *from)
{
	char why[1];

	for (unsigned i = 0; i < from->threads; i++) {
		const struct quality_thread *f = &from->thread[i];
		const struct format_samples *l = &f->samples.layout;
		struct quality_thread *t;
		int err = thread_get(q, f, l, &t, why, sizeof why);

		if (err)
			return err;
		if (!is_layout_of(t, l))
			continue;
		for (unsigned k = 0; k < l->channels; k++)
			channel_merge(t, &t->channel[k], &f->channel[k]);
		t->frames += f->frames;
		t->rate_differs |= f->rate_differs;
		t->pps = isnan(f->pps) ? t->pps : f->pps;
		t->pps_least = fmin(t->pps_least, f->pps_least);
		t->pps_most = fmax(t->pps_most, f->pps_most);
	}
	q->counts.frames += from->counts.frames;
	q->counts.invalid += from->counts.invalid;
	q->counts.odd += from->counts.odd;
	return 0;
}

static void
channel_clear(const struct quality_thread *t, struct quality_channel *c)
{
	for (unsigned part = 0; part < t->samples.parts; part++)
		levels_clear(&c->levels[part], &t->samples);
	c->spectrum = (struct spectrum){ .segments = 0 };
	if (c->tones)
		phase_cal_clear(c->tones);
	memset(c->digest, 0, sizeof c->digest);
	c->marked = 0;
}

void
quality_clear(struct quality *q)
{
	for (unsigned i = 0; i < q->threads; i++) {
		struct quality_thread *t = &q->thread[i];

		for (unsigned k = 0; k < t->samples.layout.channels; k++)
			channel_clear(t, &t->channel[k]);
		t->frames = 0;
		t->rate_differs = false;
		t->pps = t->pps_least = t->pps_most = NAN;
	}
	q->counts = (struct quality_counts){ .frames = 0 };
}

/* ---- findings ---------------------------------------------------------- */

static bool
is_stuck(const struct quality_channel *c)
{
	const struct digest *first = NULL;
	unsigned n = 0;

	for (unsigned i = 0; i < DIGESTS; i++) {
		const struct digest *d = &c->digest[i];

		if (!d->time)
			continue;
		if (!first)
			first = d;
		if (d->hash != first->hash)
			return false;
		n++;
	}
	return n >= DIGESTS_ENOUGH;
}

static bool
is_same(const struct quality_channel *a, const struct quality_channel *b)
{
	unsigned n = 0;

	for (unsigned i = 0; i < DIGESTS; i++) {
		if (!a->digest[i].time ||
		    a->digest[i].time != b->digest[i].time)
			continue;
		if (a->digest[i].hash != b->digest[i].hash)
			return false;
		n++;
	}
	return n >= DIGESTS_ENOUGH;
}

static struct quality_channel *
channel_at(struct quality *q, unsigned i)
{
	struct quality_thread *t = q->thread;

	while (i >= t->samples.layout.channels)
		i -= t++->samples.layout.channels;
	return &t->channel[i];
}

/* Compares all channels; those that never change are all the same. */
static void
same_find(struct quality *q)
{
	const unsigned alone = FINDING_BIT(CONSTANT) | FINDING_BIT(STUCK);

	for (unsigned i = 0; i < q->channels; i++) {
		struct quality_channel *a = channel_at(q, i);

		for (unsigned k = 0; k < i; k++) {
			struct quality_channel *b = channel_at(q, k);

			if ((a->findings | b->findings) & alone ||
			    !is_same(a, b))
				continue;
			a->findings |= FINDING_BIT(SAME);
			b->findings |= FINDING_BIT(SAME);
		}
	}
}

static void
channel_judge(const struct quality_thread *t, struct quality_channel *c)
{
	c->findings = 0;
	for (unsigned part = 0; part < t->samples.parts; part++)
		c->findings |= levels_findings(&c->levels[part], &t->samples);
	if (!(c->findings & FINDING_BIT(CONSTANT)) && is_stuck(c))
		c->findings |= FINDING_BIT(STUCK);
	if (c->marked)
		c->findings |= FINDING_BIT(MARKED);
	if (t->rate_differs || t->rate_given_wrong)
		c->findings |= FINDING_BIT(RATE);
	if (t->pps_most - t->pps_least > PPS_MOVES)
		c->findings |= FINDING_BIT(PPS);
}

/* ---- lines ------------------------------------------------------------- */

static json_t *
part_states(const struct levels *l, const struct samples *s)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < samples_states(s); i++)
		json_array_append_new(list,
				      json_integer((json_int_t)l->count[i]));
	return list;
}

static json_t *
states_json(const struct quality_thread *t, const struct quality_channel *c)
{
	const struct samples *s = &t->samples;
	json_t *list;

	if (samples_states(s) > STATES_SHOWN)
		return NULL;
	if (s->parts == 1)
		return part_states(&c->levels[0], s);
	list = json_array();
	for (unsigned part = 0; part < s->parts; part++)
		json_array_append_new(list, part_states(&c->levels[part], s));
	return list;
}

static json_t *
spectrum_json(const struct spectrum *s)
{
	json_t *list;
	double sum = 0;

	for (unsigned i = 0; i < SPECTRUM_POINTS; i++)
		sum += s->power[i];
	if (sum <= 0)
		return NULL;
	list = json_array();
	for (unsigned i = 0; i < SPECTRUM_POINTS; i++)
		json_array_append_new(
		    list, json_real(s->power[i] * SPECTRUM_POINTS / sum));
	return list;
}

static json_t *
tones_json(const struct phase_cal_result *r)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < r->tones; i++) {
		const struct phase_cal_tone *t = &r->tone[i];

		json_array_append_new(
		    list, json_pack("{s:f s:f s:f s:b}", "hz", t->hz,
				    "amplitude", t->amplitude, "phase",
				    t->phase * 180 / M_PI, "there", t->there));
	}
	return list;
}

static json_t *
findings_json(unsigned set)
{
	json_t *list = json_array();

	for (unsigned f = 0; f < FINDING_COUNT; f++)
		if (set >> f & 1)
			json_array_append_new(list,
					      json_string(finding_name(f)));
	return list;
}

/* Merges the figures of both parts of complex samples. */
static struct levels_figures
figures_of(const struct quality_thread *t, const struct quality_channel *c)
{
	struct levels_figures f = levels_figures(&c->levels[0], &t->samples);
	struct levels_figures other;

	if (t->samples.parts < 2)
		return f;
	other = levels_figures(&c->levels[1], &t->samples);
	f.dc = hypot(f.dc, other.dc);
	f.rms = hypot(f.rms, other.rms);
	f.ratio = (f.ratio + other.ratio) / 2;
	return f;
}

static int
tones_find(struct quality_channel *c, struct quality_line *line)
{
	struct phase_cal_result r;
	int err = phase_cal_result(c->tones, &r);

	if (err)
		return err;
	line->tones = tones_json(&r);
	line->delay_ns = r.delay * 1e9;
	line->delay_error_ns = r.error * 1e9;
	if (r.tones && !r.there && r.least < TONE_WEAK)
		c->findings |= FINDING_BIT(TONES_GONE);
	free(r.tone);
	return 0;
}

static int
line_add(struct quality_line *line, const struct quality_thread *t,
	 struct quality_channel *c, json_t *lines)
{
	struct levels_figures f = figures_of(t, c);
	int err = 0;

	line->bits = t->samples.layout.bits;
	line->complex = t->samples.layout.complex;
	line->sub = t->sub;
	line->thread = t->number;
	line->frames = t->frames;
	line->samples = c->levels[0].n;
	line->sample_rate = t->sample_rate ? t->sample_rate : KEY_UNKNOWN;
	line->rms = f.rms;
	line->dc = f.dc;
	line->ratio = f.ratio;
	line->pps_ns = t->pps;
	line->delay_ns = line->delay_error_ns = NAN;
	line->tones = NULL;
	if (c->tones)
		err = tones_find(c, line);
	if (err)
		return err;
	line->states = states_json(t, c);
	line->spectrum = spectrum_json(&c->spectrum);
	line->findings = findings_json(c->findings);
	return json_array_append_new(
		   lines, keys_json(quality_keys, line, QUALITY_LINE))
		   ? -ENOMEM
		   : 0;
}

int
quality_json(struct quality *q, const char *name, json_t *lines,
	     unsigned *findings)
{
	struct quality_line line = { .name = name };
	int err = 0;

	for (unsigned i = 0; i < q->threads; i++)
		for (unsigned k = 0; k < q->thread[i].samples.layout.channels;
		     k++)
			channel_judge(&q->thread[i], &q->thread[i].channel[k]);
	same_find(q);
	for (unsigned i = 0; i < q->threads && !err; i++) {
		struct quality_thread *t = &q->thread[i];

		for (unsigned k = 0;
		     t->frames && !err && k < t->samples.layout.channels; k++) {
			line.channel = k;
			err = line_add(&line, t, &t->channel[k], lines);
			*findings += (unsigned)__builtin_popcount(
			    t->channel[k].findings);
		}
	}
	return err;
}
