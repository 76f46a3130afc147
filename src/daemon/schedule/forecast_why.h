/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_FORECAST_WHY_H
#define SPATE_DAEMON_SCHEDULE_FORECAST_WHY_H

#include "daemon/schedule/forecast.h"

/* The numbers for the sentence that says what a scan lacks. */
struct forecast_want {
	int64_t from, to;   /* when it lacks that; from == to: at no
			     * particular time */
	uint64_t all, has;  /* total demand, and how much there is */
	uint64_t own, most; /* this scan's part of the demand, and the most
			     * it could have alone */
};

/* Writes `why` of a refused scan, whose `lack` and `rivals` are set. */
void forecast_why(struct forecast_scan *scan, unsigned of,
		  const struct forecast_want *want);

/* Writes `why` of a scan that is armed late. */
void forecast_why_late(struct forecast_scan *scan, unsigned of);

#endif
