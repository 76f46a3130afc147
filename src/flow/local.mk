noinst_LIBRARIES += libflow.a
libflow_a_SOURCES = \
	%D%/candidate.c %D%/candidate.h \
	%D%/counts.h \
	%D%/moves.c %D%/moves.h \
	%D%/place.c %D%/place.h \
	%D%/pool.c %D%/pool.h \
	%D%/queue.c %D%/queue.h
FLOW_LIBS = libflow.a $(STORE_LIBS)
