/* The CFI unwinders on call chains that the test declares itself (unwind_capture.h). */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#include "unwind_capture.h"

static bool inside(const struct link *l, const struct frame *f)
{
	const char *a = (const char *)frame_lookup_addr(f).v;

	return a >= l->start && a < l->end;
}

/*
 * @links, leaf first, up to NULL: each must be the next frame; a link without a name stands for one
 * or more frames outside this program (in a library). Returns how many frames matched.
 */
static const struct link in_library = { NULL, NULL, NULL };

static bool is_foreign(const struct frame *f)
{
	const struct mapping *m = addrspace_find(self.as, frame_lookup_addr(f));
	struct avma own = { (uint64_t)(uintptr_t)&is_foreign };

	return m && m->mod && m->mod != addrspace_find(self.as, own)->mod;
}

static uint32_t expect_chain(const struct stack *st, const struct link *const *links)
{
	uint32_t i = 0;

	for (; *links; links++) {
		if (!(*links)->name) {
			assert_true(i < st->res.n && is_foreign(&st->frames[i]));
			while (i < st->res.n && is_foreign(&st->frames[i]))
				i++;
			continue;
		}
		if (i >= st->res.n || !inside(*links, &st->frames[i])) {
			print_stack("expected another frame", st);
			print_message("# frame %u is not in %s\n", i, (*links)->name);
			fail();
		}
		i++;
	}
	return i;
}

#define CHAIN(st, ...) expect_chain(st, (const struct link *const[]){ __VA_ARGS__, NULL })

/* The outermost frame is the program's entry point from the ELF header. */
static void expect_root(const struct stack *st)
{
	const struct frame *f = &st->frames[st->res.n - 1];
	const struct mapping *m = addrspace_find(self.as, frame_lookup_addr(f));
	struct svma s;

	assert_true(m && mapping_to_svma(m, f->addr, &s));
	assert_true(s.v - elf_file_entry(m->mod->elf) < 64);
}

/* ---- plain calls ---- */

static void test_plain(void **state)
{
	struct stack st;

	(void)state;
	outer(7);
	unwind_all(&st, UNWIND_COMPLETE);
	CHAIN(&st, &link_leaf, &link_middle, &link_outer);
	assert_int_equal(st.frames[0].kind, FRAME_IP);
	assert_true(st.frames[0].addr.v == cap_regs[UREG_IP]);
	for (uint32_t i = 1; i < st.res.n; i++)
		assert_int_equal(st.frames[i].kind, FRAME_RETURN);
	expect_root(&st);
}

static void test_recursion(void **state)
{
	struct stack st;

	(void)state;
	recurse(99);
	unwind_all(&st, UNWIND_COMPLETE);
	for (uint32_t i = 1; i <= 100; i++)
		assert_true(inside(&link_recurse, &st.frames[i]));
	assert_false(inside(&link_recurse, &st.frames[101]));
	expect_root(&st);
}

/* ---- realigned stacks, and other CFA bases ---- */

LINK(aligned);
LINK(drap);
LINK(dynamic);

FN(aligned) static uint64_t aligned(uint64_t n)
{
	volatile uint64_t v[8] __attribute__((aligned(64)));

	v[n % 8] = n;
	return leaf(n, 1) + v[1];
}

/*
 * Alignment with alloca(): gcc keeps the CFA in a saved copy of %r10 (DW_CFA_def_cfa_expression).
 */
FN(drap)
static uint64_t drap(uint64_t n, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
		     uint64_t on_stack)
{
	volatile uint64_t v[8] __attribute__((aligned(64)));
	volatile char *p = alloca(n * 16 + on_stack);

	p[n] = 3;
	v[n % 8] = n;
	return aligned(n) + v[2] + p[1] + a + b + c + d + e + on_stack;
}

FN(dynamic) static uint64_t dynamic(uint64_t n)
{
	volatile char *p = alloca(n * 100);

	p[n] = 1;
	return drap(n, 1, 2, 3, 4, 5, 6) + p[n];
}

static void test_realigned(void **state)
{
	struct stack st;

	(void)state;
	dynamic(9);
	unwind_all(&st, UNWIND_COMPLETE);
	CHAIN(&st, &link_leaf, &link_aligned, &link_drap, &link_dynamic);
	expect_root(&st);
}

/*
 * Like _dl_runtime_resolve of glibc: the CFA depends on %rbx, which the callees save and use for
 * something else. An unwinder that does not restore it is lost here.
 */
uint64_t rbx_based(uint64_t (*fn)(uint64_t), uint64_t arg);
LINK(rbx_based);
__asm__(".pushsection fn_rbx_based, \"ax\", @progbits\n"
	".globl rbx_based\n"
	".type rbx_based, @function\n"
	"rbx_based:\n"
	"	.cfi_startproc\n"
	"	push	%rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbx, 0\n"
	"	mov	%rsp, %rbx\n"
	"	.cfi_def_cfa_register %rbx\n"
	"	and	$-64, %rsp\n"
	"	sub	$256, %rsp\n"
	"	mov	%rdi, %rax\n"
	"	mov	%rsi, %rdi\n"
	"	call	*%rax\n"
	"	mov	%rbx, %rsp\n"
	"	.cfi_def_cfa_register %rsp\n"
	"	pop	%rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size rbx_based, . - rbx_based\n"
	".popsection\n");

static void test_rbx_base(void **state)
{
	struct stack st;

	(void)state;
	rbx_based(outer, 5);
	unwind_all(&st, UNWIND_COMPLETE);
	CHAIN(&st, &link_leaf, &link_middle, &link_outer, &link_rbx_based);
	expect_root(&st);
}

/*
 * In rbx_based() itself, with none of its frame copied, or too little: the caller is unknown, also
 * where %rbx is masked.
 */
static void test_rbx_base_not_copied(void **state)
{
	static const uint64_t words[2];
	uint64_t rbx, sp;
	struct stack st;

	(void)state;
	rbx_based((uint64_t (*)(uint64_t))(void *)take_regs, (uint64_t)(uintptr_t)cap_regs);
	rbx = cap_regs[UREG_BX];
	sp = cap_regs[UREG_SP];
	assert_true(rbx >= sp + 256);
	target_update_maps(&self);
	for (size_t u = 0; u < ARRAY_SIZE(cfi_unwinders); u++) {
		for (int masked = 0; masked <= 1; masked++) {
			cap_regs[UREG_BX] = masked ? 0 : rbx;
			target_set_stack(&self, sp, words, 0);
			run(u, &st, cap_regs, false, FRAMES_MAX);
			assert_int_equal(st.res.end, UNWIND_BAD_READ);
			assert_int_equal(st.res.n, 1);
			target_set_stack(&self, sp, words, ARRAY_SIZE(words));
			run(u, &st, cap_regs, true, FRAMES_MAX);
			assert_int_equal(st.res.end, UNWIND_COPY_END);
			assert_int_equal(st.res.n, 1);
		}
	}
}

/*
 * Functions whose caller's stack pointer is not the CFA but stated explicitly: one computes it
 * (DW_OP_breg3 16 in a DW_CFA_val_expression), one saves it.
 */
uint64_t sp_computed(uint64_t (*fn)(uint64_t), uint64_t arg);
uint64_t sp_saved(uint64_t (*fn)(uint64_t), uint64_t arg);
LINK(sp_computed);
LINK(sp_saved);
__asm__(".pushsection fn_sp_computed, \"ax\", @progbits\n"
	".globl sp_computed\n"
	".type sp_computed, @function\n"
	"sp_computed:\n"
	"	.cfi_startproc\n"
	"	push	%rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbx, 0\n"
	"	mov	%rsp, %rbx\n"
	"	.cfi_def_cfa_register %rbx\n"
	"	.cfi_escape 0x16, 7, 2, 0x73, 16\n"
	"	sub	$256, %rsp\n"
	"	mov	%rdi, %rax\n"
	"	mov	%rsi, %rdi\n"
	"	call	*%rax\n"
	"	mov	%rbx, %rsp\n"
	"	pop	%rbx\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	.cfi_restore %rbx\n"
	"	.cfi_restore %rsp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size sp_computed, . - sp_computed\n"
	".popsection\n"
	".pushsection fn_sp_saved, \"ax\", @progbits\n"
	".globl sp_saved\n"
	".type sp_saved, @function\n"
	"sp_saved:\n"
	"	.cfi_startproc\n"
	"	lea	8(%rsp), %rax\n"
	"	push	%rax\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rsp, 0\n"
	"	mov	%rdi, %rax\n"
	"	mov	%rsi, %rdi\n"
	"	call	*%rax\n"
	"	pop	%rdx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %rsp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size sp_saved, . - sp_saved\n"
	".popsection\n");

static void test_stated_sp(void **state)
{
	struct stack st;

	(void)state;
	sp_computed(outer, 5);
	unwind_all(&st, UNWIND_COMPLETE);
	CHAIN(&st, &link_leaf, &link_middle, &link_outer, &link_sp_computed);
	expect_root(&st);
	sp_saved(outer, 5);
	unwind_all(&st, UNWIND_COMPLETE);
	CHAIN(&st, &link_leaf, &link_middle, &link_outer, &link_sp_saved);
	expect_root(&st);
}

/* ---- through libraries, signals and threads ---- */

LINK(compare);

FN(compare) static int compare(const void *a, const void *b)
{
	static bool done;

	if (!done) {
		done = true;
		leaf(1, 2);
	}
	return *(const int *)a - *(const int *)b;
}

static void test_callback(void **state)
{
	int v[40];
	struct stack st;

	(void)state;
	for (int i = 0; i < 40; i++)
		v[i] = (i * 17) % 40;
	qsort(v, 40, sizeof(v[0]), compare);
	unwind_all(&st, UNWIND_COMPLETE);
	CHAIN(&st, &link_leaf, &link_compare, &in_library);
	expect_root(&st);
}

#if defined(__SANITIZE_THREAD__)
/* The handler calls functions that are not async-signal-safe; here it interrupts only an int3. */
const char *__tsan_default_options(void);

const char *__tsan_default_options(void)
{
	return "report_signal_unsafe=0";
}
#endif

LINK(handler);
LINK(interrupted);

FN(handler) static void handler(int sig)
{
	leaf(sig, 3);
}

/* The faulting instruction is known, and so is the address that its frame must have. */
extern const char fault_here[];
FN(interrupted) static uint64_t interrupted(uint64_t n)
{
	volatile uint64_t pad[3];

	pad[n % 3] = n;
	__asm__ volatile(".globl fault_here\nfault_here: int3\n" ::: "memory");
	return pad[1] + n;
}

static void take_signal(int flags)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags }, old;

	sigaction(SIGTRAP, &sa, &old);
	interrupted(4);
	sigaction(SIGTRAP, &old, NULL);
}

/* leaf, handler, the C library's return trampoline, and the function that was interrupted. */
static void test_signal(void **state)
{
	uint32_t n;
	struct stack st;

	(void)state;
#if defined(__SANITIZE_THREAD__)
	print_message("the sanitizer has frames of its own below a handler\n");
	skip();
#endif
	take_signal(0);
	unwind_all(&st, UNWIND_COMPLETE);
	n = CHAIN(&st, &link_leaf, &link_handler, &in_library, &link_interrupted);
	assert_int_equal(n, 4);
	/* Nothing called the trampoline: its code begins exactly at that address. */
	assert_int_equal(st.frames[2].kind, FRAME_IP);
	assert_int_equal(st.frames[3].kind, FRAME_IP);
	/* int3 is a trap: the pc is after its one byte. */
	assert_true(st.frames[3].addr.v == (uintptr_t)fault_here + 1);
	assert_int_equal(st.frames[4].kind, FRAME_RETURN);
	expect_root(&st);
}

/*
 * On its own stack only the handler's part is copied; the interrupted frame is still known.
 */
static void test_signal_altstack(void **state)
{
	size_t size = 1 << 16;
	struct stack st;
	stack_t ss = { .ss_size = size }, old;
	uint32_t n;

	(void)state;
	ss.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(ss.ss_sp != MAP_FAILED);
	assert_int_equal(sigaltstack(&ss, &old), 0);
	take_signal(SA_ONSTACK);
	sigaltstack(&old, NULL);
	/* The copy ends there: what the kernel merged with this mapping is no stack. */
	cap_end = MIN(cap_end, (uintptr_t)ss.ss_sp + size);
	cap_nwords = (cap_end - cap_regs[UREG_SP]) / 8;
	unwind_all(&st, UNWIND_OTHER_STACK);
	n = CHAIN(&st, &link_leaf, &link_handler, &in_library, &link_interrupted);
	assert_int_equal(n, st.res.n);
	munmap(ss.ss_sp, size);
}

LINK(past_call);

/* As if the function at 0 had returned. */
FN(past_call) static void past_call(int sig, siginfo_t *info, void *ctx)
{
	greg_t *regs = ((ucontext_t *)ctx)->uc_mcontext.gregs;

	(void)info;
	leaf(sig, 5);
	regs[REG_RIP] = *(greg_t *)regs[REG_RSP];
	regs[REG_RSP] += 8;
}

/*
 * A program that called 0: the caller is unknown, and a return address of 0 is not the base of a
 * stack there.
 */
static void call_null(int flags)
{
	struct sigaction sa = { .sa_sigaction = past_call, .sa_flags = SA_SIGINFO | flags }, old;
	void (*volatile fn)(void) = NULL;

	sigaction(SIGSEGV, &sa, &old);
	fn();
	sigaction(SIGSEGV, &old, NULL);
}

static void test_signal_null(void **state)
{
	size_t size = 1 << 16;
	struct stack st;
	stack_t ss = { .ss_size = size }, old;
	uint32_t n;

	(void)state;
#if defined(__SANITIZE_THREAD__)
	print_message("the sanitizer has frames of its own below a handler\n");
	skip();
#endif
	call_null(0);
	unwind_all(&st, UNWIND_NO_MAPPING);
	n = CHAIN(&st, &link_leaf, &link_past_call, &in_library);
	assert_int_equal(n, st.res.n);
	assert_int_equal(st.frames[2].kind, FRAME_IP);

	ss.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(ss.ss_sp != MAP_FAILED);
	assert_int_equal(sigaltstack(&ss, &old), 0);
	call_null(SA_ONSTACK);
	sigaltstack(&old, NULL);
	/* Nothing above it looks like a caller. */
	cap_end = MIN(cap_end, (uintptr_t)ss.ss_sp + size);
	cap_nwords = (cap_end - cap_regs[UREG_SP]) / 8;
	unwind_all(&st, UNWIND_NO_MAPPING);
	n = CHAIN(&st, &link_leaf, &link_past_call, &in_library);
	assert_int_equal(n, st.res.n);
	munmap(ss.ss_sp, size);
}

LINK(thread_fn);

FN(thread_fn) static void *thread_fn(void *arg)
{
	leaf((uintptr_t)arg, 1);
	return NULL;
}

static void test_thread(void **state)
{
	struct stack st;
	pthread_t th;
	uint32_t n;

	(void)state;
	assert_int_equal(pthread_create(&th, NULL, thread_fn, NULL), 0);
	pthread_join(th, NULL);
	unwind_all(&st, UNWIND_COMPLETE);
	/* Only the library's thread start function is above it. */
	n = CHAIN(&st, &link_leaf, &link_thread_fn, &in_library);
	assert_int_equal(n, st.res.n);
}

/* ---- code without rows ---- */

/*
 * push %rbp; mov %rsp,%rbp; push %rbx; sub $24,%rsp; mov %rdi,%rax; mov %rsi,%rdi; call *%rax;
 * add $24,%rsp; pop %rbx; pop %rbp; ret
 */
static const uint8_t jit_code[] = {
	0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0xf8,
	0x48, 0x89, 0xf7, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0xc3,
};

typedef uint64_t (*jit_fn)(uint64_t (*fn)(uint64_t), uint64_t arg);

static uint8_t *jit_new(void)
{
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	memcpy(p, jit_code, sizeof(jit_code));
	assert_int_equal(mprotect(p, 4096, PROT_READ | PROT_EXEC), 0);
	return p;
}

static jit_fn jit;
LINK(calls_jit);

FN(calls_jit) static uint64_t calls_jit(uint64_t n)
{
	volatile uint64_t pad[9];

	pad[n % 9] = n;
	return jit(outer, n) + pad[2];
}

/* Rows, then a frame pointer, then rows again. */
static void test_jit(void **state)
{
	uint8_t *code = jit_new();
	struct stack st;
	uint32_t n;

	(void)state;
	memcpy(&jit, &code, sizeof(code));
	calls_jit(3);
	unwind_all(&st, UNWIND_COMPLETE);
	n = CHAIN(&st, &link_leaf, &link_middle, &link_outer);
	/* After call *%rax. */
	assert_true(st.frames[n].addr.v == (uintptr_t)code + 17);
	assert_true(inside(&link_calls_jit, &st.frames[n + 1]));
	expect_root(&st);
	munmap(code, 4096);
}

/*
 * rbx_based() calls fn(arg, arg), here from a frame with rows, and with a %rbp that is no frame
 * pointer.
 */
uint64_t rbp_junk(jit_fn fn, uint64_t (*arg)(uint64_t));
__asm__(".text\n"
	".globl rbp_junk\n"
	".type rbp_junk, @function\n"
	"rbp_junk:\n"
	"	.cfi_startproc\n"
	"	push	%rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbp, 0\n"
	"	mov	$0x1000, %ebp\n"
	"	call	rbx_based\n"
	"	pop	%rbp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size rbp_junk, . - rbp_junk\n");

/* The index of the @i'th word of the captured stack where the ABI allows a return address. */
static size_t ra_slot(size_t i)
{
	return ((8 - cap_regs[UREG_SP]) & 15) / 8 + 2 * i;
}

/*
 * Return addresses into rbp_junk() from word @i on, as if it had called itself: two that lead on,
 * and one that leads to 0.
 */
static void junk_chain(size_t i)
{
	for (size_t n = 0; n < 3; n++)
		cap_words[i + 2 * n] = (uintptr_t)rbp_junk + 11;
}

/* The same up to its real call, so that the stack is complete. Returns how many there are. */
static uint32_t junk_chain_home(size_t i)
{
	size_t home = i;

	while (home < cap_nwords && cap_words[home] != (uintptr_t)rbp_junk + 11)
		home += 2;
	assert_true(home > i + 6 && home < cap_nwords);
	for (size_t n = i; n < home; n += 2)
		cap_words[n] = (uintptr_t)rbp_junk + 11;
	return (uint32_t)(home - i) / 2 + 1;
}

/* After a step by frame pointer the caller's %rbx is unknown: it must not be guessed. */
static void test_jit_unknown_register(void **state)
{
	uint8_t *code = jit_new();
	struct stack st;
	uint32_t n;

	(void)state;
	memcpy(&jit, &code, sizeof(code));
	rbp_junk(jit, outer);
	unwind_all(&st, UNWIND_BAD_READ);
	n = CHAIN(&st, &link_leaf, &link_middle, &link_outer);
	assert_true(st.frames[n].addr.v == (uintptr_t)code + 17);
	assert_true(inside(&link_rbx_based, &st.frames[n + 1]));
	assert_int_equal(st.res.n, n + 2);

	/*
	 * Seen from the JIT code itself, whose frame pointer is invalid: no rows, no module, and no
	 * return address nearby.
	 */
	cap_regs[UREG_IP] = (uintptr_t)code + 9;
	cap_regs[UREG_BP] = cap_regs[UREG_SP] - 64;
	assert_true(cap_nwords > 24);
	memset(cap_words, 0, 24 * sizeof(*cap_words));
	unwind_all(&st, UNWIND_NO_JIT_ROWS);
	assert_int_equal(st.res.n, 1);
	assert_null(st.res.at);

	/*
	 * A word that leads nowhere, where a return address may be; and a valid one where none may
	 * be.
	 */
	cap_words[ra_slot(0)] = (uintptr_t)rbp_junk + 7;
	cap_words[ra_slot(1) + 1] = (uintptr_t)test_jit_unknown_register + 40;
	unwind_all(&st, UNWIND_NO_JIT_ROWS);
	assert_int_equal(st.res.n, 1);
	/*
	 * A word that leads to others that lead on, the last of them to 0 although callers are
	 * above it: left behind by earlier calls.
	 */
	junk_chain(ra_slot(0));
	unwind_all(&st, UNWIND_NO_JIT_ROWS);
	assert_int_equal(st.res.n, 1);
	/* When they lead all the way, the word is the caller. */
	memset(cap_words, 0, 24 * sizeof(*cap_words));
	n = junk_chain_home(ra_slot(0));
	unwind_all(&st, UNWIND_COMPLETE);
	for (uint32_t i = 1; i <= n; i++)
		assert_true(st.frames[i].addr.v == (uintptr_t)rbp_junk + 11);
	expect_root(&st);
	/* Below it a word into JIT code: nothing shows whether that is the caller. */
	cap_words[ra_slot(0)] = (uintptr_t)code + 9;
	cap_words[ra_slot(1)] = (uintptr_t)rbp_junk + 11;
	unwind_all(&st, UNWIND_NO_JIT_ROWS);
	assert_int_equal(st.res.n, 1);
	munmap(code, 4096);
}

/*
 * Jitted frames linked by %rbp up to one whose link is 0 (psABI 1.0, 3.4.1), which marks the end of
 * a chain.
 */
static void test_jit_chain_end(void **state)
{
	uint8_t *code = jit_new();
	struct stack st;

	(void)state;
	memcpy(&jit, &code, sizeof(code));
	rbp_junk(jit, outer);
	memset(cap_words, 0, cap_nwords * sizeof(*cap_words));
	cap_regs[UREG_IP] = (uintptr_t)code + 9;
	cap_regs[UREG_BP] = cap_regs[UREG_SP] + 16;
	cap_words[2] = cap_regs[UREG_SP] + 40;
	cap_words[3] = (uintptr_t)code + 12;
	cap_words[6] = (uintptr_t)code + 15;
	unwind_all(&st, UNWIND_COMPLETE);
	assert_int_equal(st.res.n, 3);
	assert_true(st.frames[1].addr.v == (uintptr_t)code + 12);
	assert_true(st.frames[2].addr.v == (uintptr_t)code + 15);

	/* Nothing shows that the innermost frame's %rbp is a frame pointer. */
	cap_regs[UREG_BP] = 0;
	unwind_all(&st, UNWIND_NO_JIT_ROWS);
	assert_int_equal(st.res.n, 1);
	munmap(code, 4096);
}

/*
 * A function that finds its frame by %rbp, and one that calls a place in itself, where its rows are
 * a word off. Neither is run.
 */
extern const char by_rbp[], by_rbp_ret[], own_call[], own_call_ret[], own_call_in[];
__asm__(".text\n"
	"by_rbp:\n"
	"	.cfi_startproc\n"
	"	push	%rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbp, 0\n"
	"	mov	%rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	call	rbx_based\n"
	"by_rbp_ret:\n"
	"	leave\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size by_rbp, . - by_rbp\n"
	"own_call:\n"
	"	.cfi_startproc\n"
	"	sub	$24, %rsp\n"
	"	.cfi_adjust_cfa_offset 24\n"
	"	call	own_call_in\n"
	"own_call_ret:\n"
	"	jmp	own_call_ret\n"
	"own_call_in:\n"
	"	nop\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size own_call, . - own_call\n");

/*
 * Jitted code that runs in the frame of an interpreter's loop (PHP), and jitted code that saved a
 * %rbp on which its caller depends (LLVM).
 */
static void test_jit_frames(void **state)
{
	uint8_t *code = jit_new();
	size_t at = ra_slot(1);
	struct stack st;
	uint32_t n;

	(void)state;
	memcpy(&jit, &code, sizeof(code));
	rbp_junk(jit, outer);
	assert_true(cap_nwords > 48);
	cap_regs[UREG_IP] = (uintptr_t)code + 9;
	cap_regs[UREG_BP] = 1;
	memset(cap_words, 0, 48 * sizeof(*cap_words));
	n = junk_chain_home(ra_slot(9));
	unwind_all(&st, UNWIND_COMPLETE);
	assert_true(st.frames[n].addr.v == (uintptr_t)rbp_junk + 11);
	expect_root(&st);

	memset(cap_words, 0, 48 * sizeof(*cap_words));
	cap_words[at] = (uintptr_t)by_rbp_ret;
	cap_words[at - 1] = cap_regs[UREG_SP] + 8 * (at + 5);
	n = junk_chain_home(at + 6);
	unwind_all(&st, UNWIND_COMPLETE);
	assert_true(st.frames[1].addr.v == (uintptr_t)by_rbp_ret);
	assert_true(st.frames[n + 1].addr.v == (uintptr_t)rbp_junk + 11);
	expect_root(&st);
	/* Nothing is there. */
	memset(cap_words + at + 5, 0, 40 * sizeof(*cap_words));
	unwind_all(&st, UNWIND_NO_JIT_ROWS);
	assert_int_equal(st.res.n, 1);
	munmap(code, 4096);
}

/* LuaJIT's interpreter: the rows of an assembly block do not describe its calls into itself. */
static void test_unstated_call(void **state)
{
	uint8_t *code = jit_new();
	struct stack st;

	(void)state;
	memcpy(&jit, &code, sizeof(code));
	rbp_junk(jit, outer);
	munmap(code, 4096);
	assert_true(cap_nwords > 24);
	memset(cap_words, 0, 24 * sizeof(*cap_words));
	cap_regs[UREG_IP] = (uintptr_t)own_call_in;
	cap_words[0] = (uintptr_t)own_call_ret;
	cap_words[3] = 1;
	junk_chain(4);
	unwind_all(&st, UNWIND_NO_MAPPING);
	assert_int_equal(st.res.n, 5);
	assert_true(st.frames[1].addr.v == (uintptr_t)own_call_ret);
	assert_true(st.frames[2].addr.v == (uintptr_t)rbp_junk + 11);

	/* With another function's return address the frame would be another one. */
	cap_words[0] = (uintptr_t)rbp_junk + 11;
	cap_words[2] = (uintptr_t)rbp_junk + 11;
	unwind_all(&st, UNWIND_NO_MAPPING);
	assert_int_equal(st.res.n, 1);
	/* Where the rows lead counts if it is code, whatever is at the stack pointer. */
	cap_words[0] = (uintptr_t)own_call_ret;
	cap_words[3] = (uintptr_t)rbp_junk + 11;
	unwind_all(&st, UNWIND_NO_MAPPING);
	assert_true(st.frames[1].addr.v == (uintptr_t)rbp_junk + 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_realigned),
		cmocka_unit_test(test_rbx_base),
		cmocka_unit_test(test_rbx_base_not_copied),
		cmocka_unit_test(test_stated_sp),
		cmocka_unit_test(test_callback),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_signal_altstack),
		cmocka_unit_test(test_signal_null),
		cmocka_unit_test(test_thread),
		cmocka_unit_test(test_jit),
		cmocka_unit_test(test_jit_unknown_register),
		cmocka_unit_test(test_jit_chain_end),
		cmocka_unit_test(test_jit_frames),
		cmocka_unit_test(test_unstated_call),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
