/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_VSI_VSI_LABEL_H
#define SPATE_DAEMON_VSI_VSI_LABEL_H

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
