/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_FORECAST_WHY_H
#define SPATE_DAEMON_SCHEDULE_FORECAST_WHY_H

#include "daemon/schedule/forecast.h"

/* What a scan lacks, for the sentence that says so. */
struct forecast_want {
	int64_t from, to;   /* when it does; from == to: at no special time */
	uint64_t all, has;  /* what would be asked for, and what there is */
	uint64_t own, most; /* its part of that, and what it could have alone */
};

/* Writes `why` of a scan that is refused; its lack and rivals are set. */
void forecast_why(struct forecast_scan *scan, unsigned of,
		  const struct forecast_want *want);

/* The same of one that is armed late. */
void forecast_why_late(struct forecast_scan *scan, unsigned of);

#endif
