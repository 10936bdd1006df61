/* Options of perf record that nsprof record knows but does not use. */
#ifndef NSPROF_RECORD_PERF_OPTS_H
#define NSPROF_RECORD_PERF_OPTS_H

#include <stddef.h>

#include "cli/opt.h"

/*
 * OPT_IGNORE: nsprof always does it, or it is about files that nsprof does not write. OPT_REFUSE:
 * rejected with the reason.
 */
extern const struct opt perf_opts[];
extern const size_t perf_nopts;

#endif
