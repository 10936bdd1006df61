/*
 * Jobs that are needed later. One thread runs them in the background, in the order they were added.
 */
#ifndef NSPROF_BACKGROUND_H
#define NSPROF_BACKGROUND_H

struct background;
struct background_job;

/* The thread starts with the first job. */
struct background *background_new(void);
/* Every job must have ended by background_finish() or background_drop(). Accepts NULL. */
void background_free(struct background *bg);

/* @fn(@arg) is called once, by the thread or by background_finish(). */
struct background_job *background_add(struct background *bg, void (*fn)(void *arg), void *arg);
/*
 * Waits until @fn has returned. Runs @fn itself if the thread is not there yet. Frees @job.
 */
void background_finish(struct background_job *job);
/* Like background_finish(), but drops a job that no thread has started. */
void background_drop(struct background_job *job);

#endif
