/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_VSI_VSI_FILE_H
#define SPATE_DAEMON_VSI_VSI_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "contract/option.h"

/*
 * A vsi_file is a thread that opens a file for one command of VSI-S, and
 * copies it where that is a file's own affair:
 *
 *   LOOK    says what is in it                                (file_check)
 *   OUT     makes or opens it, for who writes to it           (disk2file)
 *   TAKE    writes to it what one connection brings           (net2file)
 *   GIVE    sends a part of it over one connection            (file2net)
 *
 *   OPENING --> OPEN --> CONNECTED --go--> RUNNING --> DONE
 *                 |          |                |
 *                 +----------+----------------+------> FAILED
 *
 * LOOK and OUT are DONE when it is OPEN.  Only files below folders that the
 * configuration names are opened: no link leads out of them or is written
 * through, and what is there already is written to only where the command said
 * so.  /dev/null is a file that takes everything.
 *
 * The event loop starts it, looks and stops; none of that waits for a disk, a
 * name or a peer.
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
	VSI_FILE_OPEN, /* TAKE listens, GIVE is connecting */
	VSI_FILE_CONNECTED,
	VSI_FILE_RUNNING,
	VSI_FILE_DONE,
	VSI_FILE_FAILED,
};

struct vsi_file_args {
	enum vsi_file_what what;
	const struct option_texts *folders; /* below which files may be */
	const struct option_texts *allow;   /* TAKE: who may connect */
	const char *name; /* absolute, or beneath the first folder */
	char mode;	  /* 'n' only a new one, 'w' from its beginning, 'a' at
			     its end */
	const char *host; /* GIVE */
	uint16_t port;	  /* GIVE, TAKE */
};

/* What LOOK found; format "": nothing that is known. */
struct vsi_file_data {
	char format[16];
	bool legacy;	  /* VDIF headers of 16 bytes */
	uint32_t packet;  /* bytes of a frame */
	uint32_t tracks;  /* bits of one sample of all channels; 0 */
	double mbps;	  /* of the data without headers; 0: not known */
	int64_t start_ns; /* UTC; 0 */
	double seconds;
};

struct vsi_file_facts {
	enum vsi_file_state state;
	uint64_t size;	/* when it was opened */
	uint64_t bytes; /* that were copied */
	char why[320];	/* of FAILED */
	struct vsi_file_data data;
};

/* 0 or -errno with a fault: it is in no folder, or there are no threads. */
int vsi_file_start(struct vsi_file **file, const struct vsi_file_args *args,
		   struct fault *fault);

/* GIVE that is CONNECTED: sends the bytes from..to. */
void vsi_file_go(struct vsi_file *f, uint64_t from, uint64_t to);

void vsi_file_facts(const struct vsi_file *f, struct vsi_file_facts *facts);

/* OUT that is DONE: its descriptor, which the caller closes; once. */
int vsi_file_take(struct vsi_file *f);

/* Ends it, and frees it, now or when its disk answers; NULL: nothing. */
void vsi_file_stop(struct vsi_file *f);

#endif
