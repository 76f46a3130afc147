/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_DATA_CLOCK_H
#define SPATE_FLOW_PLACE_DATA_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/format.h"

/*
 * The data's clock: how far the time that packets say is behind the time at
 * which they arrived, by our clock.
 *
 *   receiver: some packets --> window, one a second --> under intake::lock
 *                                                          |
 *   event loop:            line through the windows <------+
 *
 * A packet never arrives early.  The network, the card and a busy machine only
 * add to its way, so the least of many packets is what counts.
 */

/* ---- a window: some packets of one second ------------------------------ */

enum {
	DATA_CLOCK_THREADS = 128, /* more are not looked at */
	DATA_CLOCK_SENDER = 64,	  /* bytes of an address */
};

/* One thread of a station, in one substream. */
struct data_clock_thread {
	uint32_t sub, thread, station;
	uint32_t packets;
	int64_t behind;	 /* ns, the least */
	int64_t arrived; /* UTC ns, of the packet that was least behind */
	char sender[DATA_CLOCK_SENDER]; /* address; "": not known */
};

struct data_clock_window {
	uint64_t number; /* windows shown so far; 0: none */
	uint32_t fps;	 /* frames per second of a thread */
	int64_t offset;	 /* ns, UTC minus steady, see struct arrival */
	/* Every packet had a time stamp; else some have the time at which they
	 * were read. */
	bool stamped;
	bool carded;	      /* some have the stamp of a network card */
	unsigned threads, at; /* at: the one found last */
	struct data_clock_thread thread[DATA_CLOCK_THREADS];
};

/* Empties a window, but for its number. */
void data_clock_clear(struct data_clock_window *w);

/* Adds a packet that has FORMAT_TIME.  `arrived`: UTC ns; `sender`: its address;
 * "": not known. */
void data_clock_packet(struct data_clock_window *w, uint32_t sub,
		       const struct format_packet *p, int64_t data_ns,
		       int64_t arrived, const char *sender);

/* Adds the threads of another window.  One that both have keeps what is
 * least. */
void data_clock_merge(struct data_clock_window *w,
		      const struct data_clock_window *from);

/* ---- a line: many windows ---------------------------------------------- */

enum {
	DATA_CLOCK_POINTS = 60, /* windows that the line goes through */
	DATA_CLOCK_OUT = 8,	/* windows that may lie beside it */
};

/* Sums of a fit: how y, s behind, grows with x, s of arrival. */
struct data_clock_fit {
	double n, x, y, xx, xy, yy;
};

/*
 * A straight line through the windows of the last minute.  Windows that lie
 * beside it are kept apart until they tell what they are:
 *
 *   the line again           some came late: forgotten
 *   three at one distance    the clock stepped: the line moves there
 *   eight, at no distance    the clock drifts another way: the line begins anew
 *
 * When our own clock is set, that is no step of the data's.
 *
 * Not safe by itself: the caller's lock, or thread.
 */
struct data_clock {
	struct data_clock_point {
		int64_t arrived; /* steady ns */
		int64_t behind;	 /* ns, without the steps since then */
	} point[DATA_CLOCK_POINTS], out[DATA_CLOCK_OUT];
	uint64_t points; /* since the line began; the last ones are kept */
	unsigned outs;
	bool stamped, carded; /* see data_clock_window */
	bool known;	      /* known: a window came */
	int64_t offset;	      /* of the last window */

	uint64_t steps;
	int64_t step_ns; /* the last one */
	int64_t stepped; /* sum of all, ns, with those of our own clock */

	/* A thread that was not where the others were, at the last window. */
	struct data_clock_apart {
		uint32_t sub, thread, station;
		int64_t ns;	  /* behind the others */
		unsigned windows; /* so many in a row; 0: there was none */
	} apart;
};

/* Adds a window that has threads. */
void data_clock_add(struct data_clock *c, const struct data_clock_window *w);

/* Returns whether it is known how far the data are behind, at the last window;
 * then sets *behind_ns. */
bool data_clock_behind(const struct data_clock *c, int64_t *behind_ns);

/* Returns whether it is known how fast they fall behind over the last minute, s
 * in a s, and the standard deviation of that.  It takes ten windows. */
bool data_clock_drift(const struct data_clock *c, double *drift, double *error);

/* Returns how far the windows of the last minute lie from their line, a standard
 * deviation in s: what this cannot tell from nothing.  NAN: there are fewer than
 * ten. */
double data_clock_spread(const struct data_clock *c);

/* Returns the thread that is apart from the others, by about a frame or more, in
 * three windows in a row; NULL: none is. */
const struct data_clock_apart *data_clock_apart(const struct data_clock *c);

#endif
