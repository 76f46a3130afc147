/* SPDX-License-Identifier: MIT */
/*
 * Feeds the readers of `listen` and `allow` with foreign text.  An address
 * that is taken has a sane number of substreams, and each of them is shown as
 * an address that is taken again and means the same; what is refused has a
 * sentence.
 */
#include <stdlib.h>
#include <string.h>

#include "net/address.c"
#include "net/allow.c"
#include "net/endpoint.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void
must(bool truth)
{
	if (!truth)
		abort();
}

static void
sub_check(const struct address *a, uint32_t sub)
{
	char text[ENDPOINT_TEXT], again[ENDPOINT_TEXT], why[512];
	union endpoint at = address_at(a, sub);
	struct address b;

	endpoint_show(&at, text);
	must(address_parse(&b, text, why, sizeof why) == 0);
	must(address_subs(&b) == 1);
	/* IPv4 in IPv6 is shown as IPv4. */
	if (at.any.sa_family == b.first.any.sa_family)
		must(endpoint_is_group(&at) == endpoint_is_group(&b.first));
	endpoint_show(&b.first, again);
	must(strcmp(text, again) == 0);
	must(endpoint_mix(&at) != 0);
}

static void
text_check(const char *text)
{
	char why[512] = "";
	struct address a;

	if (address_parse(&a, text, why, sizeof why) < 0) {
		must(strstr(why, "listen: '") == why);
		return;
	}
	must(address_subs(&a) >= 1 && address_subs(&a) <= 65535);
	must(strlen(a.device) < sizeof a.device);
	sub_check(&a, 0);
	sub_check(&a, address_subs(&a) - 1);
}

static void
allow_check(const char *text)
{
	struct option_texts texts = { &text, 1 };
	union endpoint from = { .any.sa_family = AF_INET };
	struct allow allow = { 0 };
	char why[512] = "";

	if (allow_parse(&allow, &texts, why, sizeof why) < 0)
		must(strstr(why, "allow: '") == why);
	else
		must(allow.network[0].bits <= 128);
	(void)allow_has(&allow, &from);
	allow_clear(&allow);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1);

	memcpy(text, data, bytes);
	text[bytes] = 0;
	text_check(text);
	allow_check(text);
	free(text);
	return 0;
}
