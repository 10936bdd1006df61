/*
 * shift SECONDS [EXTRA [THREADS]]: work in ten functions whose shares wander, as a server's do with
 * its requests. In each round 'parse' does EXTRA per cent of a round's mean work on top of its own
 * tenth. All work is done in equal portions and counted, so the share of each function is known; it
 * is printed at the end as "NAME PORTIONS". The wandering differs from run to run.
 */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64
#define FUNCTIONS 10
#define ROUND 3000	/* portions, on average; so large that other work hardly counts */

static double until;
static unsigned int extra;	/* portions per round */

struct worker {
	pthread_t thread;
	uint64_t random;
	double level[FUNCTIONS];
	uint64_t done[FUNCTIONS];
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* About 0.1 us. */
static inline uint64_t portion(uint64_t x)
{
	for (int i = 0; i < 60; i++) {
		x = x * 6364136223846793005ul + 1442695040888963407ul;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

#define FUNCTION(name)                                                                             \
	__attribute__((noinline, noclone)) static uint64_t name(uint64_t x, unsigned int n)        \
	{                                                                                          \
		while (n--)                                                                        \
			x = portion(x);                                                            \
		return x;                                                                          \
	}

FUNCTION(parse)
FUNCTION(route)
FUNCTION(authorize)
FUNCTION(lookup)
FUNCTION(decode)
FUNCTION(transform)
FUNCTION(compress)
FUNCTION(encode)
FUNCTION(reply)
FUNCTION(trace)

static const struct {
	const char *name;
	uint64_t (*run)(uint64_t x, unsigned int n);
	unsigned int share;	/* of a round, per cent */
} functions[FUNCTIONS] = {
	{ "parse", parse, 10 },	{ "route", route, 3 },	       { "authorize", authorize, 5 }, { "lookup", lookup, 12 },
	{ "decode", decode, 8 }, { "transform", transform, 25 }, { "compress", compress, 20 },  { "encode", encode, 9 },
	{ "reply", reply, 7 },	{ "trace", trace, 1 },
};

static double normal(struct worker *w)
{
	double u[2];

	for (int i = 0; i < 2; i++) {
		w->random = portion(w->random ^ (w->random >> 31));
		u[i] = (double)((w->random >> 11) + 1) / 9007199254740993.0;
	}
	return sqrt(-2 * log(u[0])) * cos(2 * M_PI * u[1]);
}

/*
 * A round takes 0.3 ms; requests of one kind come for about 10 ms. The means stay the same: exp(s z
 * - s^2 / 2).
 */
__attribute__((noinline)) static uint64_t serve(struct worker *w, uint64_t x)
{
	const double memory = 0.97, spread = 0.2;

	for (int f = 0; f < FUNCTIONS; f++) {
		unsigned int n;

		w->level[f] = memory * w->level[f] + sqrt(1 - memory * memory) * normal(w);
		n = (unsigned int)(ROUND / 100 * functions[f].share * exp(spread * w->level[f] - spread * spread / 2) + 0.5);
		if (!f)
			n += extra;
		x = functions[f].run(x, n);
		w->done[f] += n;
	}
	return x;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t x = w->random;

	while (now() < until)
		x = serve(w, x);
	return (void *)(uintptr_t)x;
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	int threads = argc > 3 ? atoi(argv[3]) : 2;

	if (argc < 2 || threads < 1 || threads > THREADS_MAX)
		return 2;
	extra = argc > 2 ? (unsigned int)(atof(argv[2]) / 100 * ROUND + 0.5) : 0;
	until = now() + atof(argv[1]);
	for (int i = 0; i < threads; i++) {
		struct timespec ts;

		clock_gettime(CLOCK_REALTIME, &ts);
		workers[i].random = portion((uint64_t)ts.tv_nsec ^ ((uint64_t)ts.tv_sec << 30) ^ ((uint64_t)getpid() << 40) ^ (uint64_t)i);
		for (int f = 0; f < FUNCTIONS; f++)
			workers[i].level[f] = normal(&workers[i]);
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 1;
	}
	for (int i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	for (int f = 0; f < FUNCTIONS; f++) {
		uint64_t sum = 0;

		for (int i = 0; i < threads; i++)
			sum += workers[i].done[f];
		printf("%s %llu\n", functions[f].name, (unsigned long long)sum);
	}
	return 0;
}
