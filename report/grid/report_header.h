/* What stands above a report: whose profile it is, how it was taken, and what is missing in it. */
#ifndef NSPROF_REPORT_HEADER_H
#define NSPROF_REPORT_HEADER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/strbuf.h"
#include "bytes/json.h"
#include "profile/profile.h"

struct header {
	const struct profile *profile;
	const char *path;	/* of the input */
	bool period;		/* what is counted */
	bool interrupted;
};

/* What is counted: "samples", "events", or "ns" of CPU time for clocks. */
const char *header_unit(const struct header *h);
/* @n of them, for people: "1 sample", "3771 events", "197.2 ms of CPU time". */
void header_add_amount(const struct header *h, uint64_t n, struct strbuf *out);
/* Lines that begin with '#'. */
void header_text(const struct header *h, FILE *to);
/* One line for a picture, which is passed on without the recording. Appended. */
void header_subtitle(const struct header *h, struct strbuf *out);
/* Members of the object at hand. */
void header_json(const struct header *h, struct json *j);

#endif
