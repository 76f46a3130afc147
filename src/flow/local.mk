noinst_LIBRARIES += libflow.a
libflow_a_SOURCES = \
	%D%/pool.c %D%/pool.h
FLOW_LIBS = libflow.a $(STORE_LIBS)
