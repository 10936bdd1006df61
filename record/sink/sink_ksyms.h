/* Kernel symbols that come and go during the recording: BPF programs and trampolines. */
#ifndef NSPROF_SINK_KSYMS_H
#define NSPROF_SINK_KSYMS_H

#include <stdint.h>

#include "base/hash.h"
#include "event.h"
#include "recording/rec_writer.h"

struct sink_ksyms {
	struct u64map live;	/* address to owned struct live_ksym *: those in force */
};

void sink_ksyms_fini(struct sink_ksyms *ks);
/* A symbol came or went. */
void sink_ksyms_take(struct sink_ksyms *ks, const struct ev_ksymbol *ev);
/*
 * Writes those in force at @time, ns, for readers of the new segment only. 0, or the first write
 * error.
 */
int sink_ksyms_write(const struct sink_ksyms *ks, struct rec_writer *w, uint64_t time);

#endif
