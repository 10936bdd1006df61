/* Says at the end of a program what could not be read because nothing answered. */
#ifndef NSPROF_UNANSWERED_H
#define NSPROF_UNANSWERED_H

#include "base/strbuf.h"
#include "host/opener_loss.h"

/*
 * One line for each file system of each tenant. @whose appends whose files @m is about, such as
 * "container web"; nothing if that is unknown. NULL: unknown for all.
 */
void unanswered_tell(void (*whose)(void *ctx, const struct opener_miss *m, struct strbuf *out), void *ctx);

#endif
