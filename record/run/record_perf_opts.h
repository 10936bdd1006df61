/* Options of perf record that nsprof record knows and has no use for. */
#ifndef NSPROF_RECORD_PERF_OPTS_H
#define NSPROF_RECORD_PERF_OPTS_H

#include <stddef.h>

#include "cli/opt.h"

/* OPT_IGNORE: moot, as what they ask for is always done or about files we do not write. OPT_REFUSE: not here, and why. */
extern const struct opt perf_opts[];
extern const size_t perf_nopts;

#endif
