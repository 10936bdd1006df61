/* Says at the end of a recording which files could not be read, because nothing answered. */
#ifndef NSPROF_UNANSWERED_H
#define NSPROF_UNANSWERED_H

/* One line per cgroup. */
void unanswered_tell(void);

#endif
