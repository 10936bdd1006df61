/* The argument of --max-stack (maxstack.h). */
#include "cli/maxstack.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/log.h"

int maxstack_parse(void *dst, const char *arg)
{
	char *end;
	unsigned long long n = strtoull(arg, &end, 10);

	/* strtoull() returns ULLONG_MAX for larger numbers, which is above the limit too. */
	if (!isdigit((unsigned char)*arg) || *end || !n || n > MAXSTACK_LIMIT) {
		pr_err("invalid number of frames '%s'; --max-stack takes 1 to %u", arg, MAXSTACK_LIMIT);
		return -EINVAL;
	}
	*(uint64_t *)dst = n;
	return 0;
}
