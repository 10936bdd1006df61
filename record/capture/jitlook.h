/*
 * Where jitted code is in its frame. A sample may interrupt a function before it has made its frame, or behind where it has left
 * it. %rbp is its caller's then, and who goes by frame pointers passes over the caller. What the code is about to do tells.
 * It is in the process's memory only, so it is read while the process lives, by a thread: a process can have us wait for its
 * pages for ever (userfaultfd(2)), and who drains must not.
 */
#ifndef NSPROF_JITLOOK_H
#define NSPROF_JITLOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * @code: @size bytes of code, which is at runtime address @addr and about to be executed. Where the return address of its function
 * lies: bytes above the stack pointer, a multiple of 8 up to JIT_RETURN_OFF_MAX, if the function has not made its frame yet or
 * has left it, and so %rbp is its caller's. -1 if it has its frame, or nothing can be told. Pure.
 */
int jit_return_off(const uint8_t *code, size_t size, uint64_t addr);

struct jitlook;

/* One place in the code of a process. */
struct jit_place {
	uint32_t pid;
	uint32_t serial;	/* of the process image; the asker's */
	uint64_t addr;		/* runtime address */
	int off;		/* of jit_return_off(), in answers */
};

struct jitlook *jitlook_new(void);
/* Does not wait for the thread where it has been waiting for a process. Accepts NULL. */
void jitlook_free(struct jitlook *jl);
/* False: too much is asked for already, or there can be no thread; it may be asked again. Does not wait. */
bool jitlook_ask(struct jitlook *jl, const struct jit_place *place);
/* Up to @max answers that have not been taken yet, those of places with an offset only; how many. Does not wait. */
size_t jitlook_take(struct jitlook *jl, struct jit_place *out, size_t max);

#endif
