/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_RECEIVER_PRIV_H
#define SPATE_FLOW_RECEIVE_RECEIVER_PRIV_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/epoll.h>

#include "flow/memory/beat.h"
#include "flow/receive/receiver.h"

/*
 * A receiver, as its two halves share it: receiver.c runs on the thread,
 * receiver_thread.c has what other threads call.
 */
enum { RECEIVER_EVENTS = 512 }; /* of one epoll_wait */

struct order {
	struct feed *feed;
	struct order *next; /* receiver::orders */
};

struct receiver {
	pthread_t thread;
	int epoll, wake;

	/* Used by the thread alone. */
	struct intake *intakes; /* intakes that have feeds */
	struct feed *closing;	/* feeds that are ending */
	int64_t next_close;	/* steady ns, when the next gate closes */
	struct arrival arrival;
	int64_t next_tick;
	int64_t passed; /* steady ns, start of the last pass */
	int64_t rest;	/* ns of the last rest */
	struct epoll_event event[RECEIVER_EVENTS];

	struct beat beat; /* set by the thread, read by the event loop */

	pthread_mutex_t lock; /* guards the fields below */
	struct order *orders, **orders_end;
	bool stop;
};

/* Main function of the thread. */
void *receiver_run(void *arg);

#endif
