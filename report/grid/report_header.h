/* The header of a report: what was profiled, how, and what is missing. */
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
	const char *path;	/* path of the input */
	bool period;		/* the report counts periods; false with several events */
	bool interrupted;
};

/*
 * The unit of the counts: "samples", "events", or "ns" of CPU time for clocks. With several events
 * that differ in it, "counts".
 */
const char *header_unit(const struct header *h);
/* Appends the amount @n for people: "1 sample", "3771 events", "197.2 ms of CPU time". */
void header_add_amount(const struct header *h, uint64_t n, struct strbuf *out);
/* Writes lines that begin with '#'. */
void header_text(const struct header *h, FILE *to);
/*
 * Appends one line for a picture. It must stand alone, since a picture is passed on without the
 * recording.
 */
void header_subtitle(const struct header *h, struct strbuf *out);
/* Adds members to the open object. */
void header_json(const struct header *h, struct json *j);

#endif
