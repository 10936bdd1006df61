/* Pseudo-random numbers for tests: the same in every run, so that failures repeat. */
#ifndef NSPROF_TEST_RANDOM_H
#define NSPROF_TEST_RANDOM_H

#include <stdint.h>

/*
 * splitmix64 (Steele, Lea, Flood 2014). Any initial *@state works; neighbouring ones give unrelated
 * sequences.
 */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

#endif
