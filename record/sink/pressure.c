#include "sink/pressure.h"

#include "base/util.h"

/* The percentages that ask for a level. */
static const struct {
	unsigned int pool, rings;
} steps[PRESSURE_LEVELS] = {
	[PRESSURE_FAST] = { 30, 40 },
	[PRESSURE_STORED] = { 50, 55 },
	[PRESSURE_CUT] = { 75, 70 },
	[PRESSURE_DROP] = { 90, 85 },
};

static enum pressure_level asked_for(unsigned int pool, unsigned int rings)
{
	enum pressure_level level = PRESSURE_NONE;

	for (enum pressure_level i = PRESSURE_FAST; i < PRESSURE_LEVELS; i++)
		if (pool >= steps[i].pool || rings >= steps[i].rings)
			level = i;
	return level;
}

static void change(struct pressure *p, uint64_t now, enum pressure_level level)
{
	p->level = level;
	p->turns = level == PRESSURE_DROP;
	p->since = p->asked = now;
	p->n[level]++;
}

bool pressure_update(struct pressure *p, uint64_t now, unsigned int pool, unsigned int rings)
{
	const enum pressure_level want = asked_for(pool, rings);

	if (p->updated)
		p->ns[p->level] += now - p->updated;
	p->updated = now;
	if (want > p->level) {
		p->cause = pool >= steps[want].pool ? PRESSURE_WRITER : PRESSURE_RINGS;
		change(p, now, want);
		return true;
	}
	if (p->level == PRESSURE_NONE)
		return false;
	if (want == p->level) {
		p->asked = now;
		/* Dropping has not been enough for a second. */
		if (want == PRESSURE_DROP && now - p->since >= PRESSURE_CALM_NS &&
		    p->turns < PRESSURE_TURNS_MAX) {
			p->turns++;
			p->since = now;
		}
		return false;
	}
	if (now - p->asked < PRESSURE_CALM_NS)
		return false;
	if (p->turns > 1) {
		p->turns--;
		p->since = p->asked = now;
		return false;
	}
	change(p, now, p->level - 1);
	return true;
}
