/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_REHEARSE_BENCH_H
#define SPATE_CLI_REHEARSE_BENCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/fault.h"
#include "cli/rehearse/traffic.h"
#include "control/control.h"
#include "store/disk/disk.h"

/*
 * A bench is a spated of its own, which records some traffic at one rate, in one
 * of three ways.  It has the machine's settings from the configuration: memory,
 * receivers, write plugin.
 *
 *   network  spate gen --> loopback --> receiver --> memory       (no disk)
 *   disks                  blocks made in memory --> disks
 *   both     spate gen --> loopback --> receiver --> memory --> disks
 *
 * One thread.  What it records is removed again.
 */
enum bench_way { BENCH_NETWORK, BENCH_DISKS, BENCH_BOTH, BENCH_WAYS };

struct bench_args {
	enum bench_way way;
	const char *conf; /* configuration, or NULL */
	const struct disks *disks;
	const struct traffic *traffic;
	unsigned tenths; /* of its rate */
};

struct bench {
	struct bench_args a;
	char folder[64]; /* conf, socket, log, output of gen */
	pid_t spated;
	struct control *control;
	unsigned port[TRAFFIC_STREAMS]; /* the first of each stream */
	unsigned runs;			/* made so far */
};

/* The result of a run. */
enum bench_result {
	BENCH_CLEAN,
	BENCH_LOST, /* packets, or the disks fell behind, as `why` says */
	BENCH_VOID, /* the sender did not keep its pace */
};

struct bench_run {
	enum bench_result result;
	char why[300];
	uint64_t sent, lost;
};

/* Starts the spated and waits until its memory is ready and its disks take
 * blocks.  Returns 0, or -errno with a fault; call bench_close() in either
 * case. */
int bench_open(struct bench *b, const struct bench_args *args,
	       struct fault *fault);
void bench_close(struct bench *b);

/* Records for so many seconds.  *stop ends it early, with -EINTR.  Returns 0, or
 * -errno with a fault. */
int bench_run(struct bench *b, unsigned seconds,
	      const volatile sig_atomic_t *stop, struct bench_run *run,
	      struct fault *fault);

/* Returns the disks as `spate disks` lists them, a new reference, or NULL. */
json_t *bench_disks(struct bench *b);

#endif
