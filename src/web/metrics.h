/* SPDX-License-Identifier: MIT */
#ifndef SPATE_WEB_METRICS_H
#define SPATE_WEB_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "web/figures.h"

/*
 * Metrics are the figures as text for Prometheus.  Their number follows the
 * configuration: streams, disks and causes are labels, a recording never is.
 */

/* Figures of spate-web itself. */
struct metrics_web {
	uint64_t answered; /* requests with an answer */
	uint64_t refused;  /* requests without */
};

/*
 * Makes the text, which the caller frees; `open`: OpenMetrics 1.0, else the text
 * format 0.0.4 of Prometheus.  NULL without memory.
 */
char *metrics_text(const struct figures *f, const struct metrics_web *web,
		   bool open, size_t *bytes);

#endif
