/*
 * Which wake-ups belong to the recording, by the switches: those of threads that have left the CPU to
 * sleep, or are about to, and the first one of a thread that was there before. Wake-ups are of the whole host, and tell the number of a thread, but not its
 * process.
 */
#ifndef NSPROF_WOKEN_THREADS_H
#define NSPROF_WOKEN_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "event.h"

/* Threads that are remembered. With more, all are forgotten, and known again with their next switch. */
#define WOKEN_THREADS_MAX (1u << 17)

struct woken_threads {
	struct u64map threads;	/* tid -> pid << 32 | enum in woken_threads.c */
};

void woken_threads_fini(struct woken_threads *t);

/* All in the order of time. */

/* The thread was there when the recording began. */
void woken_threads_found(struct woken_threads *t, uint32_t pid, uint32_t tid);
void woken_threads_switch(struct woken_threads *t, const struct ev_switch *sw);
void woken_threads_exit(struct woken_threads *t, uint32_t tid);
/* Thread @tid is woken. True, and its process in *@pid, if readers have a use for that. */
bool woken_threads_wake(struct woken_threads *t, uint32_t tid, uint32_t *pid);

#endif
