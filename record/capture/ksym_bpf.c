/*
 * The program is one call of the helper bpf_snprintf() with a "%pS" for each address. It needs two
 * things from the kernel. First, program type SYSCALL, which can be run on request and may sleep
 * (5.14). Second, the helper (5.13), which requires a GPL-compatible licence, and a format in a map
 * that is frozen and read-only for the program. Sources: Linux, kernel/bpf/helpers.c
 * bpf_snprintf(), kernel/bpf/verifier.c check_bpf_snprintf_call(), net/bpf/test_run.c
 * bpf_prog_test_run_syscall().
 */
#include "capture/ksym_bpf.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"

/* Enumerators that older kernel headers lack; the numbers are ABI. */
#define PROG_TYPE_SYSCALL	31
#define FUNC_SNPRINTF		165

/*
 * A line has at most KSYM_SYMBOL_LEN bytes (name 511, module 55, about 50 for numbers and signs)
 * and a newline; build-ids, which "%pS" omits, would take 40 more.
 */
#define LINE_SIZE_MAX 1000
#define TEXT_SIZE (KSYM_BPF_BATCH * LINE_SIZE_MAX)

/* The value of the map shared by program and recorder. */
struct ksym_bpf_data {
	uint64_t addrs[KSYM_BPF_BATCH];
	char text[TEXT_SIZE];
};

static const char format[] = "%pS\n%pS\n%pS\n%pS\n%pS\n%pS\n%pS\n%pS\n%pS\n%pS\n%pS\n%pS\n";

_Static_assert(sizeof(format) == 4 * KSYM_BPF_BATCH + 1, "a specifier for each address");

static int sys_bpf(int cmd, union bpf_attr *attr)
{
	long ret = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return ret < 0 ? -errno : (int)ret;
}

/* An array with one value. */
static int map_create(uint32_t size, uint32_t flags, const char *name)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = sizeof(uint32_t);
	attr.value_size = size;
	attr.max_entries = 1;
	attr.map_flags = flags;
	memcpy(attr.map_name, name, strlen(name));
	return sys_bpf(BPF_MAP_CREATE, &attr);
}

static int format_create(void)
{
	const uint32_t key = 0;
	union bpf_attr attr;
	int fd = map_create(sizeof(format), BPF_F_RDONLY_PROG, "nsprof_format"), err;

	if (fd < 0)
		return fd;
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)fd;
	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)format;
	err = sys_bpf(BPF_MAP_UPDATE_ELEM, &attr);
	if (!err) {
		memset(&attr, 0, sizeof(attr));
		attr.map_fd = (uint32_t)fd;
		err = sys_bpf(BPF_MAP_FREEZE, &attr);
	}
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Sets register @reg to the address of byte @off in the value of map @fd. */
static void load_address(struct bpf_insn insn[2], int reg, int fd, uint32_t off)
{
	insn[0] = (struct bpf_insn){
		.code = BPF_LD | BPF_DW, /* of mode BPF_IMM, which is 0 as well */
		.dst_reg = (uint8_t)(reg & 15), .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = fd,
	};
	insn[1] = (struct bpf_insn){ .imm = (int)off };
}

static struct bpf_insn load_number(int reg, int value)
{
	return (struct bpf_insn){
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (uint8_t)(reg & 15), .imm = value,
	};
}

/* In C: return bpf_snprintf(data->text, TEXT_SIZE, format, data->addrs, sizeof(data->addrs)) */
static int prog_load(const struct ksym_bpf *kb)
{
	static const char name[] = "nsprof_ksym";
	struct bpf_insn insns[10];
	union bpf_attr attr;

	load_address(insns, BPF_REG_1, kb->data, offsetof(struct ksym_bpf_data, text));
	insns[2] = load_number(BPF_REG_2, TEXT_SIZE);
	load_address(insns + 3, BPF_REG_3, kb->format, 0);
	load_address(insns + 5, BPF_REG_4, kb->data, offsetof(struct ksym_bpf_data, addrs));
	insns[7] = load_number(BPF_REG_5, sizeof(kb->map->addrs));
	insns[8] = (struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .imm = FUNC_SNPRINTF };
	insns[9] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = PROG_TYPE_SYSCALL;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = ARRAY_SIZE(insns);
	attr.license = (uintptr_t) "Dual MIT/GPL";
	attr.prog_flags = BPF_F_SLEEPABLE;
	memcpy(attr.prog_name, name, sizeof(name));
	return sys_bpf(BPF_PROG_LOAD, &attr);
}

static int open_all(struct ksym_bpf *kb)
{
	void *map;

	kb->format = format_create();
	if (kb->format < 0)
		return kb->format;
	kb->data = map_create(sizeof(*kb->map), BPF_F_MMAPABLE, "nsprof_ksyms");
	if (kb->data < 0)
		return kb->data;
	map = mmap(NULL, sizeof(*kb->map), PROT_READ | PROT_WRITE, MAP_SHARED, kb->data, 0);
	if (map == MAP_FAILED)
		return -errno;
	kb->map = map;
	kb->prog = prog_load(kb);
	return kb->prog < 0 ? kb->prog : 0;
}

int ksym_bpf_open(struct ksym_bpf *kb)
{
	int err;

	*kb = (struct ksym_bpf){ .format = -1, .data = -1, .prog = -1 };
	err = open_all(kb);
	if (err)
		ksym_bpf_close(kb);
	return err;
}

void ksym_bpf_close(struct ksym_bpf *kb)
{
	if (kb->map)
		munmap(kb->map, sizeof(*kb->map));
	if (kb->prog >= 0)
		close(kb->prog);
	if (kb->data >= 0)
		close(kb->data);
	if (kb->format >= 0)
		close(kb->format);
	*kb = (struct ksym_bpf){ .format = -1, .data = -1, .prog = -1 };
}

/*
 * Parses the last "@before0x..." of @line, a hex number that ends at *@end. Sets *@end to its
 * start.
 */
static bool last_number(const char *line, const char **end, char before, uint64_t *value)
{
	const char *at = memrchr(line, before, (size_t)(*end - line)), *p;

	if (!at || *end - at < 4 || at[1] != '0' || at[2] != 'x')
		return false;
	*value = 0;
	for (p = at + 3; p < *end; p++) {
		const char *digits = "0123456789abcdef", *d = memchr(digits, *p, 16);

		if (!d || *value >> 60)
			return false;
		*value = *value << 4 | (uint64_t)(d - digits);
	}
	*end = at;
	return true;
}

bool ksym_parse(const char *line, size_t len, struct ksym *sym)
{
	const char *end = line + len, *space = memchr(line, ' ', len);

	memset(sym, 0, sizeof(*sym));
	if (len > 2 && line[0] == '0' && line[1] == 'x')
		return true;
	if (space) {
		if (end - space < 4 || space[1] != '[' || end[-1] != ']')
			return false;
		sym->module = space + 2;
		sym->module_len = (size_t)(end - 1 - sym->module);
		end = space;
	}
	if (!last_number(line, &end, '/', &sym->size) || !last_number(line, &end, '+', &sym->offset))
		return false;
	sym->name = line;
	sym->name_len = (size_t)(end - line);
	return sym->name_len > 0;
}

int ksym_bpf_lookup(struct ksym_bpf *kb, const uint64_t *addrs, size_t n, struct ksym *syms)
{
	union bpf_attr attr;
	const char *p = kb->map->text, *end;
	int err;

	if (n > KSYM_BPF_BATCH)
		return -EINVAL;
	memset(kb->map->addrs, 0, sizeof(kb->map->addrs));
	memcpy(kb->map->addrs, addrs, n * sizeof(*addrs));
	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (uint32_t)kb->prog;
	err = sys_bpf(BPF_PROG_TEST_RUN, &attr);
	if (err)
		return err;
	/* Length of the full output with its NUL, or negative errno. */
	if ((int32_t)attr.test.retval <= 0 || attr.test.retval > TEXT_SIZE)
		return -EPROTO;
	end = p + attr.test.retval - 1;
	for (size_t i = 0; i < n; i++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		if (!nl || !ksym_parse(p, (size_t)(nl - p), &syms[i]))
			return -EPROTO;
		p = nl + 1;
	}
	return 0;
}
