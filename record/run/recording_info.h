/* Settings and host, for the INFO block of the recording. */
#ifndef NSPROF_RECORDING_INFO_H
#define NSPROF_RECORDING_INFO_H

#include "events/events.h"
#include "events/record_opts.h"
#include "recording/rec_writer.h"

/*
 * All keys of nsprof.data(5), INFO. @ev is open: the values are those in force, not those
 * requested.
 */
void recording_info_write(struct rec_writer *w, const struct record_opts *o, const struct events *ev);
/* For events that are opened later at a lower frequency; @hz: the lowest of them. */
void recording_info_clamped(struct rec_writer *w, uint64_t hz);
/* Sampling was enabled @ns after the start of the program. */
void recording_info_started(struct rec_writer *w, uint64_t ns);

#endif
