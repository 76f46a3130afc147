/* SPDX-License-Identifier: MIT */
/*
 * The picture is made in memory by cairo, and written when all of it is there.
 * What is no regular file, as a pipe, is written to where it is.
 */
#include "cli/plot/canvas.h"

#include <cairo-svg.h>
#include <cairo.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PNG_SCALE = 2 }; /* pixels of a point: legible on paper, too */

struct canvas {
	cairo_surface_t *surface;
	cairo_t *cr;
	char *file;
	bool png;
	FILE *stream; /* of the bytes below */
	char *data;
	size_t bytes;
};

static const double inks[][3] = {
	[INK_BLACK] = { 0.13, 0.13, 0.13 }, [INK_GREY] = { 0.6, 0.6, 0.6 },
	[INK_PALE] = { 0.9, 0.9, 0.9 },	    [INK_BLUE] = { 0, 0.45, 0.70 },
	[INK_ORANGE] = { 0.90, 0.62, 0 },   [INK_RED] = { 0.84, 0.37, 0 },
	[INK_GREEN] = { 0, 0.62, 0.45 },    [INK_WHITE] = { 1, 1, 1 },
};

static cairo_status_t
put(void *stream, const unsigned char *data, unsigned bytes)
{
	return fwrite(data, 1, bytes, stream) == bytes
		   ? CAIRO_STATUS_SUCCESS
		   : CAIRO_STATUS_WRITE_ERROR;
}

static bool
ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && !strcmp(text + n - m, end);
}

static int
refuse(struct fault *fault, int err, const char *file, const char *why)
{
	fault_set(fault, err, "io", "cannot write %s", file);
	fault_why(fault, "%s", why);
	return err;
}

int
canvas_open(struct canvas **canvas, const char *file, double width,
	    double height, struct fault *fault)
{
	bool png = ends_with(file, ".png");
	struct canvas *c;

	if (!png && !ends_with(file, ".svg")) {
		fault_set(fault, -EINVAL, "usage", "cannot plot to %s", file);
		fault_hint(fault, "the name of a plot ends with .svg or .png");
		return -EINVAL;
	}
	c = calloc(1, sizeof *c);
	if (c)
		c->stream = open_memstream(&c->data, &c->bytes);
	if (c)
		c->file = strdup(file);
	if (!c || !c->stream || !c->file) {
		canvas_drop(c);
		return refuse(fault, -ENOMEM, file, strerror(ENOMEM));
	}
	c->png = png;
	if (png)
		c->surface = cairo_image_surface_create(
		    CAIRO_FORMAT_RGB24, (int)width * PNG_SCALE,
		    (int)height * PNG_SCALE);
	else
		c->surface = cairo_svg_surface_create_for_stream(put, c->stream,
								 width, height);
	c->cr = cairo_create(c->surface);
	if (png)
		cairo_scale(c->cr, PNG_SCALE, PNG_SCALE);
	cairo_select_font_face(c->cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
			       CAIRO_FONT_WEIGHT_NORMAL);
	canvas_box(c, (struct canvas_point){ 0, 0 }, width, height, INK_WHITE);
	*canvas = c;
	return 0;
}

/* ---- drawing ------------------------------------------------------------- */

static void
ink_take(struct canvas *c, enum ink ink)
{
	const double *rgb = inks[ink];

	cairo_set_source_rgb(c->cr, rgb[0], rgb[1], rgb[2]);
}

static double
width_of(struct canvas *c, const char *text)
{
	cairo_text_extents_t e;

	cairo_text_extents(c->cr, text, &e);
	return e.x_advance;
}

void
canvas_text(struct canvas *c, struct canvas_point at, double size,
	    enum align align, enum ink ink, const char *text)
{
	double width;

	cairo_set_font_size(c->cr, size);
	width = align == ALIGN_LEFT ? 0 : width_of(c, text);
	ink_take(c, ink);
	cairo_move_to(c->cr, at.x - (align == ALIGN_MIDDLE ? width / 2 : width),
		      at.y);
	cairo_show_text(c->cr, text);
}

void
canvas_text_within(struct canvas *c, struct canvas_point at, double size,
		   double width, enum ink ink, const char *text)
{
	char cut[512];
	size_t n;

	snprintf(cut, sizeof cut - 4, "%s", text);
	n = strlen(cut);
	cairo_set_font_size(c->cr, size);
	while (n && width_of(c, cut) > width)
		strcpy(cut + --n, "…");
	canvas_text(c, at, size, ALIGN_LEFT, ink, cut);
}

void
canvas_box(struct canvas *c, struct canvas_point at, double width,
	   double height, enum ink ink)
{
	ink_take(c, ink);
	cairo_rectangle(c->cr, at.x, at.y, width, height);
	cairo_fill(c->cr);
}

void
canvas_curve(struct canvas *c, const struct canvas_point *p, size_t n,
	     double thick, enum ink ink)
{
	ink_take(c, ink);
	cairo_set_line_width(c->cr, thick);
	cairo_new_path(c->cr); /* text leaves its end as a beginning */
	for (size_t i = 0; i < n; i++)
		cairo_line_to(c->cr, p[i].x, p[i].y);
	cairo_stroke(c->cr);
}

void
canvas_dot(struct canvas *c, struct canvas_point at, double radius,
	   enum ink ink)
{
	enum { FULL = 7 }; /* more than 2 pi */

	ink_take(c, ink);
	cairo_new_path(c->cr);
	cairo_arc(c->cr, at.x, at.y, radius, 0, FULL);
	cairo_fill(c->cr);
}

/* ---- the file ------------------------------------------------------------ */

static int
data_write(int fd, const char *data, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t got = write(fd, data + done, bytes - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		done += (size_t)got;
	}
	return 0;
}

/* Writes to what is no regular file. */
static int
write_there(const struct canvas *c)
{
	int fd = open(c->file, O_WRONLY), err;

	if (fd < 0)
		return -errno;
	err = data_write(fd, c->data, c->bytes);
	if (close(fd) < 0 && !err)
		err = -errno;
	return err;
}

/* Writes beside the file, with the rights that a new file gets, and takes its
 * place. */
static int
write_beside(const struct canvas *c)
{
	size_t n = strlen(c->file) + sizeof ".XXXXXX";
	char *other = malloc(n);
	mode_t mask = umask(0);
	int err = 0, fd;

	umask(mask);
	if (!other)
		return -ENOMEM;
	snprintf(other, n, "%s.XXXXXX", c->file);
	fd = mkostemp(other, O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		free(other);
		return err;
	}
	err = data_write(fd, c->data, c->bytes);
	if (fchmod(fd, 0666 & ~mask) < 0 && !err)
		err = -errno;
	if (close(fd) < 0 && !err)
		err = -errno;
	if (!err && rename(other, c->file) < 0)
		err = -errno;
	if (err)
		unlink(other);
	free(other);
	return err;
}

int
canvas_close(struct canvas *c, struct fault *fault)
{
	cairo_status_t status = cairo_status(c->cr);
	struct stat st;
	int err;

	if (c->png && status == CAIRO_STATUS_SUCCESS)
		status = cairo_surface_write_to_png_stream(c->surface, put,
							   c->stream);
	cairo_surface_finish(c->surface);
	if (status == CAIRO_STATUS_SUCCESS)
		status = cairo_surface_status(c->surface);
	if (status != CAIRO_STATUS_SUCCESS || fflush(c->stream))
		err = refuse(fault, -EIO, c->file,
			     cairo_status_to_string(status));
	else if (!stat(c->file, &st) && !S_ISREG(st.st_mode))
		err = write_there(c);
	else
		err = write_beside(c);
	if (err && status == CAIRO_STATUS_SUCCESS)
		refuse(fault, err, c->file, strerror(-err));
	canvas_drop(c);
	return err;
}

void
canvas_drop(struct canvas *c)
{
	if (!c)
		return;
	if (c->cr)
		cairo_destroy(c->cr);
	if (c->surface)
		cairo_surface_destroy(c->surface);
	if (c->stream)
		fclose(c->stream);
	free(c->data);
	free(c->file);
	free(c);
}
