/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_GEN_GEN_PRIV_H
#define SPATE_CLI_GEN_GEN_PRIV_H

#include "cli/show/cli.h"
#include "cli/gen/gen_format.h"
#include "cli/gen/gen_frames.h"
#include "cli/gen/gen_heaps.h"
#include "cli/gen/gen_sender.h"

/*
 * Declarations that the files of `spate gen` share.
 *
 *   plan -> frames or heaps -> train -> socket         one plan for each port
 */
struct gen_args {
	const char *to, *format, *sequence, *threads, *dump;
	uint64_t rate, packets, fps, prefix, payload, first, displace, seed;
	uint64_t segment, connections;
	const char *frames;
	int64_t run_ns, start_ns;
	double loss, reorder, duplicate;
	struct args_texts options;

	/* Options of formats with heaps. */
	uint64_t heaps, heap_bytes, packet, flavour, step, time, time_step;
	const char *descriptors, *control, *turn;
};

struct gen {
	const struct gen_args *args;
	struct gen_format format;
	bool of_heaps;
	struct gen_frames frames; /* used if the format has no heaps */
	struct gen_heaps heaps;
	struct gen_source *source; /* one of the two above */
	struct gen_socket socket;
	struct gen_port *port;
	struct gen_sender sender;
};

/*
 * Makes everything that is needed to send.  Returns 0, or -errno with a fault.
 */
int gen_open(struct gen *g, struct fault *fault);
void gen_close(struct gen *g);

/*
 * Writes what a recording of each port should contain.  Returns 0, or -errno
 * with a fault.
 */
int gen_dump(struct gen *g, struct fault *fault);

/* Prints what was sent, or one JSON line with --json. */
void gen_report(const struct cli *cli, struct gen *g);

/* Makes a fault about the command line; returns -EINVAL. */
int gen_refuse(struct fault *fault, const char *what, const char *hint);

#endif
