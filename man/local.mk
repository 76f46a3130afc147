dist_man_MANS = %D%/spate.1 %D%/spate.conf.5 %D%/spate-plugin.7 %D%/spate-send.7 %D%/spate-vsi.7 %D%/spate-vsi.8 %D%/spate-web.8 %D%/spated.8 %D%/spatefs.8
