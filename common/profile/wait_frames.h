/*
 * Which function a thread waits in. Stacks off the CPU end with frames that are not functions: what
 * the thread waits for, and its state. The functions before these are the scheduler's, the same in
 * all of them. So the time belongs to the function that called the scheduler. A thread that is
 * preempted calls it on the way back from an interrupt or a system call: the time belongs to the
 * function of the program, or of the kernel, that was held back.
 */
#ifndef NSPROF_WAIT_FRAMES_H
#define NSPROF_WAIT_FRAMES_H

#include <stdint.h>

#include "profile/profile.h"

struct wait_frames {
	const struct profile *p;	/* borrowed */
	uint8_t *what;			/* owned; by frame */
};

void wait_frames_init(struct wait_frames *w, const struct profile *p);
void wait_frames_fini(struct wait_frames *w);

/*
 * The node of the function that the stack of @node is in when it ends: @node, unless the stack ends
 * with a state. If no function is known, it is the frame in place of the stack, such as
 * "[no_stack]". In folded text, where kinds of frames are unknown, it is the frame before the
 * state.
 */
uint32_t wait_frames_own(const struct wait_frames *w, uint32_t node);

#endif
