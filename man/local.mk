dist_man_MANS = %D%/spate.1
