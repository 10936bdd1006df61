/* The outputs of a parser: the program opens and finishes them (outfile.h). */
#ifndef NSPROF_PARSER_OUTPUTS_H
#define NSPROF_PARSER_OUTPUTS_H

#include <stdbool.h>

#include "host/parser.h"

/* In the parser: asks through @sock from now on. */
void parser_outputs_ask(int sock);
/* In the program: answers one request. False: the parser has ended. */
bool parser_outputs_serve(int sock, const struct parser *p);
/* Gives up the outputs that the parser did not finish. */
void parser_outputs_end(void);

#endif
