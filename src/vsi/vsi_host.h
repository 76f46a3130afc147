/* SPDX-License-Identifier: MIT */
#ifndef SPATE_VSI_VSI_HOST_H
#define SPATE_VSI_VSI_HOST_H

#include <jansson.h>

#include "control/vsi_conf.h"
#include "control/spated.h"
#include "vsi/vsi.h"

/*
 * The host of one vsi (vsi.h): it carries out by questions to spated what
 * commands want.
 */
struct vsi_facts_kept {
	char name[VSI_NAME];
	int64_t until; /* steady ns */
	struct vsi_facts f;
};

enum { VSI_BY = 96 };

struct vsi_asker {
	struct spated *spated;
	const struct vsi_conf *conf;
	const struct option_texts *inbox; /* where copies come in */
	const struct vsi *v;
	bool leaving;	 /* the program ends; what runs goes on */
	char by[VSI_BY]; /* whom spated shows as the one who ordered it */
	unsigned life;	 /* spated_life() of the last transfer */
	json_t *disks;	 /* paths, when the first was asked for; or NULL */
	char format[16]; /* of the first stream */
	struct vsi_facts_kept kept;
};

/* Fills in the functions that spated answers; `a` becomes their argument. */
void vsi_host_set(struct vsi_host *host, struct vsi_asker *a);
void vsi_host_clear(struct vsi_asker *a);

#endif
