/*
 * Unwinders are tables of functions, chosen at run time: registers and a stack copy in, frames out. They
 * know nothing of names and nothing of files.
 */
#ifndef NSPROF_UNWIND_H
#define NSPROF_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"
#include "event.h"
#include "modules/addrspace.h"

/* Why a stack ends. Every sample gets one. */
enum unwind_end {
	UNWIND_COMPLETE,	/* CFI said: outermost frame, or the return address was 0 at a thread's base */
	UNWIND_JOINED,		/* never of unwind(): what its @joined frames make of the next two (stack_join.h) */
	UNWIND_COPY_END,	/* needed a word above the copy, and the copy was as large as asked for */
	UNWIND_CUT,		/* the same, and the recorder under pressure had cut the copy */
	UNWIND_STACK_END,	/* needed a word above the copy, though the copy reaches the stack's end */
	UNWIND_HOLE,		/* needed a word above the copy, which ends at a page that was not in memory */
	UNWIND_NO_ROWS,		/* no rows in the module, and frame pointers did not lead on */
	UNWIND_NO_JIT_ROWS,	/* jitted code: no frame pointer, and no rows in a jitdump */
	UNWIND_NO_MODULE,	/* address in a mapping whose binary could not be had */
	UNWIND_NO_MAPPING,	/* address outside all known mappings */
	UNWIND_BAD_READ,	/* rows led to an address that is not stack */
	UNWIND_RED_ZONE,	/* rows need a word below the stack pointer, which no copy holds */
	UNWIND_OTHER_STACK,	/* a handler has a stack of its own; that of what it interrupted was not copied */
	UNWIND_URETPROBE,	/* a return probe has the return address, and nothing tells who called */
	UNWIND_NO_ADVANCE,	/* CFA did not move towards the root: stopped instead of looping */
	UNWIND_DEPTH,		/* cap on frames */
	UNWIND_NO_COPY,		/* the kernel could copy nothing at the stack pointer */
	UNWIND_NARROW,		/* 32-bit code, of which only the address is taken with stack copies */
	UNWIND_DEFERRED,	/* the kernel was to walk it later, and that is not in the recording */
	UNWIND_NO_USER,		/* kernel thread, or no user registers */
	UNWIND_END_MAX,
};

const char *unwind_end_text(enum unwind_end e);		/* "stack copy too small" ... */
const char *unwind_end_remedy(enum unwind_end e);	/* what to do, or NULL */

struct unwind_input {
	const uint64_t *regs;		/* UREG_MAX entries, PERF_REG_X86_* numbers */
	const struct stack_view *stack;
	bool copy_full;			/* ev_sample.copy_full */
	bool cut;			/* ev_sample.cut */
	const struct addrspace *as;
	uint32_t max_frames;		/* 1 and up */
	/*
	 * For what successive stacks of a thread have in common. @tid 0: nothing is known. Else every stack
	 * of the thread is passed, or forget() is called for it.
	 */
	uint32_t tid;
	uint32_t pid;
	uint64_t changed_end;		/* ev_sample.changed_end */
	uint64_t known_end;		/* ev_sample.known_end */
};

struct unwind_result {
	struct frame *frames;	/* leaf first; room for max_frames, owned by the caller */
	uint32_t n;
	enum unwind_end end;
	const struct module *at;	/* module in which it ended, NULL when none */
	/*
	 * With UNWIND_COPY_END and UNWIND_CUT: so many frames follow behind frames[n - 1], up to the root, if
	 * join_holds() says so of @border when all stacks have been passed.
	 */
	uint32_t joined;
	uint64_t border;
};

struct unwinder_ops {
	const char *name;	/* "cached" */
	bool threads;		/* several can be in use at once, each by one thread */
	void *(*create)(void);
	/* Before the modules are freed that it was used with: it holds on to their bytes. */
	void (*destroy)(void *priv);
	/* Never fails: what is known of the stack is in @out, and why it ends. frames[0] is regs[UREG_IP]. */
	void (*unwind)(void *priv, const struct unwind_input *in, struct unwind_result *out);
	/* A stack of thread @tid was left out. */
	void (*forget)(void *priv, uint32_t tid);
	/* Whether the frames joined at unwind_result.border belong there, as far as the stacks tell that @n have seen. */
	bool (*join_holds)(const void *const *privs, size_t n, uint64_t border);
};

extern const struct unwinder_ops unwind_cached, unwind_libunwind, unwind_libdw, unwind_fp;

/* By name; NULL when there is none. "cached", "libunwind", "libdw", "fp". */
const struct unwinder_ops *unwinder_find(const char *name);

#endif
