/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_VSI_VSI_LABEL_H
#define SPATE_DAEMON_VSI_VSI_LABEL_H

/*
 * A scan label is what `record=on:` names: <experiment>_<station>_<scan>, at
 * most 50 characters.  It may have characters that the name of a recording
 * cannot have, as '.': they become '-'.  Pure.
 */
enum { VSI_LABEL = 50 };

/* The name for a label, into VSI_LABEL + 3 bytes; NULL, or what is wrong. */
const char *vsi_label_name(char *name, const char *label);

#endif
