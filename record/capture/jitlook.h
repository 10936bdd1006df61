/*
 * Finds where jitted code is in its frame. A sample may hit a function before it has set up its
 * frame, or after it has left it. %rbp is then the caller's, and unwinding by frame pointers skips
 * the caller. The instructions that follow tell. They exist only in the process's memory, so they
 * are read while the process lives. A separate thread does that: a process can make the reader wait
 * forever for its pages (userfaultfd(2)), and the drain must not wait.
 */
#ifndef NSPROF_JITLOOK_H
#define NSPROF_JITLOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * @code: @size bytes of code at runtime address @addr, about to be executed. If its function has
 * not set up its frame yet or has left it, so that %rbp is the caller's: the distance from the
 * stack pointer up to the return address, in bytes, a multiple of 8 up to JIT_RETURN_OFF_MAX. -1 if
 * it has its frame, or if the code does not tell. Pure.
 */
int jit_return_off(const uint8_t *code, size_t size, uint64_t addr);

struct jitlook;

/* One address in the code of a process. */
struct jit_place {
	uint32_t pid;
	uint32_t serial;	/* of the process image; assigned by the caller */
	uint64_t addr;		/* runtime address */
	int off;		/* result of jit_return_off(), in answers */
};

struct jitlook *jitlook_new(void);
/* Does not wait for the thread if that is stuck on a process. Accepts NULL. */
void jitlook_free(struct jitlook *jl);
/* Returns at once. False if too many requests are open or the thread does not run. Try again later. */
bool jitlook_ask(struct jitlook *jl, const struct jit_place *place);
/*
 * Returns up to @max new answers, only of places with an offset, and their number. Does not wait.
 */
size_t jitlook_take(struct jitlook *jl, struct jit_place *out, size_t max);

#endif
