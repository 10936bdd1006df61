/* "--max-stack N": how many frames of a stack are kept, from the leaf. Of all tools that have it. */
#ifndef NSPROF_MAXSTACK_H
#define NSPROF_MAXSTACK_H

#define MAXSTACK_LIMIT 65536u
#define MAXSTACK_DEFAULT 1024

/* The call of an option (opt.h): *(uint64_t *)@dst, from 1 to MAXSTACK_LIMIT. 0, or -EINVAL after a message. */
int maxstack_parse(void *dst, const char *arg);

#endif
