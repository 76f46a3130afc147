# Tests are listed in the order in which a failure says most.
TEST_EXTENSIONS = .sh .c
AM_TESTS_ENVIRONMENT = SPATE_PLUGINS='$(abs_top_builddir)/plugins/.libs'; \
	export SPATE_PLUGINS; top_srcdir='$(abs_top_srcdir)'; export top_srcdir; \
	top_builddir='$(abs_top_builddir)'; export top_builddir; \
	CK_TIMEOUT_MULTIPLIER=20; export CK_TIMEOUT_MULTIPLIER;
include %D%/lib/local.mk
include %D%/unit/local.mk
include %D%/modules/local.mk
include %D%/contract/local.mk
include %D%/flow/local.mk
include %D%/fuzz/local.mk
include %D%/bench/local.mk
TESTS += %D%/includes.sh %D%/manual.sh
EXTRA_DIST += %D%/includes.sh %D%/manual.sh scripts/demo scripts/install-deps scripts/keys scripts/test scripts/test-results scripts/tune %D%/lsan.supp %D%/tsan.supp

# Installed programs find the plugins that were installed with them.
installcheck-local:
	env -u SPATE_PLUGINS SPATE='$(DESTDIR)$(bindir)/spate' \
		SPATED='$(DESTDIR)$(sbindir)/spated' \
		bash '$(top_srcdir)/tests/flow/record_formats.sh'
