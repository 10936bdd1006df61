/*
 * A thread that runs captures, one at a time, while its owner drains the rings. They share only the
 * slot through which a job is passed and returned.
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
/* Lends @job until capture_thread_ended() returns it. No other job may be under way. */
void capture_thread_give(struct capture_thread *ct, struct capture_job *job);
/*
 * The job if it has ended, otherwise NULL. @wait: waits for its end; then NULL means that there was
 * no job.
 */
struct capture_job *capture_thread_ended(struct capture_thread *ct, bool wait);
/* Waits for a job under way. */
void capture_thread_free(struct capture_thread *ct);	/* accepts NULL */

#endif
