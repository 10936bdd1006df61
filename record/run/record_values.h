/* The values of nsprof record's options: functions for its table (opt.h). */
#ifndef NSPROF_RECORD_VALUES_H
#define NSPROF_RECORD_VALUES_H

#include <stdint.h>

/* All of @text as a number from @min to @max. 0, or -EINVAL without a message. */
int record_number(const char *text, uint64_t min, uint64_t max, uint64_t *v);

/* 0, or -EINVAL after a message. For list and roots, @dst is a char **. */
int record_take_list(void *dst, const char *arg);
int record_take_roots(void *dst, const char *arg);
/* @dst is a struct record_opts *. */
int record_take_callgraph(void *dst, const char *arg);
int record_take_g(void *dst, const char *arg);
int record_take_no_callgraph(void *dst, const char *arg);
int record_take_stacks(void *dst, const char *arg);
int record_take_event_budget(void *dst, const char *arg);
int record_take_off_cpu_thresh(void *dst, const char *arg);
int record_take_mmap(void *dst, const char *arg);
int record_take_switch_output(void *dst, const char *arg);
int record_take_overwrite(void *dst, const char *arg);
int record_take_max_size(void *dst, const char *arg);
int record_take_max_files(void *dst, const char *arg);
int record_take_duration(void *dst, const char *arg);
int record_take_clock(void *dst, const char *arg);
int record_take_delay(void *dst, const char *arg);
int record_take_realtime(void *dst, const char *arg);

#endif
