/*
 * A container runtime's own processes: for some milliseconds they are in the container's cgroup, and they are
 * not what the container was made for.
 */
#ifndef NSPROF_RUNTIME_HELPERS_H
#define NSPROF_RUNTIME_HELPERS_H

#include <stdbool.h>

struct image;

/*
 * Is @img, which runs in a container's cgroup, one of these? By the path of its program, as the kernel gave
 * it, and by its pid namespace. Never by its name alone, which any process can choose.
 */
bool runtime_is_helper(const struct image *img);

#endif
