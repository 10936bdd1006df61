/* Applies --filter conditions (filter.h) to the samples of a recording. */
#ifndef NSPROF_SAMPLE_FILTER_H
#define NSPROF_SAMPLE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "profile/filter.h"
#include "replay/replay.h"

/* Does @s match a condition of @key, or does @key have none? */
bool filter_meets(const struct filter *f, enum filter_key key, const struct replay_sample *s);
/*
 * The first key of which @s matches no condition, among the keys that are about its thread: the
 * result is the same for all samples of one thread, image, name and cgroup. FILTER_TIME: there is
 * none.
 */
enum filter_key filter_misses_thread(const struct filter *f, const struct replay_sample *s);
/* The text to match globs of @key with, as recorded; it may be in @buf. NULL: @key is not text. */
const char *filter_text(enum filter_key key, const struct replay_sample *s, struct strbuf *buf);
/* The number that @key compares; 0 if unknown. */
uint64_t filter_number(const struct filter *f, enum filter_key key, const struct replay_sample *s);

#endif
