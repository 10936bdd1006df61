/* Usable CPUs (cpus.h). */
#include "base/cpus.h"

#include <sched.h>

#include "base/util.h"

unsigned int cpus_usable(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	return (unsigned int)MAX(CPU_COUNT(&set), 1);
}
