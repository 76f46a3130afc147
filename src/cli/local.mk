bin_PROGRAMS += spate
spate_SOURCES = \
	%D%/main.c %D%/cli.h \
	%D%/args.c %D%/args.h \
	%D%/gen.c \
	%D%/gen_format.c %D%/gen_format.h \
	%D%/gen_frames.c %D%/gen_frames.h \
	%D%/gen_plan.c %D%/gen_plan.h \
	%D%/gen_sender.c %D%/gen_sender.h \
	%D%/gen_socket.c %D%/gen_socket.h \
	%D%/mix.h \
	%D%/suggest.c %D%/suggest.h
spate_LDADD = $(STORE_LIBS)
