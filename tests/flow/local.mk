# What baseband, a reader that is not ours, sees in exported recordings.
EXTRA_DIST += %D%/real_formats.py %D%/check_vdif.py %D%/check_mark5b.py
