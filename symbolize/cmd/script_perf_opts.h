/* Options of perf script that nsprof script knows and has no use for. */
#ifndef NSPROF_SCRIPT_PERF_OPTS_H
#define NSPROF_SCRIPT_PERF_OPTS_H

#include <stddef.h>

#include "cli/opt.h"

/* OPT_IGNORE: moot. OPT_REFUSE: not here, and why. */
extern const struct opt perf_opts[];
extern const size_t perf_nopts;
/* The same of perf annotate and nsprof annotate. */
extern const struct opt perf_annotate_opts[];
extern const size_t perf_annotate_nopts;

#endif
