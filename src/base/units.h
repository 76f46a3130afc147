/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_UNITS_H
#define SPATE_BASE_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Parsers for sizes, rates, spans and times as users write them.  Each takes
 * the whole text or fails: 0, -EINVAL (wrong form) or -ERANGE (2^63 or more).
 *
 *   share  "0.01" "1%"                 from 0 to 1
 *   bytes  "4096" "64M" "8G"           K M G T are binary; also KiB, MiB ...
 *   rate   "8Gbps" "500Mbps" "1000"    bits per second; k M G are decimal
 *   span   "10s" "250ms" "5m" "2h" "1.5s" "1m30s"   a bare number: seconds
 *   time   "2026-11-20T10:00:00Z" (fraction allowed), VEX
 *          "2026y324d10h00m00s", "now", "+30s"  (from `now_ns`)
 *   time_data  a time of arrival as above, or with '@' before it the time
 *          in the data's own headers: "@2026-11-20T10:00:00Z"; sets *data
 */
int units_share(const char *text, double *share);
int units_bytes(const char *text, uint64_t *bytes);
int units_rate(const char *text, uint64_t *bits_per_s);
int units_span(const char *text, int64_t *ns);
int units_time(const char *text, int64_t now_ns, int64_t *ns);
int units_time_data(const char *text, int64_t now_ns, int64_t *ns, bool *data);

/*
 * Formats a value for people, into a buffer of UNITS_TEXT bytes, and returns
 * the buffer: "64.0 MiB", "4.00 Gb/s", "1m 30s", "2026-11-20T10:00:00.000Z".
 */
enum { UNITS_TEXT = 40 };
const char *units_show_bytes(char *text, uint64_t bytes);
const char *units_show_rate(char *text, double bits_per_s);
const char *units_show_span(char *text, int64_t ns);
const char *units_show_time(char *text, int64_t ns);	/* with milliseconds */
const char *units_show_time_ns(char *text, int64_t ns); /* with nine digits */

#endif
