/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_CONF_SETUP_H
#define SPATE_DAEMON_CONF_SETUP_H

#include <jansson.h>

#include "base/conf.h"
#include "base/secret.h"
#include "daemon/conf/setup_send.h"
#include "daemon/conf/stream.h"
#include "flow/write/writer.h"
#include "store/disk/disk.h"

/*
 * The setup is what the configuration says of the daemon, read and checked as
 * a whole.  When it is read again, what can change does: streams, disks, what
 * stays free on them, how soon all is durable.  The rest is as it was when the
 * daemon started.  The event loop's thread.
 */
struct setup_options {
	struct option_texts disks;
	uint64_t reserve; /* 0: 1 %, at least 256 MiB */
	uint64_t memory;
	bool share;	      /* it, with live readers */
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

/* Nothing listens: there is none. */
struct setup_vsi {
	struct option_texts listen, streams, allow, files;
	const char *version; /* NULL: spate's own */
	const char *only;    /* what `streams` is where it is left out */
};
enum { SETUP_VSI_STREAMS = 64 };

/* Nothing listens: there is none. */
struct setup_inbox {
	struct option_texts listen, allow;
	const char *secret_file; /* NULL: none */
	uint32_t connections;
	struct secret secret;
};

struct setup {
	struct conf *conf;  /* the one that was read last */
	struct conf *first; /* what cannot change points into it */
	const char *path;
	struct setup_options o;
	struct setup_control control;
	struct setup_vsi vsi;
	struct setup_inbox inbox;
	struct setup_send_options send_options;
	struct setup_send *send; /* held */
	struct disks disks;
	struct fault no_disk; /* why there are none, when there are none */
	int64_t durable;      /* ns between rounds; 0 each block */
	struct writer_way way[WRITER_WAYS];
	void *way_options[WRITER_WAYS];
	unsigned ways;
	struct stream **stream; /* held */
	unsigned streams;
};

extern const struct option setup_options[], setup_control_options[],
    setup_vsi_options[], setup_inbox_options[];

/* 0 or -errno with a fault; setup_unload in either case. */
int setup_load(struct setup *c, const char *path, struct fault *fault);
void setup_unload(struct setup *c);

/*
 * setup_reload.c: reads it again.  What is the same stays, a stream too, with
 * what it has learned; what changed is told as lines for people, added to
 * `changes` and, where it takes a restart, to `restart`.  `disks`: how many
 * there are.  0; or -errno with a fault, and nothing has changed.
 */
int setup_reload(struct setup *c, unsigned disks, json_t *changes,
		 json_t *restart, struct fault *fault);

/* For that: as setup_load, but no disk is looked for, and the streams fit what
 * this daemon has. */
int setup_load_again(struct setup *c, const struct setup *now, unsigned disks,
		     struct fault *fault);

/* NULL: there is none.  Not held for the caller. */
struct stream *setup_stream(struct setup *c, const char *name);

/* The NUMA node that memory is to be on; NODE_ANY, with a line in the log
 * where one was asked for and cannot be told. */
int setup_node(const struct setup *c);

/* setup_vsi.c: the group `vsi`; after the streams were read. */
int setup_vsi_read(struct setup *c, struct fault *fault);

/* setup_inbox.c: the group `inbox`. */
int setup_inbox_read(struct setup *c, struct fault *fault);

/* What `spated -n` prints. */
void setup_print(const struct setup *c);

/* setup_disks.c, for setup.c: what `disks` says, and what is there.  0 or
 * -errno with a fault. */
int setup_disks_check(const struct setup *c, struct fault *fault);
int setup_disks_read(struct setup *c, struct fault *fault);

#endif
