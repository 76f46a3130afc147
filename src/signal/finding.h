/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SIGNAL_FINDING_H
#define SPATE_SIGNAL_FINDING_H

/*
 * A finding is what is wrong with the signal of a channel: its name, which
 * programs may rely on, and a sentence for people.  A set of findings has the
 * bit 1 << FINDING_X of each.
 */
#define FINDINGS(X)                                                            \
	X(CONSTANT, "constant", "every sample is the same")                    \
	X(STUCK, "stuck", "frame after frame has the same samples")            \
	X(DEAD, "dead",                                                        \
	  "no signal: the samples hardly leave the inner two states")          \
	X(BIT_MISSING, "bit-missing", "one bit of the samples never changes")  \
	X(SAME, "same", "another channel has the same samples")                \
	X(DC, "dc", "the mean is not zero: the sampler has an offset")         \
	X(LEVELS, "levels",                                                    \
	  "the level is off by more than 3 dB, or samples are clipped")        \
	X(MARKED, "marked", "the sender marked it as no data in some frames")  \
	X(RATE, "rate",                                                        \
	  "the sample rate, of the header or as given, is not that of the "    \
	  "frames per second")                                                 \
	X(PPS, "pps",                                                          \
	  "the sampler's pulse per second moved against the one from outside") \
	X(TONES_GONE, "tones-gone", "no phase-cal tone is there")              \
	X(DRIFT, "drift",                                                      \
	  "level or delay is not that of the last recording of the stream")

#define X(id, name, sentence) FINDING_##id,
enum finding { FINDINGS(X) FINDING_COUNT };
#undef X

#define FINDING_BIT(id) (1u << FINDING_##id)

const char *finding_name(enum finding f);
/* Returns the finding of a name, which is one. */
enum finding finding_of(const char *name);
const char *finding_sentence(enum finding f);

#endif
