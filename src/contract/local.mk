# The contract is installed: a plugin can be built outside this tree.
contractdir = $(includedir)/spate/contract
contract_HEADERS = %D%/bytes.h %D%/defaults.h %D%/disk.h %D%/format.h \
	%D%/log.h %D%/object.h %D%/option.h %D%/plugin.h %D%/receive.h %D%/send.h \
	%D%/write.h
