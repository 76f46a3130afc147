/* SPDX-License-Identifier: MIT */
#include "control/web_conf.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "control/listener.h"
#include "net/endpoint.h"

#define AT_WEB(member) offsetof(struct web_conf, member)

const struct option_key web_conf_options[] = {
	{ .name = "listen",
	  .type = OPTION_TEXTS,
	  .offset = AT_WEB(listen),
	  .fallback = "[ \"127.0.0.1:9469\" ]",
	  .help = "addresses and ports where browsers and Prometheus ask" },
	{ .name = "allow",
	  .type = OPTION_TEXTS,
	  .offset = AT_WEB(allow),
	  .help = "networks that may ask; none: this machine" },
	{ .name = "hosts",
	  .type = OPTION_TEXTS,
	  .offset = AT_WEB(hosts),
	  .help = "names, besides localhost and addresses, by which a browser "
		  "may ask for this machine" },
	{ .name = NULL },
};

/* Refuses to be open to everybody by oversight. */
static int
open_check(const struct web_conf *c, struct conf *conf,
	   const config_setting_t *group, struct fault *fault)
{
	union endpoint address;

	for (unsigned i = 0; i < c->listen.n && !c->allow.n; i++) {
		if (!endpoint_read(&address, c->listen.text[i]) &&
		    endpoint_is_loopback(&address))
			continue;
		fault_set(fault, -EINVAL, "conf",
			  "web: %s is beyond loopback, and nothing says who "
			  "may ask there",
			  c->listen.text[i]);
		fault_hint(fault,
			   "allow = [ \"127.0.0.0/8\", \"10.0.0.0/8\" ];");
		return conf_blame_key(conf, group, "listen", fault);
	}
	return 0;
}

static int
hosts_check(const struct web_conf *c, struct conf *conf,
	    const config_setting_t *group, struct fault *fault)
{
	for (unsigned i = 0; i < c->hosts.n; i++) {
		const char *name = c->hosts.text[i];

		if (*name && !name[strcspn(name, ":/ []*")])
			continue;
		fault_set(fault, -EINVAL, "conf",
			  "web: hosts = \"%.80s\" is no name of a host", name);
		fault_hint(fault, "hosts = [ \"recorder.example.org\" ]; "
				  "without port; addresses need not be named");
		return conf_blame_key(conf, group, "hosts", fault);
	}
	return 0;
}

int
web_conf_read(struct web_conf *c, struct conf *conf, struct fault *fault)
{
	config_setting_t *group =
	    config_setting_get_member(conf_root(conf), "web");
	struct conf_part part = { web_conf_options, c };
	int err = conf_fill(conf, group, &part, 1, NULL, fault);

	if (err || !group)
		return err;
	err = listener_conf_check(conf, group, "127.0.0.1:9469", &c->listen,
				  &c->allow, fault);
	if (!err)
		err = open_check(c, conf, group, fault);
	return err ? err : hosts_check(c, conf, group, fault);
}
