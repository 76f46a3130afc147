/* SPDX-License-Identifier: MIT */
/*
 * Segments do not overlap and have no window: the spectrum is to show a filter's
 * shape or a hole in it to an eye, and a rectangle's side lobes of -13 dB are
 * far below what noise of some seconds hides.
 */
#include <errno.h>
#include <kiss_fftr.h>
#include <stdlib.h>
#include <string.h>

#include "signal/spectrum.h"

enum { REAL_SEGMENT = 2 * SPECTRUM_POINTS, COMPLEX_SEGMENT = SPECTRUM_POINTS };

struct spectrum_plan {
	kiss_fftr_cfg real;   /* NULL: samples are complex */
	kiss_fft_cfg complex; /* NULL: they are real */
};

int
spectrum_plan_open(struct spectrum_plan **plan, bool complex)
{
	struct spectrum_plan *p = calloc(1, sizeof *p);

	if (!p)
		return -ENOMEM;
	if (complex)
		p->complex = kiss_fft_alloc(COMPLEX_SEGMENT, 0, NULL, NULL);
	else
		p->real = kiss_fftr_alloc(REAL_SEGMENT, 0, NULL, NULL);
	if (!p->complex && !p->real) {
		free(p);
		return -ENOMEM;
	}
	*plan = p;
	return 0;
}

void
spectrum_plan_close(struct spectrum_plan *p)
{
	if (!p)
		return;
	kiss_fft_free(p->complex);
	kiss_fftr_free(p->real);
	free(p);
}

static void
segment_add(struct spectrum *s, const kiss_fft_cpx *out)
{
	for (unsigned i = 0; i < SPECTRUM_POINTS; i++)
		s->power[i] += (double)(out[i].r * out[i].r) +
			       (double)(out[i].i * out[i].i);
	s->segments++;
}

void
spectrum_add(struct spectrum *s, struct spectrum_plan *p, const float *real,
	     const float *imaginary, size_t n)
{
	size_t step = p->complex ? COMPLEX_SEGMENT : REAL_SEGMENT;
	kiss_fft_cpx in[COMPLEX_SEGMENT], out[SPECTRUM_POINTS + 1];

	for (size_t at = 0; at + step <= n; at += step) {
		if (p->complex) {
			for (unsigned i = 0; i < COMPLEX_SEGMENT; i++)
				in[i] = (kiss_fft_cpx){ real[at + i],
							imaginary[at + i] };
			kiss_fft(p->complex, in, out);
		} else {
			kiss_fftr(p->real, real + at, out);
		}
		segment_add(s, out);
	}
}

void
spectrum_merge(struct spectrum *s, const struct spectrum *from)
{
	for (unsigned i = 0; i < SPECTRUM_POINTS; i++)
		s->power[i] += from->power[i];
	s->segments += from->segments;
}
