/* SPDX-License-Identifier: MIT */
/*
 * Feeds what knows other programs' recordings by their bytes: the text of a
 * .cfg, and the beginning of a chunk, whose first two bytes are the length of
 * packets that somebody says they have.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "store/foreign/vbs_cfg.c"
#include "store/foreign/packet_form.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void
require(bool truth)
{
	if (!truth)
		abort();
}

static void
fuzz_form(const uint8_t *data, size_t bytes, uint32_t packet)
{
	struct packet_form form;

	if (!packet_form_find(&form, data, bytes, packet))
		return;
	require(!packet || form.packet == packet);
	require(form.packet <= bytes && form.prefix <= PACKET_PREFIX);
	require(form.packet > form.prefix + VDIF_HEADER);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct vbs_cfg cfg;
	uint8_t *copy;

	if (vbs_cfg_read(&cfg, (const char *)data, bytes))
		require(cfg.there && cfg.packet <= 1 << 20);
	if (bytes < 2)
		return 0;
	/* A copy of its own, so that what is read beyond it is seen. */
	copy = malloc(bytes - 2 + !(bytes - 2));
	require(copy != NULL);
	memcpy(copy, data + 2, bytes - 2);
	fuzz_form(copy, bytes - 2, 0);
	fuzz_form(copy, bytes - 2, read_le16(data));
	free(copy);
	return 0;
}
