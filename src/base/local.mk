noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
	%D%/clock.c %D%/clock.h \
	%D%/conf.c %D%/conf.h \
	src/control/answer.c src/control/answer.h \
	src/control/companion.c src/control/companion.h \
	src/control/control.c src/control/control.h \
	src/control/listener.c src/control/listener.h \
	src/control/spated.c src/control/spated.h \
	src/control/vsi_conf.c src/control/vsi_conf.h \
	src/control/web_conf.c src/control/web_conf.h \
	%D%/crc32c.c %D%/crc32c.h \
	%D%/ease.c %D%/ease.h \
	%D%/fault.c %D%/fault.h \
	%D%/keys.c %D%/keys.h \
	%D%/log.c %D%/log.h \
	%D%/module.c %D%/module.h \
	%D%/secret.c %D%/secret.h \
	%D%/shape.c %D%/shape.h \
	%D%/text.c %D%/text.h \
	%D%/units.c %D%/units.h \
	%D%/worker.c %D%/worker.h
BASE_LIBS = libbase.a libnet.a libwire.a $(LIBCONFIG_LIBS) $(JANSSON_LIBS) $(ISAL_LIBS) $(LIBCRYPTO_LIBS) \
	-ldl -lm -lpthread
