/* SPDX-License-Identifier: MIT */
#include "net/endpoint.c"
#include "net/url.c"

#include "lib/suite.h"

static char why[512];

static struct url
read_url(const char *text)
{
	struct url u;

	ck_assert_msg(url_read(&u, text, why, sizeof why) == 0, "%s: %s", text,
		      why);
	return u;
}

/* What a url is taken for, in one line. */
static const char *
taken(const char *text)
{
	static char line[512];
	struct url u = read_url(text);

	snprintf(line, sizeof line, "%u %s@%s+%u:%u-%u%.200s", u.scheme,
		 u.device, u.host, u.groups, u.first, u.last, u.path);
	return line;
}

START_TEST(what_is_a_url)
{
	static const char *const good[][2] = {
		{ "udp://10.0.0.7:46000", "0 @10.0.0.7+1:46000-46000" },
		{ "udp://10.0.0.7", "0 @10.0.0.7+1:46227-46227" },
		{ "udp://10.0.0.7/", "0 @10.0.0.7+1:46227-46227" },
		{ "udp://[fd00::7]:5", "0 @fd00::7+1:5-5" },
		{ "udp://[fd00::7]", "0 @fd00::7+1:46227-46227" },
		{ "udp://[fe80::1%eth2]:5", "0 @fe80::1%eth2+1:5-5" },
		{ "udp://h:41000-41431", "0 @h+1:41000-41431" },
		{ "udp://eth2@239.1.2.3:7148", "0 eth2@239.1.2.3+1:7148-7148" },
		{ "udp://239.1.2.3+7:7148", "0 @239.1.2.3+8:7148-7148" },
		{ "udp://[ff3e::1]+7:7148", "0 @ff3e::1+8:7148-7148" },
		{ "tcp://corr.example", "1 @corr.example+1:2630-2630" },
		{ "tcp://[::1]:65535", "1 @::1+1:65535-65535" },
		{ "ucx://10.0.0.7", "2 @10.0.0.7+1:2632-2632" },
		{ "etd://j:4/data/a:b@c", "3 @j+1:4-4/data/a:b@c" },
		{ "etd://j/", "3 @j+1:4004-4004/" },
		{ "etd://j", "3 @j+1:4004-4004" },
	};

	for (unsigned i = 0; i < sizeof good / sizeof *good; i++)
		ck_assert_str_eq(taken(good[i][0]), good[i][1]);
	ck_assert_uint_eq(url_ports(&(struct url){ .first = 1, .last = 65535 }),
			  65535);
}
END_TEST

START_TEST(what_is_none)
{
	static const char *const bad[][2] = {
		{ "", "begins with none of" },
		{ "udp", "begins with none of" },
		{ "udp:/10.0.0.7", "begins with none of" },
		{ "UDP://10.0.0.7", "begins with none of" },
		{ "http://10.0.0.7", "begins with none of" },
		{ "10.0.0.7:46227", "begins with none of" },
		{ "udp://", "no host" },
		{ "udp://:5", "no host" },
		{ "udp://eth2@", "no host" },
		{ "udp://10.0.0.7:", "'' is no port" },
		{ "udp://10.0.0.7:0", "'0' is no port" },
		{ "udp://10.0.0.7:65536", "'65536' is no port" },
		{ "udp://10.0.0.7:5x", "'5x' is no port" },
		{ "udp://10.0.0.7:-5", "'-5' is no port" },
		{ "udp://10.0.0.7:5-", "'5-' is no port" },
		{ "udp://10.0.0.7:6-5", "ports 6 to 5 are no range" },
		{ "tcp://10.0.0.7:5-6", "tcp goes to one port" },
		{ "udp://::1:5", "brackets" },
		{ "udp://[]:5", "neither" },
		{ "udp://[localhost]:5", "neither" },
		{ "udp://[::1:5", "brackets" },
		{ "udp://a b:5", "neither" },
		{ "udp://@h:5", "interface" },
		{ "udp://ninechars-and-more@h:5", "interface" },
		{ "udp://239.1.2.3+:5", "'+'" },
		{ "udp://239.1.2.3+1:5-6", "not both" },
		{ "tcp://10.0.0.7+1:5", "'+1'" },
		{ "tcp://10.0.0.7/data", "no path" },
	};

	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct url u;

		memset(why, 0, sizeof why);
		ck_assert_msg(url_read(&u, bad[i][0], why, sizeof why) ==
				  -EINVAL,
			      "'%s' was taken", bad[i][0]);
		ck_assert_msg(strstr(why, bad[i][1]), "'%s': %s", bad[i][0],
			      why);
		ck_assert_ptr_nonnull(strstr(why, "; write it as "));
	}
}
END_TEST

START_TEST(what_is_too_long)
{
	char text[2000], small[8] = "";
	struct url u;

	for (unsigned n = 1; n < sizeof text - 10; n++) {
		strcpy(text, "udp://");
		memset(text + 6, 'a', n);
		text[6 + n] = 0;
		ck_assert_int_eq(url_read(&u, text, small, sizeof small),
				 n < sizeof u.host ? 0 : -EINVAL);
		ck_assert_uint_lt(strlen(small), sizeof small);
		memcpy(text, "etd://h/", 8);
		ck_assert_int_eq(url_read(&u, text, why, sizeof why),
				 strlen(text) < sizeof u.path + 7 ? 0
								  : -EINVAL);
	}
}
END_TEST

static struct resolved
found(const char *text)
{
	struct url u = read_url(text);
	struct resolved r;

	ck_assert_msg(resolve(&r, &u, why, sizeof why) == 0, "%s: %s", text,
		      why);
	return r;
}

START_TEST(hosts_are_looked_up)
{
	char shown[ENDPOINT_TEXT];
	struct resolved r = found("udp://10.1.2.3:5");

	ck_assert_uint_eq(r.n, 1);
	endpoint_show(&r.at[0], shown);
	ck_assert_str_eq(shown, "10.1.2.3:5");
	r = found("tcp://[fd00::7]:6");
	ck_assert_uint_eq(r.n, 1);
	endpoint_show(&r.at[0], shown);
	ck_assert_str_eq(shown, "[fd00::7]:6");
	r = found("udp://localhost:7-9");
	ck_assert_uint_ge(r.n, 1);
	ck_assert_uint_eq(endpoint_port(&r.at[0]), 7);
	r = found("udp://lo@[ff12::1]:7");
	ck_assert_uint_eq(r.at[0].v6.sin6_scope_id, if_nametoindex("lo"));
	r = found("udp://lo@[fd00::1]:7");
	ck_assert_uint_eq(r.at[0].v6.sin6_scope_id, 0);
}
END_TEST

static void
is_not_found(const char *text, const char *because)
{
	struct url u = read_url(text);
	struct resolved r;

	why[0] = 0;
	ck_assert_msg(resolve(&r, &u, why, sizeof why) < 0, "%s", text);
	ck_assert_msg(strstr(why, because), "%s: %s", text, why);
}

START_TEST(who_is_not_known)
{
	is_not_found("udp://nowhere.invalid:5", "'nowhere.invalid'");
	is_not_found("udp://nowhere.invalid:5", "address as a number");
	is_not_found("tcp://10.0.0.256:5", "four numbers");
	is_not_found("tcp://[fd00::7::8]:5", "brackets");
	is_not_found("udp://nosuchdevice@[ff12::1]:5", "ip link");
}
END_TEST

SUITE("url", what_is_a_url, what_is_none, what_is_too_long, hosts_are_looked_up,
      who_is_not_known)
