/* Kernel symbols that come and go while it is recorded: BPF programs and trampolines. */
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
/* One came or went. */
void sink_ksyms_take(struct sink_ksyms *ks, const struct ev_ksymbol *ev);
/* Those in force at @time, ns, for whoever reads the new segment only. 0, or the first error of a write. */
int sink_ksyms_write(const struct sink_ksyms *ks, struct rec_writer *w, uint64_t time);

#endif
