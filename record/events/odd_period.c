#include "events/odd_period.h"

#include <stdbool.h>

#include "base/hash.h"
#include "base/util.h"

static bool is_prime(uint64_t n)
{
	if (n < 3 || n % 2 == 0)
		return false;
	for (uint64_t d = 3; d * d <= n; d += 2)
		if (n % d == 0)
			return false;
	return true;
}

/* The first odd prime from @n on in one direction, or 1. */
static uint64_t prime_below(uint64_t n)
{
	while (n > 1 && !is_prime(n))
		n--;
	return MAX(n, 1ull);
}

static uint64_t prime_above(uint64_t n)
{
	while (!is_prime(n))
		n++;
	return n;
}

uint64_t odd_period_draw(uint64_t mean, uint64_t random)
{
	const uint64_t more = hash_combine(random, 1), reach = MAX(mean / 4, 1ull) + 1;
	uint64_t low, high;

	if (mean <= 1)
		return 1;
	/* Up to a quarter around the mean: with more, the mean number of samples would be off. */
	low = prime_below(mean - random % reach);
	high = prime_above(mean + more % reach);
	if (low == high)
		return mean;
	/* The nearer one is taken more often. */
	return hash_combine(more, 2) % (high - low) < mean - low ? high : low;
}

uint64_t odd_period_near(uint64_t mean, uint64_t i)
{
	uint64_t low, high, part;

	if (mean <= 1)
		return 1;
	low = prime_below(mean);
	high = prime_above(mean);
	if (low == high)
		return mean;
	/* Out of @high - @low events, @mean - @low have the higher one, evenly spread. */
	part = i % (high - low) * (mean - low) % (high - low);
	return part + (mean - low) >= high - low ? high : low;
}
