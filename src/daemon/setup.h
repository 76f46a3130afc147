/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SETUP_H
#define SPATE_DAEMON_SETUP_H

#include "base/conf.h"
#include "daemon/stream.h"
#include "flow/writer.h"
#include "store/disk.h"

/*
 * The setup is what the configuration says of the daemon, read once, checked as a whole, and
 * constant from then on.
 */
struct setup_options {
	struct option_texts disks;
	uint64_t reserve; /* 0: 1 %, at least 256 MiB */
	uint64_t memory;
	const char *schedule; /* a folder; NULL: none */
	const char *state;    /* another; NULL: see schedule_host.c */
	const char *writer;   /* NULL: the first that works */
	const char *durable;
	uint32_t receivers;
	uint32_t receiver_priority; /* SCHED_FIFO; 0: none */
	struct option_counts receiver_cpus;
	const char *memory_node; /* NULL: any */
};

struct setup_control {
	const char *socket, *group;
};

struct setup {
	struct conf *conf;
	const char *path;
	struct setup_options o;
	struct setup_control control;
	struct disks disks;
	struct fault no_disk; /* why there are none, when there are none */
	int64_t durable;      /* ns between rounds; 0 each block */
	struct writer_way way[WRITER_WAYS];
	void *way_options[WRITER_WAYS];
	unsigned ways;
	struct stream **stream; /* held */
	unsigned streams;
};

extern const struct option setup_options[], setup_control_options[];

/* 0 or -errno with a fault; setup_unload in either case. */
int setup_load(struct setup *c, const char *path, struct fault *fault);
void setup_unload(struct setup *c);

/* NULL: there is none.  Not held for the caller. */
struct stream *setup_stream(struct setup *c, const char *name);

/* The NUMA node that memory is to be on; NODE_ANY, with a line in the log
 * where one was asked for and cannot be told. */
int setup_node(const struct setup *c);

/* What `spated -n` prints. */
void setup_print(const struct setup *c);

#endif
