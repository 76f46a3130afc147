# The units, their users, its folders and its limit: files of systemd, installed
# where it looks for what is not of the distribution, and enabled by nobody.
# They have to know the folders of the installation, so they are made.
UNIT_INPUTS = \
	%D%/spated.service.in \
	%D%/spate-vsi.service.in \
	%D%/spate-web.service.in \
	%D%/sysusers.conf.in \
	%D%/tmpfiles.conf.in \
	%D%/sysctl.conf.in
UNIT_FILES = $(UNIT_INPUTS:.in=)
EXTRA_DIST += $(UNIT_INPUTS)

UNITS = spated.service spate-vsi.service
if HAVE_MICROHTTPD
UNITS += spate-web.service
endif

if HAVE_UNIT
all-local: $(UNIT_FILES)
install-data-local: $(UNIT_FILES)
	$(MKDIR_P) '$(DESTDIR)$(systemdsystemunitdir)' '$(DESTDIR)$(sysusersdir)' \
		'$(DESTDIR)$(tmpfilesdir)' '$(DESTDIR)$(sysctldir)'
	$(INSTALL_DATA) $(UNITS:%=%D%/%) '$(DESTDIR)$(systemdsystemunitdir)'
	$(INSTALL_DATA) %D%/sysusers.conf '$(DESTDIR)$(sysusersdir)/spate.conf'
	$(INSTALL_DATA) %D%/tmpfiles.conf '$(DESTDIR)$(tmpfilesdir)/spate.conf'
	$(INSTALL_DATA) %D%/sysctl.conf '$(DESTDIR)$(sysctldir)/50-spate.conf'
uninstall-local:
	cd '$(DESTDIR)$(systemdsystemunitdir)' && rm -f $(UNITS)
	rm -f \
		'$(DESTDIR)$(sysusersdir)/spate.conf' \
		'$(DESTDIR)$(tmpfilesdir)/spate.conf' \
		'$(DESTDIR)$(sysctldir)/50-spate.conf'
endif

$(UNIT_FILES): %D%/%: %D%/%.in Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && sed -e 's|[@]sbindir[@]|$(sbindir)|g' \
		-e 's|[@]bindir[@]|$(bindir)|g' \
		-e 's|[@]sysconfdir[@]|$(sysconfdir)|g' \
		'$(srcdir)'/$@.in >$@.new && mv $@.new $@
CLEANFILES += $(UNIT_FILES)

# A mount of recordings, to be copied and changed.
dist_doc_DATA += %D%/recordings.mount
