/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_MAIN_OPTIONS_H
#define SPATE_DAEMON_MAIN_OPTIONS_H

/*
 * Prints every key that a configuration may have, with the keys of all
 * installed plugins (`spated --options`).  Returns the exit status: 1 if a
 * plugin cannot be loaded, which is told on stderr.
 */
int options_print(void);

#endif
