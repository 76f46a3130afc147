/* SPDX-License-Identifier: MIT */
#include "net/allow.c"

#include "lib/suite.h"

static char why[256];

static int
parse(struct allow *allow, const char *const *texts, unsigned n)
{
	struct option_texts list = { texts, n };

	memset(why, 0, sizeof why);
	*allow = (struct allow){ 0 };
	return allow_parse(allow, &list, why, sizeof why);
}

/* Is `address` in the network? */
static bool
has(const char *network, const char *address)
{
	union endpoint from = { 0 };
	struct allow allow;
	bool answer;

	if (inet_pton(AF_INET, address, &from.v4.sin_addr) == 1) {
		from.any.sa_family = AF_INET;
	} else {
		ck_assert_int_eq(
		    inet_pton(AF_INET6, address, &from.v6.sin6_addr), 1);
		from.any.sa_family = AF_INET6;
	}
	ck_assert_int_eq(parse(&allow, &network, 1), 0);
	answer = allow_has(&allow, &from);
	allow_clear(&allow);
	return answer;
}

START_TEST(ipv4_networks)
{
	ck_assert(has("10.0.0.0/8", "10.255.1.2"));
	ck_assert(!has("10.0.0.0/8", "11.0.0.0"));
	ck_assert(has("10.1.2.3/8", "10.9.9.9"));
	ck_assert(has("192.168.4.0/22", "192.168.7.255"));
	ck_assert(!has("192.168.4.0/22", "192.168.8.0"));
	ck_assert(!has("192.168.4.0/22", "192.168.3.255"));
	ck_assert(has("127.0.0.1", "127.0.0.1"));
	ck_assert(!has("127.0.0.1", "127.0.0.2"));
	ck_assert(has("127.0.0.1/32", "127.0.0.1"));
	ck_assert(!has("127.0.0.0/31", "127.0.0.2"));
	ck_assert(has("0.0.0.0/0", "200.1.2.3"));
}
END_TEST

START_TEST(ipv6_networks)
{
	ck_assert(has("fd00::/8", "fdff::1"));
	ck_assert(!has("fd00::/8", "fe00::1"));
	ck_assert(has("2001:db8::/33", "2001:db8:7fff::"));
	ck_assert(!has("2001:db8::/33", "2001:db8:8000::"));
	ck_assert(has("::1", "::1"));
	ck_assert(!has("::1", "::2"));
	ck_assert(!has("::1/128", "::3"));
	ck_assert(has("::/0", "fe80::1"));
}
END_TEST

START_TEST(ipv4_seen_by_an_ipv6_socket)
{
	ck_assert(has("10.0.0.0/8", "::ffff:10.1.2.3"));
	ck_assert(!has("10.0.0.0/8", "::ffff:11.1.2.3"));
	ck_assert(has("::ffff:10.0.0.0/104", "10.1.2.3"));
	ck_assert(!has("0.0.0.0/0", "::1"));
	ck_assert(!has("10.0.0.0/8", "a00::"));
	ck_assert(has("::/0", "10.1.2.3"));
}
END_TEST

START_TEST(none_lets_everybody_in)
{
	union endpoint from = { .any.sa_family = AF_INET };
	struct allow allow;

	ck_assert_int_eq(parse(&allow, NULL, 0), 0);
	ck_assert(allow_has(&allow, &from));
	allow_clear(&allow);
}
END_TEST

START_TEST(any_of_several)
{
	static const char *const texts[] = { "10.0.0.0/8", "127.0.0.0/8" };
	union endpoint from = { .any.sa_family = AF_INET };
	struct allow allow;

	ck_assert_int_eq(parse(&allow, texts, 2), 0);
	from.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert(allow_has(&allow, &from));
	from.v4.sin_addr.s_addr = htonl(0xc0a80001);
	ck_assert(!allow_has(&allow, &from));
	allow_clear(&allow);
}
END_TEST

START_TEST(what_is_no_network)
{
	static const char *const bad[] = {
		"",
		"/8",
		"10.0.0.0/",
		"10.0.0.0/33",
		"10.0.0.0/8x",
		"10.0.0/8",
		"256.0.0.1",
		"10.0.0.0/-1",
		"10.0.0.0/ 8",
		"10.0.0.0/+8",
		"fd00::/129",
		"fd00::/8/8",
		"localhost",
		"10.0.0.0/99999999999999999999",
		" 10.0.0.0/8",
		"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb/8",
	};

	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct allow allow;

		ck_assert_msg(parse(&allow, &bad[i], 1) == -EINVAL,
			      "'%s' was taken", bad[i]);
		ck_assert_ptr_nonnull(strstr(why, bad[i]));
		ck_assert_ptr_nonnull(strstr(why, "10.0.0.0/8 or fd00::/8"));
		allow_clear(&allow);
	}
}
END_TEST

SUITE("allow", ipv4_networks, ipv6_networks, ipv4_seen_by_an_ipv6_socket,
      none_lets_everybody_in, any_of_several, what_is_no_network)
