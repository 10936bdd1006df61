/* The command line of nsprof record. */
#ifndef NSPROF_RECORD_OPTIONS_H
#define NSPROF_RECORD_OPTIONS_H

#include <stdbool.h>

#include "events/record_opts.h"

struct record_cmdline {
	struct record_opts o;
	bool timestamp_name, quiet, build_info;
	struct event_rate rate;	/* the last -F or -c */
	bool rate_pending;	/* no -e came since then */
	bool rates_clash;	/* -F and -c without an -e between them */
	int verbose;
};

/* As opt_parse(); also checks which options exclude each other. */
int record_options_parse(struct record_cmdline *c, int argc, char **argv, int *first);

#endif
