/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_PLOT_CANVAS_H
#define SPATE_CLI_PLOT_CANVAS_H

#include <stddef.h>

#include "base/fault.h"

/*
 * A canvas is a picture that is being drawn, in points from its upper left
 * corner, and becomes a file when it is closed.  Drawing never fails: an error
 * shows when the canvas is closed.
 */
struct canvas;

/* Colours that also people see apart who see few colours. */
enum ink {
	INK_BLACK,
	INK_GREY,   /* of frames and ticks */
	INK_PALE,   /* of what there is no data of */
	INK_BLUE,   /* what is there */
	INK_ORANGE, /* what is lost, or the second of two curves */
	INK_RED,    /* what is wrong */
	INK_GREEN,  /* a third curve */
	INK_WHITE,
};

enum align { ALIGN_LEFT, ALIGN_MIDDLE, ALIGN_RIGHT };

struct canvas_point {
	double x, y;
};

/* Begins a picture for a file whose name ends with .svg or .png.  0, or -errno
 * with a fault. */
int canvas_open(struct canvas **canvas, const char *file, double width,
		double height, struct fault *fault);

void canvas_text(struct canvas *c, struct canvas_point at, double size,
		 enum align align, enum ink ink, const char *text);
/* Cuts the text where it would be wider than `width`. */
void canvas_text_within(struct canvas *c, struct canvas_point at, double size,
			double width, enum ink ink, const char *text);
void canvas_box(struct canvas *c, struct canvas_point at, double width,
		double height, enum ink ink);
void canvas_curve(struct canvas *c, const struct canvas_point *p, size_t n,
		  double thick, enum ink ink);
void canvas_dot(struct canvas *c, struct canvas_point at, double radius,
		enum ink ink);

/* Writes the file: under another name first, so that a file of that name is
 * whole or untouched.  Frees the canvas.  0, or -errno with a fault. */
int canvas_close(struct canvas *c, struct fault *fault);
/* Frees the canvas without a file; NULL is allowed. */
void canvas_drop(struct canvas *c);

#endif
