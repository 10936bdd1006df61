/*
 * A thread that runs captures, one at a time, while its owner goes on draining the rings. Nothing
 * is shared but the slot through which a job goes there and back.
 */
#ifndef NSPROF_CAPTURE_THREAD_H
#define NSPROF_CAPTURE_THREAD_H

#include <stdbool.h>

#include "capture/capture_job.h"

struct capture_thread;

/* NULL with *@err = negative errno; no message. */
struct capture_thread *capture_thread_new(int *err);
/* An eventfd that becomes readable when a job has ended; for epoll, edge-triggered. */
int capture_thread_fd(const struct capture_thread *ct);
/* Lend @job until capture_thread_ended() returns it; there must be none on its way. */
void capture_thread_give(struct capture_thread *ct, struct capture_job *job);
/* The job when it has ended, else NULL. @wait: until it has; NULL then when none was given. */
struct capture_job *capture_thread_ended(struct capture_thread *ct, bool wait);
/* Waits for a job on its way. */
void capture_thread_free(struct capture_thread *ct);	/* accepts NULL */

#endif
