/* SPDX-License-Identifier: MIT */
/* Reads the group `inbox`: where copies of recordings come in, and from
 * whom. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include "daemon/conf/setup.h"
#include "daemon/loop/vsi_allow.h"

#define AT(member) offsetof(struct setup_inbox, member)

const struct option_key setup_inbox_options[] = {
	{ .name = "listen",
	  .type = OPTION_TEXTS,
	  .offset = AT(listen),
	  .help = "addresses and ports where copies come in; none: nowhere" },
	{ .name = "secret_file",
	  .type = OPTION_TEXT,
	  .offset = AT(secret_file),
	  .help = "file with the secret that a sender has to know; none: "
		  "loopback alone" },
	{ .name = "allow",
	  .type = OPTION_TEXTS,
	  .offset = AT(allow),
	  .help = "networks that copies may come from; none: any" },
	{ .name = "connections",
	  .type = OPTION_COUNT,
	  .offset = AT(connections),
	  .fallback = "64",
	  .min = 1,
	  .max = 1024,
	  .help = "most connections at a time, of all copies together" },
	{ .name = NULL },
};

static int
blame(struct setup *c, const config_setting_t *group, const char *key,
      struct fault *fault)
{
	const config_setting_t *s =
	    config_setting_get_member((config_setting_t *)group, key);

	return conf_blame(c->conf, s ? s : group, -EINVAL, fault);
}

static bool
is_loopback(const struct sockaddr_storage *address)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *four = (const struct sockaddr_in *)address;

	if (address->ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
	return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static int
listen_check(struct setup *c, const config_setting_t *group, const char *text,
	     struct fault *fault)
{
	struct sockaddr_storage address;

	if (vsi_address_parse(&address, text) < 0) {
		fault_set(fault, -EINVAL, "conf",
			  "inbox: '%s' is no address to listen on", text);
		fault_hint(fault, "listen = [ \"127.0.0.1:2631\", "
				  "\"[::1]:2631\" ];");
		return blame(c, group, "listen", fault);
	}
	if (c->inbox.secret_file || is_loopback(&address))
		return 0;
	fault_set(fault, -EINVAL, "conf",
		  "inbox: without a secret it listens on loopback alone, "
		  "which %s is not",
		  text);
	fault_hint(fault, "secret_file = \"/etc/spate/secret\";");
	return blame(c, group, "listen", fault);
}

static int
allow_check(struct setup *c, const config_setting_t *group, struct fault *fault)
{
	struct vsi_network network;

	for (unsigned i = 0; i < c->inbox.allow.n; i++) {
		if (vsi_network_parse(&network, c->inbox.allow.text[i]) == 0)
			continue;
		fault_set(fault, -EINVAL, "conf", "inbox: '%s' is no network",
			  c->inbox.allow.text[i]);
		fault_hint(fault, "allow = [ \"10.0.0.0/8\", \"fd00::/8\" ];");
		return blame(c, group, "allow", fault);
	}
	return 0;
}

int
setup_inbox_read(struct setup *c, struct fault *fault)
{
	config_setting_t *group =
	    config_setting_get_member(conf_root(c->conf), "inbox");
	struct conf_part part = { setup_inbox_options, &c->inbox };
	int err;

	if (!group)
		return 0;
	err = conf_fill(c->conf, group, &part, 1, NULL, fault);
	if (err)
		return err;
	if (!c->inbox.listen.n) {
		fault_set(fault, -EINVAL, "conf",
			  "inbox: `listen` is missing: where do copies come "
			  "in?");
		fault_hint(fault, "listen = [ \"127.0.0.1:2631\" ];");
		return blame(c, group, "listen", fault);
	}
	for (unsigned i = 0; i < c->inbox.listen.n && !err; i++)
		err = listen_check(c, group, c->inbox.listen.text[i], fault);
	if (!err)
		err = allow_check(c, group, fault);
	if (!err && c->inbox.secret_file)
		err =
		    secret_read(&c->inbox.secret, c->inbox.secret_file, fault);
	if (err && c->inbox.secret_file && err != -EINVAL)
		blame(c, group, "secret_file", fault);
	return err;
}
