#include "capture/jitlook.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "addr.h"
#include "base/signals.h"
#include "base/hash.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "code/x86_insn.h"
#include "event.h"
#include "host/nsopen.h"
#include "host/opener_loss.h"

#define PLACES_MAX 4096u	/* open requests, and answers */
#define INSNS_MAX 24		/* from the address to the end of the prologue or epilogue */
#define CODE_BYTES 128u		/* these mostly fit */
#define END_NS 200000000ull	/* time to wait for the thread at the end */

#define RSP 4
#define RBP 5

/* ---- decoding code ---- */

static int checked(int64_t off)
{
	return off >= 0 && off <= JIT_RETURN_OFF_MAX && off % 8 == 0 ? (int)off : -1;
}

/*
 * Follows the code until %rbp changes or the function returns, assuming that branches are not
 * taken. @sp: change of the stack pointer in bytes. A function that returns without having touched
 * %rbp had left its frame. One that sets %rbp to the stack is setting up its frame: there the
 * caller's %rbp has been or will be saved, below the return address (psABI 1.0, 3.2.2).
 */
int jit_return_off(const uint8_t *code, size_t size, uint64_t addr)
{
	uint64_t at = addr;
	int64_t sp = 0;

	for (int i = 0; i < INSNS_MAX && at - addr < size; i++) {
		struct x86_insn in;

		if (!x86_decode(code + (at - addr), size - (at - addr), at, &in) || (in.clobbers & (1u << RSP | 1u << RBP)))
			return -1;
		switch (in.effect) {
		case X86_PUSH:
		case X86_PUSH_VALUE:
			sp -= 8;
			break;
		case X86_POP_VALUE:
			sp += 8;
			break;
		case X86_POP:
			if (in.dst == RSP || in.dst == RBP)
				return -1;
			sp += 8;
			break;
		case X86_MOVE:
		case X86_ADD:
			if (in.dst == RBP)
				return in.src == RSP ? checked(sp + (in.effect == X86_ADD ? in.disp : 0) + 8) : -1;
			if (in.dst != RSP)
				break;
			if (in.effect != X86_ADD || in.src != RSP)
				return -1;
			sp += in.disp;
			break;
		case X86_LOAD:
		case X86_CONST:
		case X86_CONST_LOW:
			if (in.dst == RSP || in.dst == RBP)
				return -1;
			break;
		case X86_LEAVE:
			return -1;
		default:
			break;
		}
		if (sp < -JIT_RETURN_OFF_MAX || sp > JIT_RETURN_OFF_MAX)
			return -1;
		switch (in.flow) {
		case X86_NEXT:
		case X86_BRANCH:
			at += in.len;
			break;
		case X86_JUMP:
			at = in.target;
			break;
		case X86_RET:
			return checked(sp);
		default:
			return -1;
		}
	}
	return -1;
}

/* ---- the thread ---- */

struct places {
	struct jit_place v[PLACES_MAX];
	unsigned int first, n;
};

struct jitlook {
	pthread_t thread;
	pthread_mutex_t lock;	/* guards the rest */
	pthread_cond_t asked, idle;
	struct places open, answered;
	bool up, failed, busy, stop;
};

static struct jit_place *push(struct places *p)
{
	return p->n == PLACES_MAX ? NULL : &p->v[(p->first + p->n++) % PLACES_MAX];
}

static struct jit_place shift(struct places *p)
{
	const struct jit_place place = p->v[p->first];

	p->first = (p->first + 1) % PLACES_MAX;
	p->n--;
	return place;
}

/* Reads what is available: the next page may not be. */
static int look(const struct jit_place *place)
{
	uint8_t code[CODE_BYTES];
	const int procfd = nsopen_process(place->pid);
	ssize_t got;

	if (procfd < 0)
		return -1;
	opener_for(place->pid, "", place->pid);
	opener_about(hash_u64(place->pid), "code in memory");
	got = nsopen_memory(procfd, place->addr, code, sizeof(code));
	close(procfd);
	return got > 0 ? jit_return_off(code, (size_t)got, place->addr) : -1;
}

static void *run(void *arg)
{
	struct jitlook *jl = arg;

	/* It keeps the drain's priority: it has little to do, and the code may soon be replaced. */
	pthread_mutex_lock(&jl->lock);
	while (!jl->stop) {
		struct jit_place place, *to;

		if (!jl->open.n) {
			pthread_cond_wait(&jl->asked, &jl->lock);
			continue;
		}
		place = shift(&jl->open);
		jl->busy = true;
		pthread_mutex_unlock(&jl->lock);
		place.off = look(&place);
		pthread_mutex_lock(&jl->lock);
		jl->busy = false;
		to = place.off >= 0 ? push(&jl->answered) : NULL;
		if (to)
			*to = place;
		pthread_cond_signal(&jl->idle);
	}
	pthread_mutex_unlock(&jl->lock);
	return NULL;
}

struct jitlook *jitlook_new(void)
{
	struct jitlook *jl = xcalloc(1, sizeof(*jl));
	pthread_condattr_t mono;

	pthread_mutex_init(&jl->lock, NULL);
	pthread_cond_init(&jl->asked, NULL);
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_cond_init(&jl->idle, &mono);
	pthread_condattr_destroy(&mono);
	return jl;
}

void jitlook_free(struct jitlook *jl)
{
	struct timespec until;
	bool stuck;

	if (!jl)
		return;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += END_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&jl->lock);
	jl->stop = true;
	pthread_cond_signal(&jl->asked);
	while (jl->busy && !pthread_cond_timedwait(&jl->idle, &jl->lock, &until))
		;
	stuck = jl->busy;
	pthread_mutex_unlock(&jl->lock);
	/* The thread waits for a process's page. Our exit will end it. */
	if (stuck) {
		pthread_detach(jl->thread);
		return;
	}
	if (jl->up)
		pthread_join(jl->thread, NULL);
	pthread_cond_destroy(&jl->asked);
	pthread_cond_destroy(&jl->idle);
	pthread_mutex_destroy(&jl->lock);
	free(jl);
}

/* Signals must reach the recorder's main thread. */
static void start(struct jitlook *jl)
{
	sigset_t old;

	signals_block_all(&old);
	jl->up = !pthread_create(&jl->thread, NULL, run, jl);
	jl->failed = !jl->up;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

bool jitlook_ask(struct jitlook *jl, const struct jit_place *place)
{
	struct jit_place *to = NULL;

	if (!jl->up && !jl->failed)
		start(jl);
	if (!jl->up)
		return false;
	pthread_mutex_lock(&jl->lock);
	to = push(&jl->open);
	if (to)
		*to = *place;
	pthread_cond_signal(&jl->asked);
	pthread_mutex_unlock(&jl->lock);
	return to;
}

size_t jitlook_take(struct jitlook *jl, struct jit_place *out, size_t max)
{
	size_t n = 0;

	if (!jl->up)
		return 0;
	pthread_mutex_lock(&jl->lock);
	while (n < max && jl->answered.n)
		out[n++] = shift(&jl->answered);
	pthread_mutex_unlock(&jl->lock);
	return n;
}
