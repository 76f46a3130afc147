/* SPDX-License-Identifier: MIT */
#ifndef SPATE_VSI_VSI_MODE_H
#define SPATE_VSI_VSI_MODE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A mode is what `mode=` says about the data:
 *
 *   VDIF[L][C]_<payload>-<Mb/s>-<channels>-<bits>[/<decimation>]
 *   Mark5B-<Mb/s>-<channels>-<bits>[/<decimation>]
 *   ext : 0x<mask> [: <decimation>]           Mark5B, as a Mark 5B has it
 *   none                                      as the configuration has it
 *
 * L: headers of 16 bytes, not 32; C: complex samples.  Mb/s counts all
 * channels, without headers.  Pure.
 */
enum vsi_format { VSI_AS_CONFIGURED, VSI_VDIF, VSI_MARK5B };

enum { VSI_MODE_TEXT = 64 };

struct vsi_mode {
	enum vsi_format format;
	char text[VSI_MODE_TEXT]; /* mode as it was set; "ext", or "" */
	bool legacy, complex;
	uint32_t payload; /* VDIF: bytes of data in a frame, without the
			   * header */
	double mbps;	  /* 0: unknown */
	uint32_t tracks;  /* bits sampled at the same time */
	uint64_t mask;	  /* bit streams to record, of ext */
	uint32_t decimation;
};

/*
 * Parses the first three fields of a command.  0, or -EINVAL with a sentence in
 * `why`.
 */
int vsi_mode_parse(struct vsi_mode *m, const char *const field[3],
		   const char **why);

/* Returns the bytes of a frame with its header; 0: as configured. */
uint32_t vsi_mode_frame(const struct vsi_mode *m);

/* Returns the Mb/s of whole frames, with headers; 0: unknown. */
double vsi_mode_rate(const struct vsi_mode *m);

/* Returns "VDIF", "Mark5B", "VDIF (legacy)", ... as replies show it. */
const char *vsi_mode_name(const struct vsi_mode *m);

/*
 * A scan label is the name in `record=on:`: <experiment>_<station>_<scan>, at
 * most 50 characters.  Characters that the name of a recording cannot have,
 * such as '.', become '-'.  Pure.
 */
enum { VSI_LABEL = 50 };

/*
 * Writes the name for a label into VSI_LABEL + 3 bytes.  Returns NULL, or what
 * is wrong with the label.
 */
const char *vsi_label_name(char *name, const char *label);

#endif
