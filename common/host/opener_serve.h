/* What an opener does: requests of the program, one after the other, until its socket is closed. */
#ifndef NSPROF_OPENER_SERVE_H
#define NSPROF_OPENER_SERVE_H

#include <stdbool.h>

#include "host/fileop.h"

void opener_serve(int sock) __attribute__((noreturn));
/*
 * Answers one request by @run, which is like fileop_run(). False: the other side has gone.
 */
bool opener_serve_one(int sock, int (*run)(const struct fileop *op, struct fileop_result *r));

#endif
