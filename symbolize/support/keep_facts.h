/* For programs that give up their rights before they read a recording (host/parser.h). */
#ifndef NSPROF_KEEP_FACTS_H
#define NSPROF_KEEP_FACTS_H

/* Opens what names of processes and of the kernel are checked with. Before threads start. */
void keep_facts(void);

#endif
