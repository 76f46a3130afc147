/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_SIGNAL_H
#define SPATE_CLI_GEN_GEN_SIGNAL_H

#include "base/fault.h"
#include "cli/show/args.h"
#include "contract/format.h"

/*
 * Makes the samples of a receiver, of 2 bits: Gaussian noise at the best level
 * of the sampler, with phase-cal tones if they are wanted, and channels in which
 * something is wrong.  Each sample is a function of the seed, the port, the
 * frame's time, the thread and the channel.
 *
 * A tone of frequency f is cos(2 pi f (t - delay) + phase), where t is 0 at the
 * beginning of each second.  A delay that grows is the same in all of a frame.
 *
 * One thread.
 */
struct gen_signal;

struct gen_signal_args {
	uint64_t channels;   /* where headers do not say */
	uint64_t tones;	     /* Hz from tone to tone; 0: none */
	uint64_t tone_phase; /* degrees */
	int64_t tone_delay;  /* ns */
	double tone_drift;   /* s in a s that the delay grows; 0 at midnight */
	double tone_level;   /* amplitude of each, in rms of the noise */
	struct args_texts defects; /* "NAME=THREAD/CHANNEL", with the names of
				    * findings (signal/finding.h) */
};

/* Returns 0, or -errno with a fault. */
int gen_signal_open(struct gen_signal **g, const struct gen_signal_args *args,
		    const struct format_ops *format,
		    const struct format_shape *shape, uint64_t seed,
		    struct fault *fault);
void gen_signal_close(struct gen_signal *g); /* NULL is allowed */

/* Writes the samples of a packet, behind the header. */
void gen_signal_make(struct gen_signal *g, unsigned port,
		     const struct format_packet *p, uint8_t *payload);

/* Writes defects that a header tells, after the plugin has written it. */
void gen_signal_header(const struct gen_signal *g,
		       const struct format_packet *p, uint8_t *payload);

#endif
