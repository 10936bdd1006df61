#include "host/parser_outputs.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile.h"
#include "base/tempfile.h"
#include "base/util.h"
#include "host/opener_wire.h"

/* Files that are open at a time: one, and a few for formats that write several. */
#define OUTPUTS_MAX 16

/* ---- in the parser ---- */

static int asks = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool parser_is(void)
{
	return asks >= 0;
}

int parser_ask(uint32_t kind, const char *text, int *value, int *fd)
{
	static struct parser_message m;	/* with the lock */
	int fds[WIRE_FDS], n = 0, err;
	ssize_t got;

	if (fd)
		*fd = -1;
	if (text && strlen(text) >= sizeof(m.text))
		return -ENAMETOOLONG;
	pthread_mutex_lock(&lock);
	m.kind = kind;
	m.value = value ? *value : 0;
	snprintf(m.text, sizeof(m.text), "%s", text ? text : "");
	err = wire_send(asks, &m, offsetof(struct parser_message, text) + strlen(m.text) + 1, NULL, 0, NULL, 0);
	do
		got = err ? err : wire_recv(asks, &m, sizeof(m), fds, &n);
	while (got == -EINTR);
	if (got >= (ssize_t)offsetof(struct parser_message, text)) {
		/* The kind of an answer is its error. */
		err = (int)m.kind;
		if (value)
			*value = m.value;
	} else {
		err = got < 0 ? (int)got : -ECONNRESET;
	}
	pthread_mutex_unlock(&lock);
	if (n && fd && !err)
		*fd = fds[0];
	else
		wire_close(fds, n);
	return err;
}

static int keeper_open(const char *path, int *number)
{
	int fd, err = parser_ask(PARSER_OUT_OPEN, path, number, &fd);

	return err ? err : fd;
}

static int keeper_finish(int number, bool keep)
{
	return parser_ask(keep ? PARSER_OUT_KEEP : PARSER_OUT_DROP, NULL, &number, NULL);
}

static int keeper_folder(const char *path)
{
	return parser_ask(PARSER_OUT_FOLDER, path, NULL, NULL);
}

static int ask_temp(void)
{
	int fd, err = parser_ask(PARSER_TEMP, NULL, NULL, &fd);

	return err ? err : fd;
}

void parser_outputs_ask(int sock)
{
	static const struct outfile_keeper keeper = { keeper_open, keeper_finish, keeper_folder };

	asks = sock;
	outfile_use_keeper(&keeper);
	tempfile_use(ask_temp);
}

/* ---- in the program ---- */

static struct outfile *outputs[OUTPUTS_MAX];

static bool ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), n = strlen(end);

	return len >= n && !strcmp(text + len - n, end);
}

/* Is it the output that the user named, or a plain name in the folder that the user named? */
static bool may_write(const struct parser *p, const char *path)
{
	const size_t len = p->output ? strlen(p->output) : 0;

	if (!p->output)
		return false;
	if (!p->folder)
		return !strcmp(path, p->output);
	return !strncmp(path, p->output, len) && path[len] == '/' && path[len + 1] && path[len + 1] != '.' &&
	       !strchr(path + len + 1, '/') && ends_with(path, p->suffix);
}

static int open_output(const struct parser *p, struct parser_message *m, int *fd)
{
	int i;

	if (!may_write(p, m->text) && !(p->allow && p->allow(p->ctx, m->text)))
		return -EPERM;
	for (i = 0; i < OUTPUTS_MAX && outputs[i]; i++)
		;
	if (i == OUTPUTS_MAX)
		return -EMFILE;
	/* It has said why. */
	outputs[i] = outfile_open(m->text);
	if (!outputs[i])
		return -EIO;
	m->value = i;
	*fd = dup(fileno(outfile_stream(outputs[i])));
	return *fd < 0 ? -errno : 0;
}

static int end_output(int i, bool keep)
{
	struct outfile *o = i >= 0 && i < OUTPUTS_MAX ? outputs[i] : NULL;

	if (!o)
		return -EINVAL;
	outputs[i] = NULL;
	if (keep)
		return outfile_close(o);
	outfile_abort(o);
	return 0;
}

static int open_temp(int *fd)
{
	*fd = tempfile_open();
	return MIN(*fd, 0);
}

bool parser_outputs_serve(int sock, const struct parser *p)
{
	static struct parser_message m;
	int fds[WIRE_FDS], n, fd = -1, err = -EINVAL;
	ssize_t got = wire_recv(sock, &m, sizeof(m), fds, &n);
	bool sent;

	if (got == -EINTR)
		return true;
	if (got <= (ssize_t)offsetof(struct parser_message, text))
		return false;
	wire_close(fds, n);
	((char *)&m)[got - 1] = '\0';
	if (m.kind == PARSER_OUT_OPEN)
		err = open_output(p, &m, &fd);
	else if (m.kind == PARSER_OUT_KEEP || m.kind == PARSER_OUT_DROP)
		err = end_output(m.value, m.kind == PARSER_OUT_KEEP);
	else if (m.kind == PARSER_OUT_FOLDER)
		err = p->folder && !strcmp(m.text, p->output) ? outfile_folder(m.text) : -EPERM;
	else if (m.kind == PARSER_TEMP)
		err = p->temp ? open_temp(&fd) : -EPERM;
	else if (p->serve)
		err = p->serve(p->ctx, m.kind, &m.value, m.text, &fd);
	m.kind = (uint32_t)err;
	sent = !wire_send(sock, &m, offsetof(struct parser_message, text), NULL, 0, &fd, fd >= 0);
	if (fd >= 0)
		close(fd);
	return sent;
}

void parser_outputs_end(void)
{
	for (int i = 0; i < OUTPUTS_MAX; i++)
		if (outputs[i])
			end_output(i, false);
}
