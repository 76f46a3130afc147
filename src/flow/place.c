/* SPDX-License-Identifier: MIT */
#include "flow/place.h"

#include "flow/slots.h"

int
place_make(struct place **place, const struct place_args *args)
{
	return slots_make(place, args);
}
