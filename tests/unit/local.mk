# One program per source file, linked with what it tests; Check's own macros.
UNIT_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS) -I$(top_srcdir)/tests
UNIT_BASE = $(BASE_LIBS) $(CHECK_LIBS)
UNIT_STORE = $(STORE_LIBS) $(CHECK_LIBS)
