/* SPDX-License-Identifier: MIT */
#include "web/web_host.c"

#include "lib/suite.h"

/* Does `host` mean the machine when it was asked at `address`? */
static bool
here(const char *host, const char *address)
{
	static const char *const names[] = { "recorder.example", "r2" };
	static const struct option_texts hosts = { names, 2 };
	union endpoint e;

	ck_assert(endpoint_host(&e, address));
	return web_host_is_here(host, &e, &hosts);
}

START_TEST(names)
{
	ck_assert(here("localhost", "127.0.0.1"));
	ck_assert(here("LOCALHOST:80", "10.0.0.7"));
	ck_assert(here("recorder.example", "10.0.0.7"));
	ck_assert(here("Recorder.Example:9469", "10.0.0.7"));
	ck_assert(here("r2", "::1"));
	ck_assert(!here("recorder.example.evil", "10.0.0.7"));
	ck_assert(!here("evil.recorder.example", "10.0.0.7"));
	ck_assert(!here("recorder.example.", "10.0.0.7"));
	ck_assert(!here("evil", "10.0.0.7"));
	ck_assert(!here("", "10.0.0.7"));
	ck_assert(!here(NULL, "10.0.0.7"));
}
END_TEST

START_TEST(addresses)
{
	ck_assert(here("10.0.0.7", "10.0.0.7"));
	ck_assert(here("10.0.0.7:9469", "10.0.0.7"));
	ck_assert(here("127.0.0.1", "10.0.0.7"));
	ck_assert(here("127.1.2.3:1", "::1"));
	ck_assert(here("[::1]", "10.0.0.7"));
	ck_assert(here("[fd00::7]:9469", "fd00::7"));
	ck_assert(!here("[fd00::8]:9469", "fd00::7"));
	ck_assert(!here("10.0.0.8", "10.0.0.7"));
	ck_assert(!here("10.0.0.7", "fd00::7"));
}
END_TEST

START_TEST(garbage)
{
	char longer[400];

	memset(longer, 'a', sizeof longer - 1);
	longer[sizeof longer - 1] = 0;
	ck_assert(!here(longer, "::1"));
	ck_assert(!here("localhost:", "::1"));
	ck_assert(!here("localhost:99999", "::1"));
	ck_assert(!here("localhost:80:80", "::1"));
	ck_assert(!here("localhost ", "::1"));
	ck_assert(!here("[::1", "::1"));
	ck_assert(!here("[", "::1"));
	ck_assert(!here("[]", "::1"));
	ck_assert(!here("[::1]x", "::1"));
	ck_assert(!here(":80", "::1"));
}
END_TEST

SUITE("web_host", names, addresses, garbage)
