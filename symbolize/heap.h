/* How this program's memory is come by. */
#ifndef NSPROF_HEAP_H
#define NSPROF_HEAP_H

/*
 * Have malloc() take its memory in huge pages where the kernel gives them. Once, before the first thread. Cannot fail: what
 * is not granted changes nothing.
 */
void heap_prepare(void);

#endif
