/* Settings and host, for the INFO block of the recording. */
#ifndef NSPROF_RECORDING_INFO_H
#define NSPROF_RECORDING_INFO_H

#include "events/events.h"
#include "events/record_opts.h"
#include "recording/rec_writer.h"

/* All keys of nsprof.data(5), INFO. @ev is open: values are those in force, not those asked for. */
void recording_info_write(struct rec_writer *w, const struct record_opts *o, const struct events *ev);
/* Once more when events that are opened later have a lower frequency, @hz at the least. */
void recording_info_clamped(struct rec_writer *w, uint64_t hz);
/* Sampling was enabled @ns after the start of the program. */
void recording_info_started(struct rec_writer *w, uint64_t ns);

#endif
