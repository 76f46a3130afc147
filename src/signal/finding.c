/* SPDX-License-Identifier: MIT */
#include "signal/finding.h"

#include <string.h>

#define X(id, name, sentence) { name, sentence },
static const struct {
	const char *name, *sentence;
} findings[] = { FINDINGS(X) };
#undef X

const char *
finding_name(enum finding f)
{
	return findings[f].name;
}

const char *
finding_sentence(enum finding f)
{
	return findings[f].sentence;
}

enum finding
finding_of(const char *name)
{
	enum finding f = 0;

	while (strcmp(findings[f].name, name) != 0)
		f++;
	return f;
}
