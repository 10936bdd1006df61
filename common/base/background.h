/* Work that is wanted later, done by one thread meanwhile, in the order it was given. */
#ifndef NSPROF_BACKGROUND_H
#define NSPROF_BACKGROUND_H

struct background;
struct background_job;

/* The thread begins with the first job. */
struct background *background_new(void);
/* All jobs have to be over: background_finish() or background_drop(). Accepts NULL. */
void background_free(struct background *bg);

/* @fn(@arg) is called once, by the thread or by background_finish(). */
struct background_job *background_add(struct background *bg, void (*fn)(void *arg), void *arg);
/* Returns when @fn has; where the thread has not come to it, the caller does it. Frees @job. */
void background_finish(struct background_job *job);
/* The same, but what was not begun is not done. */
void background_drop(struct background_job *job);

#endif
