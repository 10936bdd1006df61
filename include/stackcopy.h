/*
 * Stack copies: what the masker passes to the encoder, and the decoder to an unwinder.
 * A "word" is 8 bytes at an 8-aligned runtime address of the sampled process.
 */
#ifndef NSPROF_STACKCOPY_H
#define NSPROF_STACKCOPY_H

#include <stdbool.h>
#include <stdint.h>

#define STACK_WORDS_MAX 8192	/* 64 KiB, the maximum perf_event can copy */

enum word_class {
	WORD_STACK = 1,	/* address inside a known stack range */
	WORD_CODE = 2,	/* address inside an executable mapping */
	WORD_RAW = 3,	/* anything else; only with --stacks=full */
};

/* The kept words of one copy, lowest address first. Words not listed are zero. */
struct stack_words {
	uint64_t base;			/* runtime address of word 0, 8-aligned */
	uint32_t nwords;		/* words copied by the kernel; 0 = no user stack */
	uint32_t nkept;			/* entries used in the arrays below */
	uint16_t idx[STACK_WORDS_MAX];	/* word number, ascending */
	uint8_t cls[STACK_WORDS_MAX];	/* enum word_class */
	uint64_t val[STACK_WORDS_MAX];	/* never 0 */
};

struct shadow_thread;	/* common/samples/shadow.h: last known words of one thread, by address */

/* One sample's stack as restored by the decoder. Valid until the next event. */
struct stack_view {
	const struct shadow_thread *shadow;
	uint64_t lo;	/* runtime address of the first byte, = sp rounded up to 8 */
	uint64_t hi;	/* runtime address of the first byte after the end */
};

/*
 * Read 8 bytes at runtime address @addr (any alignment) into *@val. 0, or -EFAULT outside [lo, hi).
 * Never reads outside the copy of this sample.
 */
int stack_view_read(const struct stack_view *sv, uint64_t addr, uint64_t *val);

/*
 * The aligned page of STACK_PAGE_WORDS words that contains @addr; NULL when all are 0. For many
 * reads. Words outside [lo, hi) are older: the caller must not use them. Valid as long as @sv.
 */
#define STACK_PAGE_WORDS 512
const uint64_t *stack_view_page(const struct stack_view *sv, uint64_t addr);

/*
 * True when the copy ends at a page boundary below or at @addr, although earlier copies of the
 * thread reached @addr's page. The kernel stops copying at a page that is not in memory, because
 * __output_copy_user() takes no page fault. A large frame has such pages until it touches them.
 */
bool stack_view_hole(const struct stack_view *sv, uint64_t addr);

#endif
