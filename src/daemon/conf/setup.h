/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_CONF_SETUP_H
#define SPATE_DAEMON_CONF_SETUP_H

#include <jansson.h>

#include "base/conf.h"
#include "base/secret.h"
#include "control/vsi_conf.h"
#include "control/web_conf.h"
#include "daemon/conf/setup_send.h"
#include "daemon/conf/stream.h"
#include "flow/write/writer.h"
#include "store/disk/disk.h"

/*
 * The setup is the configuration of the daemon, read and checked as a whole.  A
 * reload changes what can change while the daemon runs: streams, disks and the
 * space kept free on them, `durable`, and sending.  Everything else stays as it
 * was at the start.  The event loop's thread.
 */
struct setup_options {
	struct option_texts disks;
	uint64_t reserve; /* bytes per disk; 0: 1 %, at least 256 MiB */
	uint64_t memory;
	bool share;	      /* `memory` is shared with live readers */
	const char *schedule; /* folder of schedule files; NULL: none */
	const char *station;  /* whose scans it takes; NULL: it has none */
	const char *state;    /* state folder; NULL: see schedule_host.c */
	const char *writer;   /* write plugin; NULL: the first that works */
	const char *durable;
	uint32_t receivers;
	uint32_t receiver_priority; /* of SCHED_FIFO; 0: ordinary scheduling */
	struct option_counts receiver_cpus;
	const char *memory_node; /* as text; NULL: any */
};

/* The group `control`: path of the socket, and the Unix group that may use it
 * (NULL: none). */
struct setup_control {
	const char *socket, *group;
};

/* The group `inbox`.  Without `listen` there is no inbox. */
struct setup_inbox {
	struct option_texts listen, allow;
	struct option_texts beside; /* names of receive plugins */
	const char *secret_file;    /* NULL: none */
	uint32_t connections;
	struct secret secret;
};

/* The whole configuration. */
struct setup {
	struct conf *conf; /* the file as last read */
	/* the file as read at the start; keys that cannot change point into
	 * it */
	struct conf *first;
	const char *path;
	struct setup_options o;
	struct setup_control control;
	struct vsi_conf vsi;
	struct web_conf web;
	struct setup_inbox inbox;
	struct setup_send_options send_options;
	struct setup_send *send; /* a counted reference */
	struct disks disks;
	struct fault no_disk; /* why there are no disks, if there are none */
	/* ns between two syncs; 0: each block at once; INT64_MAX / 2: at the
	 * end */
	int64_t durable;
	struct write_plugin plugin[WRITER_PLUGINS];
	void *plugin_options[WRITER_PLUGINS];
	unsigned plugins;
	struct stream **stream; /* counted references */
	unsigned streams;
	struct stream_variant *variants; /* setup_vary's, newest first */
};

extern const struct option_key setup_options[], setup_control_options[],
    setup_inbox_options[];

/* Reads and checks the file `path`.  Returns 0, or -errno with a fault; call
 * setup_unload in either case. */
int setup_load(struct setup *c, const char *path, struct fault *fault);
/* Drops all references and frees what `c` holds, not `c`. */
void setup_unload(struct setup *c);

/*
 * Reads the configuration again (setup_reload.c).  An unchanged stream stays
 * the same object, with all that it has learned.  Lines for people about what
 * changed are added to `changes`, and about keys that need a restart to
 * `restart`.  `disks`: number of disks now.  Returns 0; or -errno with a fault,
 * and nothing has changed.
 */
int setup_reload(struct setup *c, unsigned disks, json_t *changes,
		 json_t *restart, struct fault *fault);

/* Reads a new setup for setup_reload.  As setup_load, but looks for no
 * disks, and fits the streams into the memory and receivers that the daemon
 * `now` has. */
int setup_load_again(struct setup *c, const struct setup *now, unsigned disks,
		     struct fault *fault);

/* Returns the stream of that name, or NULL.  The caller gets no reference. */
struct stream *setup_stream(struct setup *c, const char *name);

/*
 * Finds or makes the stream of a request: a name, or VARY (requests/verbs.h).
 * Made ones are kept, because a stream that has learned its frame rate, or that
 * is still being flushed, serves the next recording, too; the next reload
 * forgets them.  `disks`: number of disks now.  Returns 0, or -errno with a
 * fault.  The caller gets no reference.
 */
int setup_vary(struct setup *c, const json_t *request, unsigned disks,
	       struct stream **stream, struct fault *fault);
void setup_vary_forget(struct setup *c);

/* Returns 0 if memory and receivers suffice for all `n` streams at the same
 * time, else -errno with a fault. */
int setup_streams_fit(const struct setup *c, struct stream *const *stream,
		      unsigned n, struct fault *fault);

/* Returns -ENOENT with a fault that lists the streams there are. */
int setup_stream_unknown(const struct setup *c, const char *name,
			 struct fault *fault);

/* Returns the NUMA node for the memory, or NODE_ANY.  Logs a warning if a node
 * was asked for and cannot be found. */
int setup_node(const struct setup *c);

/* Prints the setup for `spated -n`. */
void setup_print(const struct setup *c);

#endif
