/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_STAMPS_H
#define SPATE_TESTS_STAMPS_H

/*
 * Waits until the kernel stamps packets as they arrive.  A worker of the kernel
 * switches that on for all sockets some time after the first one asked for
 * stamps; until then a packet is stamped when it is read.  The caller has a
 * socket that asked, or it is switched off again.
 */
void stamps_wait(void);

#endif
