/* A command line from bytes: words end at a newline. */
#ifndef NSPROF_FUZZ_WORDS_H
#define NSPROF_FUZZ_WORDS_H

#include <stdbool.h>

#include "fuzz.h"

#define WORDS_MAX 40

struct words {
	int argc;
	char *argv[WORDS_MAX + 2];	/* each of its own memory, so that reads behind it are seen */
	char *owned[WORDS_MAX + 2];	/* the same, as parsers reorder argv */
};

static inline void words_init(struct words *w, const uint8_t *data, size_t size)
{
	memset(w, 0, sizeof(*w));
	w->owned[w->argc++] = xstrdup("nsprof");
	while (size && w->argc <= WORDS_MAX) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t len = end ? (size_t)(end - data) : size;

		w->owned[w->argc++] = fuzz_text(data, len);
		data += len + (end != NULL);
		size -= len + (end != NULL);
	}
	memcpy(w->argv, w->owned, sizeof(w->argv));
}

static inline bool words_owns(const struct words *w, const char *word)
{
	for (int i = 0; i < WORDS_MAX + 2; i++)
		if (w->owned[i] == word)
			return true;
	return false;
}

/* A parser may have replaced two words by one of its own, and moved those behind them. */
static inline void words_fini(struct words *w)
{
	for (int i = 0; i < WORDS_MAX + 2; i++) {
		char *word = w->argv[i];

		if (words_owns(w, word))
			continue;
		for (int k = i; k < WORDS_MAX + 2; k++)
			w->argv[k] = w->argv[k] == word ? NULL : w->argv[k];
		free(word);
	}
	for (int i = 0; i < WORDS_MAX + 2; i++)
		free(w->owned[i]);
}

#endif
