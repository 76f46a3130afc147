/* SPDX-License-Identifier: MIT */
#include "signal/finding.h"

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
