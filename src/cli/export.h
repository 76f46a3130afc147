/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_EXPORT_H
#define SPATE_CLI_EXPORT_H

#include "cli/show/cli.h"
#include "cli/show/progress.h"
#include "store/read/reader.h"
#include "store/recording/recording.h"

/* What the parts of `spate export` share. */

enum { EXPORT_PIECE = 8 << 20, EXPORT_PATH = 4096 };

struct export_args {
	bool force;
	const char *sub;			    /* NULL: all of them */
	uint64_t channels_per_file, times_per_file; /* 0: not given */
};

struct exporter {
	const struct cli *cli;
	const struct export_args *args;
	struct recording *rec;
	struct reader *reader; /* of rec; cubes have none */
	const char *file;      /* as it was named; "-": standard output */
	char *piece;	       /* EXPORT_PIECE bytes */
	uint64_t read;	       /* of all files, for progress */
	uint64_t bytes;	       /* written, of all files */
	uint64_t filled; /* in place of chunks that cannot be read, or left
			      out for them */
	unsigned files;
	struct progress progress;
};

/* A file that is written, or standard output. */
struct export_file {
	const char *path;
	int fd;
	bool created; /* it is ours to remove */
};

/* What is there already: a pipe, a device or an empty file can be written to,
 * a file with something in it only by force. */
int export_open(struct export_file *f, const char *path, bool force,
		struct fault *fault);
/* Makes it durable; what is not a file cannot be. */
int export_close(struct export_file *f, struct fault *fault);
/* Closes and removes it, if it was not there before. */
void export_drop(struct export_file *f);
/* Explains a failure to write it. */
int export_fault(const char *path, int err, struct fault *fault);
/* Makes a folder, which by force may be there and not empty. */
int export_folder(const char *path, bool force, struct fault *fault);
int export_put(int fd, const void *data, size_t bytes);

/* Tells of a file that is done, with --json; takes `line` over. */
void export_tell(const struct exporter *e, json_t *line);

/* Files of channels by time in the folder e->file, each with its map of what
 * is there. */
int export_cube(struct exporter *e, struct fault *fault);

#endif
