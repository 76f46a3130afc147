/* SPDX-License-Identifier: MIT */
#ifndef SPATE_WEB_PAGE_H
#define SPATE_WEB_PAGE_H

/* The page at `/`: page.html, which make turns into a text. */
extern const char page_html[];

#endif
