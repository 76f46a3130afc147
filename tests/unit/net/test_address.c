/* SPDX-License-Identifier: MIT */
#include "net/address.c"
#include "net/endpoint.c"

#include "lib/suite.h"

static char why[512];

static struct address
parse(const char *text)
{
	struct address a;

	ck_assert_msg(address_parse(&a, text, why, sizeof why) == 0, "%s: %s",
		      text, why);
	ck_assert_ptr_eq(a.text, text);
	return a;
}

/* Where substream `sub` of `text` comes in, shown again. */
static const char *
shown(const char *text, uint32_t sub)
{
	static char show[ENDPOINT_TEXT];
	struct address a = parse(text);
	union endpoint at;

	ck_assert_uint_lt(sub, address_subs(&a));
	at = address_at(&a, sub);
	endpoint_show(&at, show);
	return show;
}

START_TEST(plain_addresses)
{
	ck_assert_str_eq(shown("0.0.0.0:46227", 0), "0.0.0.0:46227");
	ck_assert_str_eq(shown("127.0.0.1:0", 0), "127.0.0.1:0");
	ck_assert_str_eq(shown("[::]:46227", 0), "[::]:46227");
	ck_assert_str_eq(shown("[fd00::7]:65535", 0), "[fd00::7]:65535");
	ck_assert_str_eq(shown(":46227", 0), "0.0.0.0:46227");
	ck_assert_str_eq(parse("0.0.0.0:5").device, "");
	ck_assert_int_eq(parse("0.0.0.0:5").sender.any.sa_family, AF_UNSPEC);
}
END_TEST

START_TEST(interfaces)
{
	ck_assert_str_eq(parse("eth2@0.0.0.0:46227").device, "eth2");
	ck_assert_str_eq(shown("eth2@0.0.0.0:46227", 0), "0.0.0.0:46227");
	ck_assert_str_eq(parse("[fe80::1%eth2]:5").device, "eth2");
	ck_assert_str_eq(shown("[fe80::1%eth2]:5", 0), "[fe80::1]:5");
	ck_assert_str_eq(parse("eth2@[fe80::1%eth2]:5").device, "eth2");
	ck_assert_str_eq(parse("bond0.17@:5").device, "bond0.17");
	ck_assert_str_eq(parse("eth2@[ff05::1]:5").device, "eth2");
}
END_TEST

START_TEST(port_ranges)
{
	struct address a = parse("0.0.0.0:41000-41431");

	ck_assert_uint_eq(address_subs(&a), 432);
	ck_assert_str_eq(shown(a.text, 0), "0.0.0.0:41000");
	ck_assert_str_eq(shown(a.text, 431), "0.0.0.0:41431");
	a = parse("[::1]:5-5");
	ck_assert_uint_eq(address_subs(&a), 1);
	a = parse("[::1]:1-65535");
	ck_assert_uint_eq(address_subs(&a), 65535);
	ck_assert_str_eq(shown("[::1]:1-65535", 65534), "[::1]:65535");
}
END_TEST

START_TEST(groups)
{
	struct address a = parse("239.2.1.150+7:7148");

	ck_assert_uint_eq(address_subs(&a), 8);
	ck_assert_str_eq(shown(a.text, 0), "239.2.1.150:7148");
	ck_assert_str_eq(shown(a.text, 7), "239.2.1.157:7148");
	ck_assert_str_eq(shown("239.2.1.250+7:7148", 7), "239.2.2.1:7148");
	ck_assert_str_eq(shown("[ff05::ffff]+1:7148", 1), "[ff05::1:0]:7148");
	a = parse("239.1.2.3+0:7148");
	ck_assert_uint_eq(address_subs(&a), 1);
	a = parse("239.1.2.3:7148-7155");
	ck_assert_uint_eq(address_subs(&a), 8);
}
END_TEST

START_TEST(groups_of_one_sender)
{
	struct address a = parse("eth2@10.0.0.7>239.1.2.3:7148");

	ck_assert_str_eq(a.device, "eth2");
	ck_assert_int_eq(a.sender.any.sa_family, AF_INET);
	ck_assert_uint_eq(ntohl(a.sender.v4.sin_addr.s_addr), 0x0a000007);
	ck_assert_str_eq(shown(a.text, 0), "239.1.2.3:7148");
	a = parse("[fd00::7]>[ff3e::1234]:7148");
	ck_assert_int_eq(a.sender.any.sa_family, AF_INET6);
	a = parse("fd00::7>[ff3e::1234%eth2]:7148");
	ck_assert_uint_eq(a.sender.v6.sin6_addr.s6_addr[15], 7);
	ck_assert_str_eq(a.device, "eth2");
	a = parse("10.0.0.7>232.1.1.1+3:7148");
	ck_assert_uint_eq(address_subs(&a), 4);
}
END_TEST

START_TEST(names)
{
	struct address a = parse("localhost:41000-41003");

	ck_assert_str_eq(a.name, "localhost");
	ck_assert_uint_eq(address_subs(&a), 4);
	ck_assert_int_eq(address_resolve(&a, why, sizeof why), 0);
	ck_assert_uint_eq(endpoint_port(&a.first), 41000);
	a = parse("10.1.2.3:5");
	ck_assert_str_eq(a.name, "");
	a = parse("nowhere.invalid:5");
	ck_assert_int_eq(address_resolve(&a, why, sizeof why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "nowhere.invalid"));
}
END_TEST

START_TEST(what_is_no_address)
{
	static const char *const bad[][2] = {
		{ "", "no port" },
		{ ":", "'' is no port" },
		{ "127.0.0.1", "no port" },
		{ "127.0.0.1:", "'' is no port" },
		{ "127.0.0.1:70000", "'70000' is no port" },
		{ "127.0.0.1:-5", "'-5' is no port" },
		{ "127.0.0.1:5-", "'5-' is no port" },
		{ "127.0.0.1:5x", "'5x' is no port" },
		{ "127.0.0.1: 5", "' 5' is no port" },
		{ "127.0.0.1:000005", "'000005' is no port" },
		{ "127.0.0.1:5-6-7", "'5-6-7' is no port" },
		{ "127.0.0.1:10000-10001000-1", "'10000-10001000-1'" },
		{ "127.0.0.1:6-5", "no range" },
		{ "127.0.0.1:0-5", "no range" },
		{ "127.0.0.1:4-70000", "'4-70000' is no port" },
		{ "127.0.0:5", "neither a number nor a name" },
		{ "256.0.0.1:5", "neither a number nor a name" },
		{ "1271:5", "neither a number nor a name" },
		{ "a b:5", "neither a number nor a name" },
		{ "::1:5", "brackets" },
		{ "[::1:5", "neither" },
		{ "[::1]5", "no port" },
		{ "[::1]]:5", "neither" },
		{ "[]:5", "neither" },
		{ "[127.0.0.1]:5", "brackets are for IPv6" },
		{ "[localhost]:5", "neither" },
		{ "[::1%]:5", "interface" },
		{ "[fe80::1%eth2eth2eth2eth2]:5", "interface" },
		{ "eth2@[fe80::1%eth3]:5", "both eth2 and eth3" },
		{ "@0.0.0.0:5", "interface" },
		{ "eth2eth2eth2eth2@0.0.0.0:5", "interface" },
		{ "eth 2@0.0.0.0:5", "interface" },
		{ "10.0.0.7>10.0.0.8:5", "multicast" },
		{ "10.0.0>239.1.2.3:5", "no sender's address" },
		{ "239.1.2.4>239.1.2.3:5", "no sender's address" },
		{ ">239.1.2.3:5", "no sender's address" },
		{ "10.0.0.7>[ff3e::1]:5", "both IPv4 or IPv6" },
		{ "10.0.0.7>localhost:5", "multicast" },
		{ "10.0.0.1+7:5", "multicast group" },
		{ "localhost+7:5", "multicast group" },
		{ "239.255.255.250+7:5", "within the groups" },
		{ "239.1.2.3+:5", "'+'" },
		{ "239.1.2.3+x:5", "'+x'" },
		{ "239.1.2.3+70000:5", "'+70000'" },
		{ "239.1.2.3+3:5-8", "not both" },
	};

	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct address a;

		memset(why, 0, sizeof why);
		ck_assert_msg(address_parse(&a, bad[i][0], why, sizeof why) ==
				  -EINVAL,
			      "'%s' was taken", bad[i][0]);
		ck_assert_msg(strstr(why, bad[i][1]), "'%s': %s", bad[i][0],
			      why);
		ck_assert_ptr_nonnull(strstr(why, "0.0.0.0:46227"));
	}
}
END_TEST

START_TEST(what_is_too_long)
{
	char text[1000], small[8];
	struct address a;

	for (unsigned n = 1; n < sizeof text - 3; n++) {
		memset(text, 'a', n);
		strcpy(text + n, ":5");
		ck_assert_int_eq(address_parse(&a, text, why, sizeof why),
				 n < sizeof a.name ? 0 : -EINVAL);
		memset(text, '@', n);
		ck_assert_int_eq(address_parse(&a, text, small, sizeof small),
				 -EINVAL);
		ck_assert_uint_lt(strlen(small), sizeof small);
	}
}
END_TEST

static union endpoint
endpoint(const char *text)
{
	struct address a = parse(text);

	return a.first;
}

START_TEST(senders_differ)
{
	union endpoint e = endpoint("10.0.0.1:5000");
	uint32_t was = endpoint_mix(&e);
	unsigned same = 0;

	ck_assert_uint_eq(endpoint_mix(&e), was);
	for (unsigned i = 1; i < 5000; i++) {
		union endpoint port = e, host = e;

		endpoint_port_set(&port, (uint16_t)(5000 + i));
		endpoint_step(&host, i);
		same += endpoint_mix(&port) == was;
		same += endpoint_mix(&host) == was;
		same += endpoint_mix(&host) == endpoint_mix(&port);
		ck_assert_uint_ne(endpoint_mix(&port), 0);
	}
	e = endpoint("[fd00::1]:5000");
	was = endpoint_mix(&e);
	for (unsigned i = 1; i < 5000; i++) {
		endpoint_step(&e, 1);
		same += endpoint_mix(&e) == was;
		was = endpoint_mix(&e);
	}
	ck_assert_uint_eq(same, 0);
}
END_TEST

START_TEST(endpoints_as_text)
{
	static const char longest[] =
	    "[1111:2222:3333:4444:5555:6666:7777:8888]:65535";
	union endpoint e = { 0 };
	char text[ENDPOINT_TEXT];

	endpoint_show(&e, text);
	ck_assert_str_eq(text, "");
	e = endpoint("[::ffff:10.1.2.3]:77");
	endpoint_show(&e, text);
	ck_assert_str_eq(text, "10.1.2.3:77");
	e = endpoint(longest);
	endpoint_show(&e, text);
	ck_assert_str_eq(text, longest);
	e = endpoint("[fe80::1]:77");
	e.v6.sin6_scope_id = if_nametoindex("lo");
	endpoint_show(&e, text);
	ck_assert_str_eq(text, "[fe80::1%lo]:77");
}
END_TEST

SUITE("address", plain_addresses, interfaces, port_ranges, groups,
      groups_of_one_sender, names, what_is_no_address, what_is_too_long,
      senders_differ, endpoints_as_text)
