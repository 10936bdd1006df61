/*
 * Parsers for /proc text (proc(5); fs/proc/task_mmu.c, fs/proc/array.c in the kernel). Numbers are
 * parsed by hand: strtoull() accepts signs and blanks, which a process could put where a number
 * belongs (its comm, its file names).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/hex.h"
#include "base/util.h"
#include "host/procfs.h"

#define DELETED " (deleted)"

/* At most 16 digits: the kernel writes no longer numbers. */
static bool take_hex(char **p, uint64_t *out)
{
	char *s = *p;
	uint64_t v = 0;

	while (hex_digit(*s) >= 0 && s - *p <= 16)
		v = v << 4 | (uint64_t)hex_digit(*s++);
	if (s == *p || s - *p > 16)
		return false;
	*p = s;
	*out = v;
	return true;
}

/* At most 19 digits, so that the value always fits. */
static bool take_dec(const char **p, uint64_t *out)
{
	const char *s = *p;
	uint64_t v = 0;

	while (*s >= '0' && *s <= '9' && s - *p <= 19)
		v = v * 10 + (uint64_t)(*s++ - '0');
	if (s == *p || s - *p > 19)
		return false;
	*p = s;
	*out = v;
	return true;
}

static bool take_char(char **p, char c)
{
	if (**p != c)
		return false;
	++*p;
	return true;
}

/*
 * show_map_vma() escapes only the newline, as "\012", not even the backslash. Undoing other escapes
 * would change the name of a file that contains such bytes.
 */
static void unescape_path(char *path)
{
	char *from = strchr(path, '\\'), *to = from;

	if (!from)
		return;
	while (*from) {
		if (!strncmp(from, "\\012", 4)) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

static bool parse_map(char *line, struct proc_map *m)
{
	const char *num;
	uint64_t major, minor;
	size_t len;
	char *p = line;

	memset(m, 0, sizeof(*m));
	if (!take_hex(&p, &m->start) || !take_char(&p, '-') || !take_hex(&p, &m->end) ||
	    !take_char(&p, ' ') || m->start >= m->end)
		return false;
	if (strnlen(p, 5) < 5 || p[4] != ' ')
		return false;
	m->prot = (p[0] == 'r' ? PROT_READ : 0) | (p[1] == 'w' ? PROT_WRITE : 0) |
		  (p[2] == 'x' ? PROT_EXEC : 0);
	m->shared = p[3] == 's';
	p += 5;
	if (!take_hex(&p, &m->pgoff) || !take_char(&p, ' ') || !take_hex(&p, &major) ||
	    !take_char(&p, ':') || !take_hex(&p, &minor) || !take_char(&p, ' '))
		return false;
	num = p;
	if (!take_dec(&num, &m->ino) || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	m->dev_major = (uint32_t)major;
	m->dev_minor = (uint32_t)minor;

	p += num - (const char *)p;
	if (*p && *p != ' ')
		return false;
	while (*p == ' ')
		p++;
	len = strlen(p);
	if (p[0] == '/' && len > strlen(DELETED) && !strcmp(p + len - strlen(DELETED), DELETED)) {
		p[len - strlen(DELETED)] = '\0';
		m->deleted = true;
	}
	unescape_path(p);
	m->path = p;
	return true;
}

int procfs_maps(char *text, int (*fn)(void *ctx, const struct proc_map *m), void *ctx)
{
	struct proc_map m;
	char *line, *end;
	int bad = 0, ret;

	for (line = text; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		if (!*line)
			continue;
		if (!parse_map(line, &m)) {
			bad++;
			continue;
		}
		ret = fn(ctx, &m);
		if (ret)
			return ret > 0 ? -ret : ret;
	}
	return bad;
}

/*
 * Number @field (proc(5) counts from 1; 3 is the first behind the comm) of /proc/PID/stat. The comm
 * may contain anything and ends at the last ')': only numbers and one letter follow it.
 */
static bool stat_field(const char *text, unsigned int field, uint64_t *out)
{
	const char *p = strrchr(text, ')');
	unsigned int i;

	if (!p)
		return false;
	for (i = 2; i < field; i++) {
		p = strchr(p, ' ');
		if (!p)
			return false;
		p++;
	}
	return take_dec(&p, out);
}

int procfs_stat_start(const char *text, uint64_t *ticks, uint32_t *ppid)
{
	uint64_t start, parent;

	if (!stat_field(text, 4, &parent) || parent > UINT32_MAX || !stat_field(text, 22, &start))
		return -EINVAL;
	*ticks = start;
	*ppid = (uint32_t)parent;
	return 0;
}

bool procfs_stat_running(const char *text)
{
	const char *p = strrchr(text, ')');
	uint64_t threads;

	/*
	 * num_threads: if the first thread ends before others, it stays a zombie as long as they
	 * live.
	 */
	if (!p || p[1] != ' ' || !p[2] || !stat_field(text, 20, &threads))
		return false;
	return (p[2] != 'Z' && p[2] != 'X' && p[2] != 'x') || threads > 1;
}

bool procfs_stat_kthread(const char *text)
{
	uint64_t flags;

	/* PF_KTHREAD of include/linux/sched.h: not in uapi, but unchanged since 2.6.27. */
	return stat_field(text, 9, &flags) && (flags & 0x00200000);
}

bool procfs_stat_forked(const char *text)
{
	uint64_t flags;

	/*
	 * PF_FORKNOEXEC, unchanged since 2.0. copy_process() sets it. begin_new_exec() clears it
	 * after it has installed the new memory, and before anything of the new program is mapped
	 * there.
	 */
	return stat_field(text, 9, &flags) && (flags & 0x00000040);
}

bool procfs_stat_image(const char *text, uint64_t *image)
{
	/* startcode, startstack, start_data, end_data */
	static const unsigned int fields[] = { 26, 28, 45, 46 };
	uint64_t at[4], hash = 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (!stat_field(text, fields[i], &at[i]))
			return false;
		hash = hash_combine(hash, at[i]);
	}
	*image = !at[0] ? 0 : hash ? hash : 1;
	/* For those who may not look (do_task_stat() in fs/proc/array.c). */
	return at[0] != 1;
}

/*
 * The value of line "KEY:\t..." in /proc/PID/status, or NULL. The kernel escapes newlines in Name.
 */
static const char *status_value(const char *text, const char *key)
{
	size_t len = strlen(key);

	while (text) {
		if (!strncmp(text, key, len) && text[len] == ':')
			return text + len + 1;
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return NULL;
}

/* The next number on the line, after blanks and tabs. */
static bool next_number(const char **p, uint32_t *out)
{
	uint64_t v;

	while (**p == '\t' || **p == ' ')
		++*p;
	if (!take_dec(p, &v) || v > UINT32_MAX)
		return false;
	*out = (uint32_t)v;
	return true;
}

size_t procfs_status_nstgid(const char *text, uint32_t *out, size_t max)
{
	const char *p = status_value(text, "NStgid");
	uint32_t number;
	size_t n = 0;

	/* The kernel allows 32 levels. The innermost number matters, and it is always the last. */
	while (p && next_number(&p, &number)) {
		out[MIN(n, max - 1)] = number;
		n += n < max;
	}
	return n;
}

uint32_t procfs_status_tgid(const char *text)
{
	const char *p = status_value(text, "Tgid");
	uint32_t tgid;

	return p && next_number(&p, &tgid) ? tgid : 0;
}

bool procfs_status_fsuid(const char *text, uint32_t *uid)
{
	const char *p = status_value(text, "Uid");
	uint32_t v[4];
	int i;

	for (i = 0; i < 4; i++) {
		if (!p || !next_number(&p, &v[i]))
			return false;
	}
	*uid = v[3];
	return true;
}

/* Is @name one of the comma-separated words of @list? */
static bool list_has(const char *list, size_t len, const char *name)
{
	size_t n = strlen(name), word;

	while (len) {
		const char *comma = memchr(list, ',', len);

		word = comma ? (size_t)(comma - list) : len;
		if (word == n && !memcmp(list, name, n))
			return true;
		if (!comma)
			break;
		list += word + 1;
		len -= word + 1;
	}
	return false;
}

/*
 * Lines are "ID:CONTROLLERS:PATH" (cgroups(7)). A v1 line takes precedence: on a hybrid host the
 * controller is in that hierarchy, and the v2 line may only contain "/".
 */
bool procfs_cgroup_path(const char *text, const char *controller, char *out, size_t size)
{
	const char *best = NULL, *line = text;
	size_t best_len = 0;

	while (*line) {
		size_t len = strcspn(line, "\n");
		const char *list = memchr(line, ':', len);
		const char *path =
			list ? memchr(list + 1, ':', len - (size_t)(list + 1 - line)) : NULL;

		if (path) {
			size_t list_len = (size_t)(path - (list + 1));
			bool v2 = !list_len && list == line + 1 && line[0] == '0';
			bool v1 = list_has(list + 1, list_len, controller);

			if (v1 || (v2 && !best)) {
				best = path + 1;
				best_len = len - (size_t)(best - line);
			}
			if (v1)
				break;
		}
		line += len;
		if (*line)
			line++;
	}
	if (!best || best_len >= size)
		return false;
	memcpy(out, best, best_len);
	out[best_len] = '\0';
	return true;
}

uint64_t procfs_ns_inode(const char *link)
{
	const char *p = strstr(link, ":[");
	uint64_t ino;

	if (!p)
		return 0;
	p += 2;
	if (!take_dec(&p, &ino) || strcmp(p, "]"))
		return 0;
	return ino;
}

static bool is_octal(const char *c, char most)
{
	return *c >= '0' && *c <= most;
}

/* Undoes "\\040" in @len bytes of @in. False if @out is too small. */
static bool undo_octal(const char *in, size_t len, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		char c = in[i];

		if (c == '\\' && i + 3 < len && is_octal(in + i + 1, '3') && is_octal(in + i + 2, '7') && is_octal(in + i + 3, '7')) {
			c = (char)((in[i + 1] - '0') << 6 | (in[i + 2] - '0') << 3 | (in[i + 3] - '0'));
			i += 3;
		}
		if (n + 1 >= size)
			return false;
		out[n++] = c;
	}
	out[n] = '\0';
	return true;
}

void procfs_mountinfo(char *text, void (*fn)(void *ctx, const struct proc_mount *m), void *ctx)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *sep = strstr(line, " - "), *word = NULL, *head[5] = { NULL }, *tail[3] = { NULL };
		struct proc_mount m;

		if (!sep)
			continue;
		*sep = '\0';
		for (int i = 0; i < 5; i++)
			head[i] = strtok_r(i ? NULL : line, " ", &word);
		for (int i = 0; i < 3; i++)
			tail[i] = strtok_r(i ? NULL : sep + 3, " ", &word);
		if (!head[4] || !tail[2])
			continue;
		/* In place, because the text only gets shorter. */
		for (int i = 3; i < 5; i++)
			undo_octal(head[i], strlen(head[i]), head[i], strlen(head[i]) + 1);
		m = (struct proc_mount){ .id = strtoull(head[0], NULL, 10), .root = head[3], .point = head[4], .type = tail[0], .options = tail[2] };
		if (sscanf(head[2], "%" SCNu32 ":%" SCNu32, &m.dev_major, &m.dev_minor) == 2)
			fn(ctx, &m);
	}
}

bool procfs_mount_option(const char *options, const char *key, char *out, size_t size)
{
	const size_t len = strlen(key);

	for (const char *s = options; *s; s += *s == ',') {
		size_t n = strcspn(s, ",");

		if (n > len && !memcmp(s, key, len) && s[len] == '=')
			return undo_octal(s + len + 1, n - len - 1, out, size);
		s += n;
	}
	return false;
}
