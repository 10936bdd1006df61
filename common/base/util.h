/* Small helpers without state. None of them allocates or fails. */
#ifndef NSPROF_UTIL_H
#define NSPROF_UTIL_H

#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/*
 * Binary search: the first index @i in [0, @n) for which the expression @below is false, or @n if
 * there is none. @below must be true for every index before that one.
 */
#define BISECT(n, i, below)                                                                        \
	({                                                                                         \
		size_t lo_ = 0, hi_ = (n);                                                         \
                                                                                                   \
		while (lo_ < hi_) {                                                                \
			size_t i = lo_ + (hi_ - lo_) / 2;                                          \
                                                                                                   \
			if (below)                                                                 \
				lo_ = i + 1;                                                       \
			else                                                                       \
				hi_ = i;                                                           \
		}                                                                                  \
		lo_;                                                                               \
	})

/* Rounds up to a multiple of @align, a power of two. The caller must rule out overflow. */
static inline uint64_t align_up(uint64_t v, uint64_t align)
{
	return (v + align - 1) & ~(align - 1);
}

static inline uint64_t align_down(uint64_t v, uint64_t align)
{
	return v & ~(align - 1);
}

/* For "sample%s": the plural ending of a count of @n, for nouns that take an s. */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/*
 * The form of any other word for a count of @n: plural_of(n, "binary", "binaries"), plural_of(n,
 * "is", "are").
 */
static inline const char *plural_of(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

#endif
