/* The conditions of "--filter" (filter.h) and the samples of a recording. */
#ifndef NSPROF_SAMPLE_FILTER_H
#define NSPROF_SAMPLE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "profile/filter.h"
#include "replay/replay.h"

/* Does @s meet a condition of @key, or are there none? */
bool filter_meets(const struct filter *f, enum filter_key key, const struct replay_sample *s);
/*
 * The first key of which @s meets no condition, among those that say whose it is: the same for all samples of
 * one thread, image, name and cgroup. FILTER_TIME: there is none.
 */
enum filter_key filter_misses_thread(const struct filter *f, const struct replay_sample *s);
/* The text that globs of @key are matched with, not clean; @buf may hold it. NULL: it is no text. */
const char *filter_text(enum filter_key key, const struct replay_sample *s, struct strbuf *buf);
/* The number that @key is about; 0 when unknown. */
uint64_t filter_number(const struct filter *f, enum filter_key key, const struct replay_sample *s);

#endif
