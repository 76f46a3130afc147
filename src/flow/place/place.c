/* SPDX-License-Identifier: MIT */
#include "flow/place/place.h"

#include "flow/heaps/heaps.h"
#include "flow/slots/slots.h"
#include "flow/place/spare.h"
#include "store/record/notes.h"

uint32_t
place_extra(const struct format_shape *shape, const struct geometry *g)
{
	if (shape->store != HEAP_CUBE)
		return 0;
	return notes_cube_bytes(g->slots, g->payload);
}

int
place_spare(struct spare **spare, const struct place_args *args)
{
	if (args->shape->store != HEAP_NONE)
		return spare_make_heaps(spare);
	return spare_make(spare, args->geometry->payload, args->shape->prefix);
}

int
place_make(struct place **place, const struct place_args *args)
{
	if (args->shape->store != HEAP_NONE)
		return heaps_make(place, args);
	return slots_make(place, args);
}
