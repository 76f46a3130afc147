/* SPDX-License-Identifier: MIT */
#include "flow/memory/hot_pages.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "lib/suite.h"

/* True if the kernel says of the mapping with this address that it is locked. */
static bool
is_locked(const void *at)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	bool inside = false, locked = false;
	uint64_t from, to;
	char line[600];

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &from, &to) == 2)
			inside = (uintptr_t)at >= from && (uintptr_t)at < to;
		else if (inside && !strncmp(line, "VmFlags:", 8))
			locked = strstr(line, " lo");
	}
	fclose(f);
	return locked;
}

static const char *
can_lock(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool can;

	ck_assert_ptr_ne(page, MAP_FAILED);
	can = mlock2(page, 4096, MLOCK_ONFAULT) == 0 && is_locked(page);
	munmap(page, 4096);
	return can ? NULL : "no memory is locked here, or by no sanitizer";
}

static void *
thread_run(void *arg)
{
	bool *locked = arg;
	char here[100] = "";

	locked[0] = is_locked(here);
	ck_assert_int_eq(hot_pages_lock_stack(), 0);
	locked[1] = is_locked(here);
	return NULL;
}

START_TEST(stacks_are_locked)
{
	bool locked[2];
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, thread_run, locked), 0);
	pthread_join(thread, NULL);
	ck_assert(!locked[0]);
	ck_assert(locked[1]);
}
END_TEST

START_TEST(code_is_locked)
{
	static const char constant[] = "that is not in a register";

	ck_assert(!is_locked((void *)(uintptr_t)hot_pages_lock_code));
	hot_pages_lock_code(false);
	ck_assert(is_locked((void *)(uintptr_t)hot_pages_lock_code));
	ck_assert(is_locked((void *)(uintptr_t)mlock2));
	ck_assert(is_locked(constant));
}
END_TEST

SUITE_THREADS("hot_pages", can_lock, stacks_are_locked, code_is_locked)
