/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_RECEIVER_PRIV_H
#define SPATE_FLOW_RECEIVE_RECEIVER_PRIV_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/epoll.h>

#include "flow/memory/beat.h"
#include "flow/receive/receiver.h"

/*
 * What the halves of a receiver share: receiver.c is what its thread does,
 * receiver_thread.c what others do with the thread.
 */
enum { RECEIVER_EVENTS = 512 }; /* of one pass */

struct order {
	struct feed *feed;
	struct order *next; /* receiver::orders */
};

struct receiver {
	pthread_t thread;
	int epoll, wake;

	/* The thread's own. */
	struct intake *intakes; /* that have feeds */
	struct feed *closing;	/* at their end */
	int64_t next_close;	/* of all the others' gates */
	struct arrival arrival;
	int64_t next_tick;
	int64_t passed; /* when the last pass began */
	int64_t rest;	/* the last, ns */
	struct epoll_event event[RECEIVER_EVENTS];

	struct beat beat; /* see beat.h: set here, read by whoever watches */

	pthread_mutex_t lock; /* over what is below */
	struct order *orders, **orders_end;
	bool stop;
};

/* The thread. */
void *receiver_run(void *arg);

#endif
