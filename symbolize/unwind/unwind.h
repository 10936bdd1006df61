/*
 * Unwinders are tables of functions, chosen at run time. They turn registers and a stack copy into
 * frames. They do not handle names or files.
 */
#ifndef NSPROF_UNWIND_H
#define NSPROF_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"
#include "event.h"
#include "modules/addrspace.h"

/* Why a stack ends. Every sample gets one of these. */
enum unwind_end {
	UNWIND_COMPLETE,	/* by CFI the outermost frame, or the return address was 0 at a
				 * thread's base */
	UNWIND_JOINED,		/* not returned by unwind(): replaces the next two if the @joined
				 * frames hold (stack_join.h) */
	UNWIND_COPY_END,	/* needed a word above the copy, which has the full requested size */
	UNWIND_CUT,		/* the same, but the recorder had cut the copy under pressure */
	UNWIND_STACK_END,	/* needed a word above the copy, although the copy reaches the end
				 * of the stack */
	UNWIND_HOLE,		/* needed a word above the copy, which ends at a page that was not
				 * in memory */
	UNWIND_NO_ROWS,		/* no rows in the module, and frame pointers did not lead to a
				 * caller */
	UNWIND_NO_JIT_ROWS,	/* jitted code: no frame pointer, and no rows in a jitdump */
	UNWIND_NO_MODULE,	/* address in a mapping whose binary is not available */
	UNWIND_NO_MAPPING,	/* address outside all known mappings */
	UNWIND_BAD_READ,	/* rows led to an address that is not on the stack */
	UNWIND_RED_ZONE,	/* rows need a word below the stack pointer, which no copy holds */
	UNWIND_OTHER_STACK,	/* a signal handler has its own stack; that of the interrupted code
				 * was not copied */
	UNWIND_URETPROBE,	/* a return probe replaced the return address, and the caller cannot
				 * be determined */
	UNWIND_NO_ADVANCE,	/* CFA did not move towards the root: stopped to avoid a loop */
	UNWIND_DEPTH,		/* limit on frames */
	UNWIND_NO_COPY,		/* the kernel could not copy anything at the stack pointer */
	UNWIND_NARROW,		/* 32-bit code: with stack copies, only its address is recorded */
	UNWIND_DEFERRED,	/* the kernel deferred the walk, and its result is not in the
				 * recording */
	UNWIND_WITHHELD,	/* the recorder did not know the mappings and kept no user stack */
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
	uint32_t max_frames;		/* at least 1 */
	/*
	 * For what successive stacks of a thread have in common. @tid 0: nothing. Otherwise the
	 * caller passes every stack of the thread, or calls forget() for it.
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
	const struct module *at;	/* module in which it ended, NULL if none */
	/*
	 * With UNWIND_COPY_END and UNWIND_CUT: this many frames follow frames[n - 1], up to the
	 * root, if join_holds(@border) says so after all stacks have been passed.
	 */
	uint32_t joined;
	uint64_t border;
};

struct unwinder_ops {
	const char *name;	/* "cached" */
	bool threads;		/* several instances can be used at once, each by one thread */
	void *(*create)(void);
	/*
	 * Call before freeing the modules that it was used with: it keeps pointers to their bytes.
	 */
	void (*destroy)(void *priv);
	/*
	 * Never fails: stores in @out the known part of the stack and the reason for its end.
	 * frames[0] is regs[UREG_IP].
	 */
	void (*unwind)(void *priv, const struct unwind_input *in, struct unwind_result *out);
	/* Call if a stack of thread @tid was left out. */
	void (*forget)(void *priv, uint32_t tid);
	/*
	 * Do the frames joined at unwind_result.border belong there, as far as the stacks that
	 * these @n have seen can tell?
	 */
	bool (*join_holds)(const void *const *privs, size_t n, uint64_t border);
};

extern const struct unwinder_ops unwind_cached, unwind_libunwind, unwind_libdw, unwind_fp;

/* Finds an unwinder by name: "cached", "libunwind", "libdw", "fp". NULL if there is none. */
const struct unwinder_ops *unwinder_find(const char *name);

#endif
