#include "base/numlist.h"

#include <errno.h>
#include <stdlib.h>

#include "base/xalloc.h"

static int cmp_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

size_t numlist_unique(uint32_t *v, size_t n)
{
	size_t out = 0;

	if (n)
		qsort(v, n, sizeof(*v), cmp_u32);
	for (size_t i = 0; i < n; i++)
		if (!out || v[out - 1] != v[i])
			v[out++] = v[i];
	return out;
}

static int number(const char **p, uint32_t max, uint32_t *v)
{
	unsigned long x;
	char *end;

	if (**p < '0' || **p > '9')
		return -EINVAL;
	errno = 0;
	x = strtoul(*p, &end, 10);
	if (errno || x > max)
		return -EINVAL;
	*v = (uint32_t)x;
	*p = end;
	return 0;
}

int numlist_parse(const char *text, bool ranges, uint32_t max, uint32_t **out, size_t *n)
{
	uint32_t *v = NULL, lo, hi;
	size_t cap = 0;

	*out = NULL;
	*n = 0;
	for (const char *p = text;;) {
		if (number(&p, max, &lo))
			goto bad;
		hi = lo;
		if (ranges && *p == '-') {
			p++;
			if (number(&p, max, &hi) || hi < lo)
				goto bad;
		}
		for (uint32_t i = lo; i <= hi; i++) {
			XGROW(v, *n, cap);
			v[(*n)++] = i;
		}
		if (!*p)
			break;
		if (*p++ != ',')
			goto bad;
	}
	*n = numlist_unique(v, *n);
	*out = v;
	return 0;
bad:
	free(v);
	*n = 0;
	return -EINVAL;
}
