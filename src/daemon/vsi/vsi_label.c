/* SPDX-License-Identifier: MIT */
/*
 * A name must be one that every reader of FlexBuff recordings accepts: '.'
 * breaks jive5ab's own, and "_ds" begins the name of a datastream there.
 */
#include "daemon/vsi/vsi_label.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Compares with ASCII ranges, independent of the locale. */
static int
is_good(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("_+-", c));
}

const char *
vsi_label_name(char *name, const char *label)
{
	size_t length = strlen(label);
	char *ds;

	if (!length)
		return "must provide a scan name";
	if (length > VSI_LABEL)
		return "a scan label has at most 50 characters";
	/* A name begins with a letter or digit, and is not digits only. */
	snprintf(name, VSI_LABEL + 3, "%s%s",
		 strspn(label, "0123456789") == length || !is_good(*label) ||
			 strchr("_+-", *label)
		     ? "s"
		     : "",
		 label);
	for (char *c = name; *c; c++) {
		if (!is_good(*c))
			*c = '-';
	}
	while ((ds = strstr(name, "_ds")))
		*ds = '-';
	return NULL;
}
