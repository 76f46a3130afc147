noinst_LIBRARIES += libflow.a
libflow_a_SOURCES = \
	%D%/pool.c %D%/pool.h \
	%D%/queue.c %D%/queue.h
FLOW_LIBS = libflow.a $(STORE_LIBS)
