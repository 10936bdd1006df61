/*
 * What openers keep of the program's rights: what reading processes and their files takes
 * (contrib/doc/sandbox.md). A layer that the kernel does not have is left out.
 */
#ifndef NSPROF_OPENER_RIGHTS_H
#define NSPROF_OPENER_RIGHTS_H

/*
 * In the zygote: gives up the rights that neither it nor openers need, and prepares what openers
 * give up in addition. It still forks them, ends them, and sets their priority.
 */
void opener_rights_prepare(void);
/* In an opener: the rest. */
void opener_rights_give_up(void);

#endif
