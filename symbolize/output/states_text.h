/* What weighing by switches has found, in words (collect.h). */
#ifndef NSPROF_STATES_TEXT_H
#define NSPROF_STATES_TEXT_H

struct collect_states;
struct strbuf;

/* "4 threads: 8.012 s = 1.204 s on a CPU + 6.808 s off it". */
void states_text_identity(const struct collect_states *st, struct strbuf *out);
/* "blocked 6.1 s, runnable 0.7 s; 0.2 s without a stack". */
void states_text_sums(const struct collect_states *st, struct strbuf *out);
/* How it is known how long woken threads waited for a CPU. Static. */
const char *states_text_queue(const struct collect_states *st);

#endif
