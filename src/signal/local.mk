# What frames say of the signal: needed by spate and spated, not by plugins.
noinst_LIBRARIES += libsignal.a
libsignal_a_SOURCES = \
	%D%/finding.c %D%/finding.h \
	%D%/levels.c %D%/levels.h \
	%D%/phase_cal.c %D%/phase_cal.h \
	%D%/quality.c %D%/quality.h \
	%D%/samples.c %D%/samples.h \
	%D%/spectrum.c %D%/spectrum.h
libsignal_a_CPPFLAGS = $(AM_CPPFLAGS) $(KISSFFT_CFLAGS)
SIGNAL_LIBS = libsignal.a $(KISSFFT_LIBS)
