# Plugins that only tests load: SPATE_PLUGINS names the folder.  One that does
# not exist as -rpath makes libtool build modules.
check_LTLIBRARIES += %D%/write-slow.la
%C%_write_slow_la_SOURCES = %D%/write-slow.c
%C%_write_slow_la_LDFLAGS = $(PLUGIN_FLAGS) -rpath /nonexistent
check_LTLIBRARIES += %D%/disk-folder.la
%C%_disk_folder_la_SOURCES = %D%/disk-folder.c
%C%_disk_folder_la_LDFLAGS = $(PLUGIN_FLAGS) -rpath /nonexistent
