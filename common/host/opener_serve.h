/* What an opener does: requests of the program, one after the other, until its socket is closed. */
#ifndef NSPROF_OPENER_SERVE_H
#define NSPROF_OPENER_SERVE_H

void opener_serve(int sock) __attribute__((noreturn));

#endif
