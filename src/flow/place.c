/* SPDX-License-Identifier: MIT */
#include "flow/place.h"

#include "flow/slots.h"
#include "flow/spare.h"

uint32_t
place_extra(const struct format_shape *shape, const struct geometry *g)
{
	(void)shape;
	(void)g;
	return 0;
}

int
place_spare(struct spare **spare, const struct place_args *args)
{
	return spare_make(spare, args->geometry->payload, args->shape->prefix);
}

int
place_make(struct place **place, const struct place_args *args)
{
	return slots_make(place, args);
}
