/*
 * What the names of each tenant may cost. A tenant is a container or, outside of containers, a user
 * or a cgroup. It may give its functions names of any length and number. Each tenant has an account,
 * and what exceeds it is cut to LONGNAME_BRIEF bytes (longname.h), counted and reported. The names
 * of others are not touched. A binary that several tenants use is on an account of its own, to which
 * only these have access.
 */
#ifndef NSPROF_NAME_ACCOUNTS_H
#define NSPROF_NAME_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/replay.h"
#include "support/location.h"

struct stacktree;
struct name_accounts;

/*
 * All borrowed. @tree: if names are written once for each stack (or, with @each, for each sample),
 * these stacks; NULL: names are written once.
 */
struct name_accounts *name_accounts_new(const struct replay *rp, const struct locations *ls, const struct stacktree *tree, bool each);
void name_accounts_free(struct name_accounts *na);

/* From now on, names belong to location @i, until the next call. */
void name_accounts_at(struct name_accounts *na, size_t i);
/*
 * May a name of @len bytes, which is kept in memory, have them? The bytes beyond LONGNAME_BRIEF are
 * charged.
 */
bool name_accounts_keep(struct name_accounts *na, size_t len);
/* May it be written with @len bytes wherever the current location is shown? Charged as well. */
bool name_accounts_show(struct name_accounts *na, size_t len);
/* Was something refused for the current account? Then work on its long names is useless. */
bool name_accounts_spent(const struct name_accounts *na);

/* For perf maps of @img: room for perfmap_slice(). */
size_t *name_accounts_room(struct name_accounts *na, const struct image *img);
/* May @bytes of a perf map of @img be read? They are charged. */
bool name_accounts_read(struct name_accounts *na, const struct image *img, uint64_t bytes);

/* Warns about each account from which something was refused. */
void name_accounts_tell(const struct name_accounts *na);

#endif
