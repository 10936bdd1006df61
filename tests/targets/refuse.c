/*
 * refuse CALL ERRNO COMMAND...: runs COMMAND with a seccomp filter that fails one system call with
 * ERRNO, as container runtimes do.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned int nr;
} calls[] = {
	{ "perf_event_open", SYS_perf_event_open },
	{ "clone3", SYS_clone3 },	/* with EAGAIN: no threads, but processes */
	{ "acct", SYS_acct },	/* a call that nothing uses */
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 3 && i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct sock_filter f[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].nr, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)atoi(argv[2])),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		};
		struct sock_fprog p = { sizeof(f) / sizeof(f[0]), f };

		if (strcmp(argv[1], calls[i].name))
			continue;
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)) {
			perror("refuse");
			return 99;
		}
		execvp(argv[3], argv + 3);
		perror(argv[3]);
		return 98;
	}
	fprintf(stderr, "usage: refuse perf_event_open|clone3|acct ERRNO COMMAND...\n");
	return 97;
}
