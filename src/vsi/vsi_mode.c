/* SPDX-License-Identifier: MIT */
/*
 * A Field System composes modes by rule, so nothing is guessed here: a mode has
 * one of the forms, to its last character, or it is refused.
 *
 * A name must be one that every reader of FlexBuff recordings accepts: '.'
 * breaks jive5ab's own, and "_ds" begins the name of a datastream there.
 */
#include "vsi/vsi_mode.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	VDIF_HEADER = 32,
	VDIF_LEGACY = 16,
	MARK5B_HEADER = 16,
	MARK5B_DATA = 10000,
	MASK_CLOCK = 32, /* MHz, sampling rate of a Mark 5B */
};

/* Reads digits, at most `most`, up to the character `end`, and skips it. */
static bool
count_take(const char **text, char end, uint32_t most, uint32_t *number)
{
	const char *at = *text;
	uint64_t n = 0;

	if (!isdigit((unsigned char)*at))
		return false;
	for (; isdigit((unsigned char)*at); at++) {
		n = 10 * n + (uint64_t)(*at - '0');
		if (n > most)
			return false;
	}
	if (*at != end)
		return false;
	*number = (uint32_t)n;
	*text = at + (end != '\0');
	return true;
}

/* Reads "512-16-2", and the decimation that may follow. */
static bool
rate_take(struct vsi_mode *m, const char *text)
{
	uint32_t mbps, seconds = 1, channels, bits, any;
	const char *tail;

	if (!count_take(&text, '-', 10000000, &mbps)) {
		if (!count_take(&text, '/', 10000000, &mbps) ||
		    !count_take(&text, '-', 1000000, &seconds))
			return false;
	}
	if (!count_take(&text, '-', 65536, &channels))
		return false;
	tail = text;
	if (!count_take(&text, '\0', 32, &bits) &&
	    !(count_take(&tail, '/', 32, &bits) &&
	      count_take(&tail, '\0', 65536, &any)))
		return false;
	if (!mbps || !seconds || !channels || !bits)
		return false;
	m->mbps = (double)mbps / seconds;
	m->tracks = channels * bits * (m->complex ? 2 : 1);
	return true;
}

static bool
vdif_take(struct vsi_mode *m, const char *text)
{
	for (; *text && *text != '_'; text++) {
		if (toupper((unsigned char)*text) == 'L' && !m->legacy)
			m->legacy = true;
		else if (toupper((unsigned char)*text) == 'C' && !m->complex)
			m->complex = true;
		else
			return false;
	}
	if (!*text)
		return false;
	text++;
	m->format = VSI_VDIF;
	return count_take(&text, '-', 65507, &m->payload) && m->payload &&
	       m->payload % 8 == 0 && rate_take(m, text);
}

static int
word_parse(struct vsi_mode *m, const char *text, const char **why)
{
	/* No colons: a reply has dots in their place. */
	*why = "write it as VDIF_8000-512-16-2 (bytes of data in a frame, "
	       "Mb/s, channels, bits), as Mark5B-512-16-2, as ext with a mask "
	       "and a decimation in the next fields, or as none";
	if (!strcasecmp(text, "none"))
		return 0;
	if (strlen(text) >= sizeof m->text)
		return -EINVAL;
	snprintf(m->text, sizeof m->text, "%s", text);
	if (!strncasecmp(text, "VDIF", 4)) {
		if (vdif_take(m, text + 4))
			return 0;
		if (m->payload % 8)
			*why = "the bytes of data in a VDIF frame are a "
			       "multiple of 8";
		return -EINVAL;
	}
	if (!strncasecmp(text, "Mark5B-", 7)) {
		m->format = VSI_MARK5B;
		return rate_take(m, text + 7) ? 0 : -EINVAL;
	}
	if (!strncasecmp(text, "VLBA", 4) || !strncasecmp(text, "MKIV", 4))
		*why = "only VDIF and Mark5B are received here";
	return -EINVAL;
}

/* Parses a mask of the bit streams that are recorded, 32 or 64. */
static int
mask_parse(struct vsi_mode *m, const char *mask, const char *decimation,
	   const char **why)
{
	char *end;

	*why = "behind ext comes a mask with 1, 2, 4 ... 64 bits set, as "
	       "0xffffffff, and then the decimation, 1, 2, 4, 8 or 16";
	m->format = VSI_MARK5B;
	snprintf(m->text, sizeof m->text, "ext");
	errno = 0;
	m->mask = strtoull(mask, &end, 16);
	if (!isxdigit((unsigned char)*mask) || *end || errno)
		return -EINVAL;
	m->tracks = (uint32_t)__builtin_popcountll(m->mask);
	m->decimation = 1;
	if (*decimation && !count_take(&decimation, '\0', 16, &m->decimation))
		return -EINVAL;
	if (!m->tracks || m->tracks & (m->tracks - 1) || !m->decimation ||
	    m->decimation & (m->decimation - 1))
		return -EINVAL;
	m->mbps = (double)m->tracks * MASK_CLOCK / m->decimation;
	return 0;
}

int
vsi_mode_parse(struct vsi_mode *m, const char *const field[3], const char **why)
{
	*m = (struct vsi_mode){ .format = VSI_AS_CONFIGURED };
	if (*field[0] && !*field[1])
		return word_parse(m, field[0], why);
	if (!strcasecmp(field[0], "ext"))
		return mask_parse(m, field[1], field[2], why);
	*why =
	    *field[0] ? "only ext is followed by a mask here" : "which mode?";
	return -EINVAL;
}

uint32_t
vsi_mode_frame(const struct vsi_mode *m)
{
	if (m->format == VSI_MARK5B)
		return MARK5B_HEADER + MARK5B_DATA;
	if (m->format == VSI_VDIF)
		return m->payload + (m->legacy ? VDIF_LEGACY : VDIF_HEADER);
	return 0;
}

double
vsi_mode_rate(const struct vsi_mode *m)
{
	uint32_t data = m->format == VSI_MARK5B ? MARK5B_DATA : m->payload;

	return data ? m->mbps * vsi_mode_frame(m) / data : 0;
}

const char *
vsi_mode_name(const struct vsi_mode *m)
{
	static const char *const vdif[] = { "VDIF", "VDIF (legacy)",
					    "VDIF (complex)",
					    "VDIF (legacy, complex)" };

	if (m->format == VSI_MARK5B)
		return "Mark5B";
	if (m->format == VSI_VDIF)
		return vdif[m->legacy + 2 * m->complex];
	return "";
}

/* ---- labels ---------------------------------------------------------- */

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
