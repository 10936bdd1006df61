/*
 * demangle <NAMES: runs each line through the symbolizer's demangler, for comparing with other
 * programs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "symbols/demangle.h"

int main(void)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	while ((n = getline(&line, &cap, stdin)) > 0) {
		char *text;

		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		text = demangle(line);
		puts(text);
		free(text);
	}
	free(line);
	return 0;
}
