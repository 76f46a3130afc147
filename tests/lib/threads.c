/* SPDX-License-Identifier: MIT */
/*
 * The linker puts this in the place of pthread_create(), for unit tests and for
 * all of the product that is in their programs.
 */
#include <pthread.h>
#include <stdio.h>

#include "lib/suite.h"

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *how,
			  void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how,
			  void *(*run)(void *), void *arg);

int
__wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how,
		      void *(*run)(void *), void *arg)
{
	if (!suite_threads) {
		fprintf(stderr, "a test starts a thread: the SUITE of its file "
				"has to be SUITE_THREADS\n");
		abort();
	}
	return __real_pthread_create(thread, how, run, arg);
}
