/* What writers and readers of our folded text both know of the frames in front of a stack. */
#ifndef NSPROF_LEADING_H
#define NSPROF_LEADING_H

/*
 * Behind a container's frame when the process is its runtime's. Longer than any process's name, and no
 * container is called so.
 */
#define LEADING_RUNTIME_HELPER "[runtime_helper]"

#endif
