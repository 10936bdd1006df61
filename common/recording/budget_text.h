/* What was left out because of a budget, in words: for the recorder and the programs that show. */
#ifndef NSPROF_BUDGET_TEXT_H
#define NSPROF_BUDGET_TEXT_H

#include "base/strbuf.h"
#include "event.h"

/* "new_paths", for JSON; NULL for kinds of later versions. */
const char *budget_text_key(uint32_t kind);
/* Appends "1200 mappings with new paths". */
void budget_text_what(const struct ev_budget *ev, struct strbuf *out);
/*
 * Appends whose budget it is: "container web", "user 1000 in cgroup '/x'". @container: its name; ""
 * if it is not a container.
 */
void budget_text_who(const struct ev_budget *ev, const char *container, struct strbuf *out);

#endif
