/* Options of perf script and perf annotate that their nsprof counterparts do not implement. */
#ifndef NSPROF_SCRIPT_PERF_OPTS_H
#define NSPROF_SCRIPT_PERF_OPTS_H

#include <stddef.h>

#include "cli/opt.h"

/* OPT_IGNORE: makes no difference here. OPT_REFUSE: not supported; the text says why. */
extern const struct opt perf_opts[];
extern const size_t perf_nopts;
/* The same for perf annotate. */
extern const struct opt perf_annotate_opts[];
extern const size_t perf_annotate_nopts;

#endif
