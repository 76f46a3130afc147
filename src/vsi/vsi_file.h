/* SPDX-License-Identifier: MIT */
#ifndef SPATE_VSI_VSI_FILE_H
#define SPATE_VSI_VSI_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "contract/option.h"

/*
 * A vsi_file is a thread that opens a file for one command of VSI-S, and copies
 * data to or from it:
 *
 *   LOOK    finds out what is in it                          (file_check)
 *   OUT     makes or opens it, for a transfer to write       (disk2file)
 *   TAKE    writes to it what one connection brings          (net2file)
 *   GIVE    sends a part of it over one connection           (file2net)
 *
 *   OPENING --> OPEN --> CONNECTED --go--> RUNNING --> DONE
 *                 |          |                |
 *                 +----------+----------------+------> FAILED
 *
 * LOOK and OUT are DONE when the file is open.  Only files below folders that
 * the configuration names are opened: no symbolic link is followed, and an
 * existing file is written only if the command says so.  /dev/null takes
 * everything.
 *
 * The event loop starts, queries and stops it; none of these calls waits for a
 * disk, a name server or a peer.
 */
struct vsi_file;

enum vsi_file_what {
	VSI_FILE_LOOK,
	VSI_FILE_OUT,
	VSI_FILE_TAKE,
	VSI_FILE_GIVE
};

enum vsi_file_state {
	VSI_FILE_OPENING,
	VSI_FILE_OPEN, /* TAKE listens, GIVE connects */
	VSI_FILE_CONNECTED,
	VSI_FILE_RUNNING,
	VSI_FILE_DONE,
	VSI_FILE_FAILED,
};

struct vsi_file_args {
	enum vsi_file_what what;
	const struct option_texts *folders; /* folders below which files may
					     * be */
	const struct option_texts *allow;   /* TAKE: networks that may
					     * connect */
	const char *name; /* absolute, or relative to the first folder */
	char mode;	  /* 'n': only a new file; 'w': truncate; 'a': append */
	const char *host; /* GIVE: where to send to */
	uint16_t port;	  /* GIVE, TAKE */
};

/* Findings of LOOK; format "": unknown data. */
struct vsi_file_data {
	char format[16];
	bool legacy;	  /* VDIF headers of 16 bytes */
	uint32_t packet;  /* bytes of a frame */
	uint32_t tracks;  /* bits of one sample of all channels; 0: unknown */
	double mbps;	  /* Mb/s of the data without headers; 0: unknown */
	int64_t start_ns; /* UTC ns; 0: unknown */
	double seconds;
};

struct vsi_file_facts {
	enum vsi_file_state state;
	uint64_t size;	/* bytes, when it was opened */
	uint64_t bytes; /* bytes copied so far */
	char why[320];	/* reason, if FAILED */
	struct vsi_file_data data;
};

/*
 * Starts the thread.  0; or -errno with a fault: the file is in no folder, or
 * no thread can be started.
 */
int vsi_file_start(struct vsi_file **file, const struct vsi_file_args *args,
		   struct fault *fault);

/* Makes a GIVE that is CONNECTED send bytes `from` to before `to`. */
void vsi_file_go(struct vsi_file *f, uint64_t from, uint64_t to);

void vsi_file_facts(const struct vsi_file *f, struct vsi_file_facts *facts);

/*
 * Returns the descriptor of an OUT that is DONE; the caller closes it.  Call it
 * once.
 */
int vsi_file_take(struct vsi_file *f);

/*
 * Ends the thread and frees it, at once or when its disk answers; NULL is
 * allowed.
 */
void vsi_file_stop(struct vsi_file *f);

#endif
