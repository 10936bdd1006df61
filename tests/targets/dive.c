/*
 * Recursion that is at times deeper than a small stack copy. "dive --chains" prints the chains that
 * it declares, root first, each mode's chains after its name. "dive MODE SECONDS" runs the mode for
 * SECONDS of CPU time.
 *
 *	one	from one root down and up again, in steps that copies of 8 KiB overlap
 *	two	from two roots in turn, whose frames are identical word for word: the copy of a deep
 *		stack does not show the root. The leaf's name does.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP() __asm__ volatile("" ::: "memory")

/* A frame takes some 160 bytes, so 50 of them fit into a copy of 8 KiB. */
#define STEP 30
#define STEPS 8

static volatile unsigned long sink;

/* CPU time, so that a busy machine gives as many samples and rounds as an idle one. */
static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* A few milliseconds. */
static inline __attribute__((always_inline)) void burn(void)
{
	unsigned long n = sink;

	for (unsigned long i = 0; i < 4000000; i++) {
		n = n * 6364136223846793005ul + 1442695040888963407ul;
		__asm__ volatile("" : "+r"(n));
	}
	sink = n;
}

/* One for each depth and root, so that a stack shows where it belongs. */
#define LEAF(root, depth)                                                                          \
	static NOINLINE void dive_##root##_##depth(void)                                           \
	{                                                                                          \
		burn();                                                                            \
	}
#define LEAVES(root)                                                                               \
	LEAF(root, 0) LEAF(root, 1) LEAF(root, 2) LEAF(root, 3) LEAF(root, 4) LEAF(root, 5)        \
	LEAF(root, 6) LEAF(root, 7) LEAF(root, 8)                                                  \
	static void (*const leaves_##root[])(void) = {                                             \
		dive_##root##_0, dive_##root##_1, dive_##root##_2, dive_##root##_3,                \
		dive_##root##_4, dive_##root##_5, dive_##root##_6, dive_##root##_7,                \
		dive_##root##_8,                                                                   \
	};
LEAVES(a)
LEAVES(b)
/* Straight down: no sample shows the root on the way, but the copy overlaps a's last stack. */
static void (*const leaves_deep[])(void) = {
	NULL, NULL, NULL, dive_b_3, dive_b_4, dive_b_5, dive_b_6, dive_b_7, dive_b_8,
};

/*
 * Lives in main()'s frame. The other frames are full of pointers to it: words about the stack above
 * the copy.
 */
struct dive {
	bool two;
};

/*
 * Depth @at of @depth. At every STEP it runs the leaf there, if there is one: on the way down, and
 * with one root also on the way up.
 */
NOINLINE unsigned long dive_down(int at, int depth, void (*const *leaves)(void), const struct dive *dive)
{
	const struct dive *volatile pad[12];
	unsigned long r = 1;

	for (int i = 0; i < 12; i++)
		pad[i] = dive;
	if (at % STEP == 0 && leaves[at / STEP])
		leaves[at / STEP]();
	if (at < depth)
		r += dive_down(at + 1, depth, leaves, dive);
	if (!pad[0]->two && at % STEP == 0)
		leaves[at / STEP]();
	return r + pad[at % 12]->two;
}

/* Two frames that differ only in name and address. */
#define ROOT(root)                                                                                 \
	NOINLINE unsigned long dive_root_##root(int depth, void (*const *leaves)(void),            \
						const struct dive *dive)                           \
	{                                                                                          \
		volatile char pad[64];                                                             \
		unsigned long r;                                                                   \
                                                                                                   \
		pad[depth % 64] = 1;                                                               \
		r = dive_down(0, depth, leaves, dive);                                             \
		KEEP();                                                                            \
		return r + pad[depth % 64];                                                        \
	}
ROOT(a)
ROOT(b)

static void print_chains(const char *mode, char root)
{
	for (int i = 0; i <= STEPS; i++) {
		printf("%s main;dive_root_%c;", mode, root);
		for (int at = 0; at <= i * STEP; at++)
			printf("dive_down;");
		printf("dive_%c_%d\n", root, i);
	}
}

int main(int argc, char **argv)
{
	double until = now() + (argc > 2 ? atof(argv[2]) : 1);
	unsigned int turn = 0;
	struct dive dive;

	if (argc > 1 && !strcmp(argv[1], "--chains")) {
		print_chains("one", 'a');
		print_chains("two", 'a');
		print_chains("two", 'b');
		return 0;
	}
	if (argc < 2 || (strcmp(argv[1], "one") && strcmp(argv[1], "two")))
		return 2;
	dive.two = !strcmp(argv[1], "two");
	do {
		/*
		 * When b's deep stack is sampled, the last stack seen with a's root may be the only
		 * known one.
		 */
		sink += dive_root_a(turn & 1 ? STEP * 2 : STEP * STEPS, leaves_a, &dive);
		KEEP();
		if (dive.two)
			sink += dive_root_b(STEP * STEPS, turn & 2 ? leaves_b : leaves_deep, &dive);
		KEEP();
		turn++;
	} while (now() < until);
	return 0;
}
