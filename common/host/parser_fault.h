/* What a parser was doing when a fault ended it (parser.h). */
#ifndef NSPROF_PARSER_FAULT_H
#define NSPROF_PARSER_FAULT_H

#include <stdbool.h>

/* In the program, once: memory that it shares with its parsers. */
void parser_fault_init(void);
/* In the parser: faults are noted from now on. */
void parser_fault_catch(void);
/*
 * In the program, after a fault ended the parser: names what it read, and leaves that out from now
 * on. True: another parser may succeed. False: what it read is not known, or another would not
 * help.
 */
bool parser_fault_learn(int signo);
/* Afterwards: the name of what it read, for a message; "" if that is not known. Borrowed. */
const char *parser_fault_name(void);

#endif
