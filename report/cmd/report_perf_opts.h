/*
 * Options of perf report and perf diff that nsprof report and nsprof diff recognize but do not
 * implement.
 */
#ifndef NSPROF_REPORT_PERF_OPTS_H
#define NSPROF_REPORT_PERF_OPTS_H

#include <stddef.h>

#include "cli/opt.h"

/* OPT_IGNORE: makes no difference here. OPT_REFUSE: not supported; the text gives the reason. */
extern const struct opt perf_opts[];
extern const size_t perf_nopts;
extern const struct opt perf_diff_opts[];
extern const size_t perf_diff_nopts;

#endif
