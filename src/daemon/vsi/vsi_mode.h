/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_VSI_VSI_MODE_H
#define SPATE_DAEMON_VSI_VSI_MODE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A mode is what `mode=` says of the data:
 *
 *   VDIF[L][C]_<payload>-<Mb/s>-<channels>-<bits>[/<decimation>]
 *   Mark5B-<Mb/s>-<channels>-<bits>[/<decimation>]
 *   ext : 0x<mask> [: <decimation>]           Mark5B, as a Mark 5B has it
 *   none                                      as the configuration has it
 *
 * L: headers of 16 bytes, not 32; C: complex samples.  Mb/s are of all
 * channels, without headers.  Pure.
 */
enum vsi_format { VSI_AS_CONFIGURED, VSI_VDIF, VSI_MARK5B };

enum { VSI_MODE_TEXT = 64 };

struct vsi_mode {
	enum vsi_format format;
	char text[VSI_MODE_TEXT]; /* as told; "ext", or "" */
	bool legacy, complex;
	uint32_t payload; /* of VDIF, without the header */
	double mbps;	  /* 0: not known */
	uint32_t tracks;  /* bits that are sampled at one time */
	uint64_t mask;	  /* of ext */
	uint32_t decimation;
};

/* The fields of a command, the first three.  0; or -EINVAL with a sentence. */
int vsi_mode_parse(struct vsi_mode *m, const char *const field[3],
		   const char **why);

/* Bytes of a frame, with its header; 0: as configured. */
uint32_t vsi_mode_frame(const struct vsi_mode *m);

/* Mb/s of whole frames; 0: not known. */
double vsi_mode_rate(const struct vsi_mode *m);

/* "VDIF", "Mark5B", "VDIF (legacy)", ... as replies have it. */
const char *vsi_mode_name(const struct vsi_mode *m);

#endif
