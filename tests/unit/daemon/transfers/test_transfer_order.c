/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/transfers/transfer.h"
#include "lib/suite.h"

static const struct setup_send setup = { .rate = 77, .o = { .patience = 60 } };
static struct fault fault;

static int
order(struct transfer_order *o, const char *text)
{
	json_t *request = json_loads(text, 0, NULL);
	int err;

	ck_assert_msg(request != NULL, "%s", text);
	fault = (struct fault){ 0 };
	err = transfer_order_read(o, request, &setup, &fault);
	json_decref(request);
	return err;
}

START_TEST(least)
{
	struct transfer_order o = { .relay = false };

	ck_assert_int_eq(order(&o, "{\"name\":\"a\",\"to\":\"null:\"}"), 0);
	ck_assert_str_eq(o.name, "a");
	ck_assert_str_eq(o.to, "null:");
	ck_assert(!o.relay && !o.follow && !o.plain);
	ck_assert_uint_eq(o.rate, 77);
	ck_assert_int_eq(o.patience, 60);
	ck_assert_int_eq(o.until, 0);
	ck_assert_int_eq(o.choice.sub, -1);
	ck_assert_int_eq(o.choice.prefix, SEND_PREFIX_MADE);
	transfer_order_clear(&o);
}
END_TEST

START_TEST(all)
{
	struct transfer_order o = { .relay = false };

	ck_assert_int_eq(
	    order(&o, "{\"name\":\"a\",\"to\":\"udp://h:1\",\"rate\":\"data\","
		      "\"connections\":4,\"plain\":true,\"follow\":true,"
		      "\"range\":\"2026-11-20T10:00:00Z.."
		      "2026y324d10h00m01s\",\"threads\":[3,1023],\"sub\":0,"
		      "\"strip\":16,\"no_prefix\":true,\"packet\":4096,"
		      "\"priority\":-3,\"patience\":\"2m\"}"),
	    0);
	ck_assert_uint_eq(o.rate, SEND_RATE_DATA);
	ck_assert_uint_eq(o.connections, 4);
	ck_assert(o.plain && o.follow);
	ck_assert_int_eq(o.choice.to_ns - o.choice.from_ns, 1000000000);
	ck_assert_uint_eq(o.choice.threads_n, 2);
	ck_assert_uint_eq(o.choice.threads[1], 1023);
	ck_assert_int_eq(o.choice.sub, 0);
	ck_assert_uint_eq(o.choice.strip, 16);
	ck_assert_int_eq(o.choice.prefix, SEND_PREFIX_NONE);
	ck_assert_uint_eq(o.choice.packet, 4096);
	ck_assert_int_eq(o.priority, -3);
	ck_assert_int_eq(o.patience, INT64_C(120000000000));
	transfer_order_clear(&o);
	ck_assert_int_eq(order(&o, "{\"name\":\"a\",\"to\":\"x\","
				   "\"bytes\":\"1K..\",\"strip\":\"header\"}"),
			 0);
	ck_assert_uint_eq(o.choice.from_byte, 1024);
	ck_assert_uint_eq(o.choice.to_byte, 0);
	ck_assert(o.choice.headers_off);
	transfer_order_clear(&o);
}
END_TEST

START_TEST(relay)
{
	struct transfer_order o = { .relay = true };

	ck_assert_int_eq(order(&o, "{\"stream\":\"s\",\"to\":\"null:\","
				   "\"for\":\"1s\",\"range\":\"ignored\"}"),
			 0);
	ck_assert(o.relay);
	ck_assert_str_eq(o.name, "s");
	ck_assert(o.until > clock_steady());
	transfer_order_clear(&o);
	ck_assert_int_eq(order(&o, "{\"name\":\"s\",\"to\":\"null:\"}"),
			 -EINVAL);
	ck_assert_str_eq(fault.what, "`stream` is missing");
}
END_TEST

/* Each says which key is wrong. */
START_TEST(wrong)
{
	static const char *const request[][2] = {
		{ "\"to\":5", "`to`" },
		{ "\"to\":\"\"", "`to`" },
		{ "\"rate\":\"fast\"", "'fast' is no rate" },
		{ "\"rate\":\"0\"", "'0' is no rate" },
		{ "\"rate\":8", "`rate`" },
		{ "\"connections\":0", "`connections`" },
		{ "\"priority\":1.5", "`priority`" },
		{ "\"plain\":1", "`plain`" },
		{ "\"patience\":\"-1s\"", "`patience`" },
		{ "\"range\":\"..\"", "`range`" },
		{ "\"range\":\"now..\"", "`range`" },
		{ "\"range\":\"2026-11-20T10:00:00Z..2026-11-20T10:00:00Z\"",
		  "before it begins" },
		{ "\"bytes\":\"5\"", "`bytes`" },
		{ "\"bytes\":\"..0\"", "before it begins" },
		{ "\"range\":\"2026-11-20T10:00:00Z..\",\"bytes\":\"0..1\"",
		  "not both" },
		{ "\"threads\":[]", "`threads`" },
		{ "\"threads\":[1024]", "a thread" },
		{ "\"sub\":-1", "`sub`" },
		{ "\"strip\":\"x\"", "`strip`" },
		{ "\"packet\":1", "`packet`" },
	};
	struct transfer_order o = { .relay = false };
	char text[256];

	for (size_t i = 0; i < sizeof request / sizeof *request; i++) {
		snprintf(text, sizeof text,
			 "{\"name\":\"a\",\"to\":\"null:\",%s}", request[i][0]);
		ck_assert_msg(order(&o, text) < 0, "%s", text);
		ck_assert_msg(strstr(fault.what, request[i][1]) != NULL,
			      "%s: %s", text, fault.what);
		ck_assert_ptr_null(o.to);
	}
}
END_TEST

SUITE("transfer_order", least, all, relay, wrong)
