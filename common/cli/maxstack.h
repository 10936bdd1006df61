/*
 * "--max-stack N", for all tools that have it: how many frames of a stack to keep, from the leaf.
 */
#ifndef NSPROF_MAXSTACK_H
#define NSPROF_MAXSTACK_H

#define MAXSTACK_LIMIT 65536u
#define MAXSTACK_DEFAULT 1024

/*
 * Option callback (opt.h): sets *(uint64_t *)@dst, 1 to MAXSTACK_LIMIT. 0, or -EINVAL after a
 * message.
 */
int maxstack_parse(void *dst, const char *arg);

#endif
