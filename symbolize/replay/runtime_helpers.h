/*
 * A container runtime's own processes. They are in the container's cgroup for some milliseconds,
 * but are not part of its workload.
 */
#ifndef NSPROF_RUNTIME_HELPERS_H
#define NSPROF_RUNTIME_HELPERS_H

#include <stdbool.h>

struct image;

/*
 * Is @img, which runs in a container's cgroup, such a process? Decided by the path of its program,
 * as the kernel reported it, and by its pid namespace. Never by its name alone, which any process
 * can choose.
 */
bool runtime_is_helper(const struct image *img);

#endif
