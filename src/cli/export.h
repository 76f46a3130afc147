/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_EXPORT_H
#define SPATE_CLI_EXPORT_H

#include "cli/show/cli.h"
#include "cli/show/terminal.h"
#include "store/read/open_recordings.h"
#include "store/recording/recording.h"

/* Declarations that the files of `spate export` share. */

enum { EXPORT_PATH = 4096 };

struct export_args {
	bool force;
	const char *sub;			    /* NULL: all substreams */
	uint64_t channels_per_file, times_per_file; /* 0: not given */
};

struct exporter {
	const struct cli *cli;
	const struct export_args *args;
	struct open_recordings *set;
	struct open_recording *op;
	struct recording *rec; /* what is there of it */
	const char *file;      /* as typed; "-": standard output */
	uint64_t read;	       /* read of all files, for the progress bar */
	uint64_t bytes;	       /* written, of all files */
	/*
	 * fill in place of chunks that cannot be read, or bytes left out for
	 * them
	 */
	uint64_t filled;
	uint64_t damaged; /* bytes whose checksum is wrong */
	unsigned files;
	struct progress_bar progress;
};

/* A file that is written, or standard output. */
struct export_file {
	const char *path;
	int fd;
	bool created; /* export made it, and may remove it */
};

/*
 * Opens a file to be written.  A pipe, a device or an empty file may exist
 * already; a file with content only with `force`.  Returns 0, or -errno with a
 * fault.
 */
int export_open(struct export_file *f, const char *path, bool force,
		struct fault *fault);
/*
 * Makes the file durable and closes it; a pipe cannot be made durable.  Returns
 * 0, or -errno with a fault.
 */
int export_close(struct export_file *f, struct fault *fault);
/* Closes the file, and removes it if export made it. */
void export_drop(struct export_file *f);
/* Makes a fault of a failed write; returns err. */
int export_fault(const char *path, int err, struct fault *fault);
/*
 * Makes a folder; with `force` it may exist and have content.  Returns 0, or
 * -errno with a fault.
 */
int export_folder(const char *path, bool force, struct fault *fault);

/* Prints a line about a finished file with --json; takes `line` over. */
void export_tell(const struct exporter *e, json_t *line);

/*
 * Exports a cube: files of several channels by time in the folder e->file, each
 * with a list of what is there.
 */
int export_cube(struct exporter *e, struct fault *fault);

#endif
