#include "pictures/svg.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "grid/markup.h"
#include "profile/lead_frames.h"
#include "views/calltree.h"

/* The script is a separate file, so that editors and linters recognize it. */
__asm__(".section .rodata\n"
	".global flame_js\n.global flame_js_end\n"
	"flame_js:\n.incbin \"report/pictures/flame.js\"\nflame_js_end:\n"
	".previous\n");
extern const char flame_js[], flame_js_end[];

enum {
	ROW = 17,		/* pixels from one frame to the next */
	PAD_SIDE = 10,
	PAD_TOP = 62,		/* title, subtitle, buttons */
	PAD_BOTTOM = 40,	/* details of the frame under the pointer */
	CHAR_WIDTH = 7,		/* of the 12 pixel monospace font, rounded up: text must never stick
				 * out */
};

/* A stable color for a name, in the color range of its kind. */
static void frame_color(char out[8], const char *name, uint8_t hue)
{
	uint64_t h = hash_bytes(name, strlen(name));
	unsigned int a = h & 0xff, b = (h >> 8) & 0xff, r, g, bl;

	switch (hue) {
	case HUE_KERNEL:
		r = 225 + a * 20 / 255;
		g = 135 + b * 45 / 255;
		bl = 40;
		break;
	case HUE_JIT:
		r = 80 + a * 60 / 255;
		g = 190 + b * 45 / 255;
		bl = 80 + a * 40 / 255;
		break;
	case HUE_INLINED:
		r = 90 + a * 50 / 255;
		g = 185 + b * 35 / 255;
		bl = 200 + a * 40 / 255;
		break;
	case HUE_LEADING:
		r = g = bl = 205 + a * 25 / 255;
		break;
	case HUE_STATES + STATE_RUNNING:
		r = 60 + a * 30 / 255;
		g = 165 + b * 30 / 255;
		bl = 75;
		break;
	case HUE_STATES + STATE_RUNNABLE:
		r = 240;
		g = 205 + b * 20 / 255;
		bl = 60 + a * 30 / 255;
		break;
	case HUE_STATES + STATE_BLOCKED:
		r = 80 + a * 30 / 255;
		g = 130 + b * 30 / 255;
		bl = 225;
		break;
	case HUE_STATES + STATE_THROTTLED:
		r = 190 + a * 20 / 255;
		g = 50;
		bl = 140 + b * 30 / 255;
		break;
	default:
		r = 220 + a * 35 / 255;
		g = 70 + b * 110 / 255;
		bl = 50 + a * 40 / 255;
	}
	snprintf(out, 8, "#%02x%02x%02x", r, g, bl);
}

/* Red for more, blue for less; the depth is the change relative to the larger side. */
static void change_color(char out[8], const struct svg_change *c)
{
	double larger = MAX(c->before, c->after);
	unsigned int pale = larger > 0 ? (unsigned int)(135 * (1 - MIN(c->before, c->after) / larger)) : 0;

	if (!c->sure)
		snprintf(out, 8, "#dcdcdc");
	else if (c->after > c->before)
		snprintf(out, 8, "#ff%02x%02x", 225 - pale, 225 - pale);
	else
		snprintf(out, 8, "#%02x%02xff", 225 - pale, 225 - pale);
}

struct layout {
	struct calltree *t;
	const struct svg_opts *opts;
	double scale;		/* pixels per count */
	unsigned int rows;
	uint8_t *used;		/* [intern id]: the name is shown somewhere */
	FILE *to;
};

/*
 * Names are written once, in a table, not in each frame: names of C++ templates have hundreds of
 * bytes and occur thousands of times.
 */
static void names_write(const struct layout *l)
{
	uint32_t i, n = intern_count(l->t->names), last = 0;

	fputs("<script><![CDATA[\nvar nsprofNames=[", l->to);
	for (i = 0; i < n; i++)
		if (l->used[i])
			last = i;
	for (i = 0; i <= last && i < n; i++) {
		fputs(i ? ",\n" : "\n", l->to);
		markup_string(l->to, l->used[i] ? intern_str(l->t->names, i) : "");
	}
	fputs("];\n]]></script>\n", l->to);
}

static void frame_write(const struct layout *l, const struct calltree_node *nd, uint64_t before)
{
	static const char kind[] = {
		[HUE_USER] = 'u', [HUE_KERNEL] = 'k', [HUE_JIT] = 'j', [HUE_INLINED] = 'i', [HUE_LEADING] = 'l', [HUE_STATES ... HUE_STATES + STATES - 1] = 's',
	};
	double x = PAD_SIDE + (double)before * l->scale, w = (double)nd->total * l->scale;
	double y = PAD_TOP + (double)(l->rows - nd->depth - 1) * ROW;
	const char *name = nd->depth ? intern_str(l->t->names, nd->name) : "all";
	size_t chars = w < 3 * CHAR_WIDTH ? 0 : (size_t)((w - 4) / CHAR_WIDTH);
	char color[8];

	if (l->opts->changes)
		change_color(color, &l->opts->changes[nd - l->t->nodes]);
	else
		frame_color(color, name, nd->hue);
	l->used[nd->name] = 1;
	fprintf(l->to, "<g class=\"f\" data-i=\"%u\" data-b=\"%llu\" data-n=\"%llu\" data-k=\"%c\"",
		nd->name, (unsigned long long)before, (unsigned long long)nd->total, kind[nd->hue]);
	if (l->opts->changes)
		fprintf(l->to, " data-c=\"%.5g %.5g\"", 100 * l->opts->changes[nd - l->t->nodes].before,
			100 * l->opts->changes[nd - l->t->nodes].after);
	fprintf(l->to, "><rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>", x, y, w, ROW - 1,
		color);
	if (chars) {
		fprintf(l->to, "<text x=\"%.1f\" y=\"%.0f\">", x + 3, y + 12);
		markup_text(l->to, name, chars);
		fputs("</text>", l->to);
	}
	fputs("</g>\n", l->to);
}

/*
 * Walks depth first without recursion. @before: the count to the left of the node; siblings too
 * narrow to see still take their room. Skipping subtrees keeps the cost proportional to what is
 * shown. The walk that does not draw sorts siblings and returns the number of rows.
 */
static unsigned int frames_walk(const struct layout *l, int draw)
{
	const struct calltree_node *nodes = l->t->nodes;
	unsigned int deepest = 0;
	uint64_t before = 0;
	uint32_t at = 0;

	for (;;) {
		int visible = (double)nodes[at].total * l->scale >= l->opts->min_width;

		if (visible) {
			deepest = MAX(deepest, nodes[at].depth);
			if (draw)
				frame_write(l, &nodes[at], before);
			else
				calltree_sort(l->t, at);
			if (nodes[at].child) {
				at = nodes[at].child;
				continue;
			}
		}
		for (;;) {
			before += nodes[at].total;
			if (!at)
				return deepest;
			if (nodes[at].next) {
				at = nodes[at].next;
				break;
			}
			/* Go up: the parent's own samples are to the right of its children. */
			at = nodes[at].parent;
			before -= nodes[at].total - nodes[at].self;
		}
	}
}

/* Slightly less, because frames_walk() compares rounded values. */
double svg_least(const struct svg_opts *opts)
{
	return opts->min_width / (double)(opts->width - 2 * PAD_SIDE) * (1 - 1e-9);
}

void svg_write(struct calltree *t, const struct svg_opts *opts, FILE *to)
{
	struct layout l = { .t = t, .opts = opts, .to = to };
	unsigned int height;
	uint64_t all = t->nodes[0].total ? t->nodes[0].total : 1;

	l.used = xcalloc(intern_count(t->names) + 1, 1);
	l.scale = (double)(opts->width - 2 * PAD_SIDE) / (double)all;
	l.rows = t->nodes[0].total ? frames_walk(&l, 0) + 1 : 1;
	height = PAD_TOP + l.rows * ROW + PAD_BOTTOM;
	fprintf(to, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%u\" height=\"%u\" "
		"viewBox=\"0 0 %u %u\" data-all=\"%llu\" data-unit=\"", opts->width, height, opts->width, height,
		(unsigned long long)all);
	markup_text(to, opts->unit, SIZE_MAX);
	fputs("\" data-of=\"", to);
	markup_text(to, opts->of ? opts->of : "", SIZE_MAX);
	fputs("\">\n<style>\n"
	      "svg{background:#fafaf7}text{font:12px monospace;fill:#111;pointer-events:none}\n"
	      ".f{cursor:pointer}.f:hover rect{stroke:#000;stroke-width:0.6}\n"
	      "#title{font:bold 17px sans-serif;text-anchor:middle}#sub{font:12px sans-serif;text-anchor:middle;fill:#555}\n"
	      ".b{font:12px sans-serif;fill:#22c;cursor:pointer;pointer-events:auto}.hit rect{fill:#e600e6}.past rect{opacity:.45}\n"
	      "</style>\n<text id=\"title\" x=\"50%\" y=\"24\">", to);
	markup_text(to, opts->title, 120);
	fputs("</text>\n<text id=\"sub\" x=\"50%\" y=\"42\">", to);
	markup_text(to, opts->subtitle ? opts->subtitle : "", 160);
	fprintf(to, "</text>\n<text class=\"b\" id=\"reset\" x=\"%d\" y=\"24\" visibility=\"hidden\">reset zoom</text>\n"
		"<text class=\"b\" id=\"search\" x=\"%u\" y=\"24\">search (Ctrl-F)</text>\n"
		"<text id=\"info\" x=\"%d\" y=\"%u\"> </text>\n<text id=\"match\" x=\"%u\" y=\"%u\" text-anchor=\"end\"> </text>\n"
		"<g id=\"frames\">\n", PAD_SIDE, opts->width - 110, PAD_SIDE, height - 14, opts->width - PAD_SIDE, height - 14);
	if (t->nodes[0].total)
		frames_walk(&l, 1);
	fputs("</g>\n", to);
	names_write(&l);
	fputs("<script><![CDATA[\n", to);
	fwrite(flame_js, 1, (size_t)(flame_js_end - flame_js), to);
	fputs("]]></script>\n</svg>\n", to);
	free(l.used);
}
