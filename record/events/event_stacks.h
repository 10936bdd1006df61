/* How each event takes stacks: its own terms where it has them, the options otherwise. */
#ifndef NSPROF_EVENT_STACKS_H
#define NSPROF_EVENT_STACKS_H

#include <stdint.h>

#include "events/record_opts.h"

/*
 * All fields are set: @callgraph is never CALLGRAPH_UNSET, @dump_size is 0 without copies, and
 * @max_stack is 0 where only the kernel's limit applies.
 */
struct stack_terms event_stacks(const struct evsel *sel, const struct record_opts *o);
/* By plan, the maximum size of one sample with them, bytes. */
uint64_t event_stacks_record(const struct stack_terms *stacks, const struct record_opts *o);
/* 0, or -EINVAL after a message: terms of an event contradict each other, the options, or the kernel. */
int event_stacks_check(const struct evlist *el, const struct record_opts *o);

#endif
