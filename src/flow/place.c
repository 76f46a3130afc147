/* SPDX-License-Identifier: MIT */
#include "flow/place.h"

#include "flow/slots.h"
#include "flow/spare.h"

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
