# nsprof: `make help` lists the targets and variables. All build output goes below $(O).
.DELETE_ON_ERROR:
.SUFFIXES:
SHELL := /bin/bash

O ?= build
PREFIX ?= /usr/local
ifeq ($(origin CC),default)
CC := gcc
endif
SAN ?=
NODEPS ?=
V ?=
export NODEPS
Q := $(if $(V),,@)
say = $(if $(V),,@echo "  $(1)	$(2)")

# The version being developed, as in NEWS. A release drops "-dev".
VERSION := 0.2.0-dev
ARCH_UNWIND := $(shell uname -m)

CSTD := -std=gnu11
WARN := -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -Wshadow \
	-Wpointer-arith -Wwrite-strings -Wundef $(if $(WERROR),-Werror)
CFLAGS ?= -O2 -g
ALL_CFLAGS = $(CSTD) $(WARN) $(CFLAGS) $(SAN_FLAGS) -D_GNU_SOURCE \
	-DNSPROF_VERSION='"$(VERSION)"' -MMD -MP
SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
# Decoding and unwinding code is many small functions in many files. The programs that spend their
# time there are compiled once more, as a whole, when they are linked, which saves a twentieth of
# that time. The objects also contain normal code, for all other programs and the tests. LTO= turns
# this off.
ifeq ($(origin LTO),undefined)
LTO := $(if $(SAN),,$(if $(findstring Free Software Foundation,$(shell $(CC) --version 2>/dev/null)),-flto=auto))
endif
LINK_LTO = $(if $(LTO),-fno-lto)
# A sanitized build has its own folder, so that it never mixes with the plain one.
comma := ,
B := $(O)$(if $(SAN),-$(subst $(comma),-,$(SAN)))

# Each ROOM/FOLDER/ holds sources and headers. ROOM/FOLDER/cmd_NAME.c is the main file of the
# program nsprof-NAME, and cmd_nsprof.c that of nsprof. All other sources of a room are its library.
ROOMS := common record symbolize report
mains := $(wildcard $(ROOMS:%=%/*/cmd_*.c))
sources = $(filter-out $(mains),$(wildcard $(1)/*/*.c))
objs = $(patsubst %.c,$(B)/%.o,$(1))
room = $(firstword $(subst /, ,$(1)))
# An include names the folder, "elf/elf_file.h". A file sees the folders of its own room and of
# common, and include/.
includes = -Iinclude -Icommon $(if $(filter-out common,$(1)),-I$(1))

PROGRAMS := nsprof $(sort $(patsubst cmd_%.c,nsprof-%,$(filter-out cmd_nsprof.c,$(notdir $(mains)))))
BINS := $(addprefix $(B)/bin/,$(PROGRAMS))
# A program is linked with the needed parts of its room's library and common's.
LIBS_common := -lseccomp -lelf -lzstd -lz -lisal -lpthread -lm
LIBS_record := $(LIBS_common) -ljansson
LIBS_report := $(LIBS_common)
LIBS_symbolize := -ldw -lunwind-$(ARCH_UNWIND) -lunwind -llzma -liberty -lcapstone -ldl $(LIBS_common)
libs = $(if $(filter-out common,$(1)),$(B)/lib$(1).a) $(B)/libcommon.a

# Installed with the programs.
MAN1 = $(patsubst contrib/man/%.in,$(B)/man/%,$(wildcard contrib/man/*.1.in))
MAN5 := $(wildcard contrib/man/*.5)
DOCS := $(wildcard README.md DESIGN.md BENCH.md SECURITY.md CONTRIBUTING.md NEWS LICENSE)
PAGES := $(wildcard contrib/doc/*)

UNIT_SRCS := $(wildcard tests/unit/*/*/test_*.c)
UNIT_BINS := $(patsubst %.c,$(B)/%,$(UNIT_SRCS))

.PHONY: all
all: deps $(BINS) $(MAN1) $(addprefix $(B)/completion/nsprof.,bash zsh fish) links	## build everything (default)

# ./nsprof at the top is the plain build; a sanitized one or one elsewhere must not take its place.
.PHONY: links
links: $(BINS)
ifeq ($(B),build)
	$(Q)for p in $(PROGRAMS); do [ "$$(readlink $$p)" = $(B)/bin/$$p ] || ln -sfn $(B)/bin/$$p $$p; done
endif

# ---- what has to be installed first; NODEPS=1 goes on without it ----
# Building installs nothing: make names what is missing and stops.
.PHONY: deps deps-unit
deps:
	$(Q)contrib/install-deps build --dry-run
deps-unit:
	$(Q)contrib/install-deps unit --dry-run

# Targets that run something install what they need.
INSTALLED := $(addprefix deps-,demo check fuzz lint names today kernels distros runtimes)
.PHONY: $(INSTALLED)
$(INSTALLED): deps-%:
	$(Q)contrib/install-deps $*

# ---- objects, libraries, programs ----
$(B)/%.o: %.c | deps
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(OBJ_LTO) $(call includes,$(call room,$<)) -c -o $@ $<

# The version is compiled in; the assembler includes the scripts and style of the flame graphs.
$(patsubst %.c,$(B)/%.o,$(shell grep -lw NSPROF_VERSION $(wildcard $(ROOMS:%=%/*/*.c)))): Makefile
$(B)/report/pictures/svg.o: report/pictures/flame.js
$(B)/report/pictures/html.o: $(wildcard report/pictures/page*)

$(B)/lib%.a:
	$(call say,AR,$@)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && ar rcs $@ $^

$(foreach r,$(ROOMS),$(eval $(B)/lib$(r).a: $(call objs,$(call sources,$(r)))))

LTO_PROGRAMS := symbolize script export
# Where they spend it. With all folders they take 0.1 % fewer instructions, and twice as long to link.
LTO_FOLDERS := $(addprefix common/,base bytes cfi samples recording) $(addprefix symbolize/,unwind replay modules output)
$(call objs,$(wildcard $(LTO_FOLDERS:%=%/*.c)) $(LTO_PROGRAMS:%=symbolize/cmd/cmd_%.c)): OBJ_LTO = $(if $(LTO),$(LTO) -ffat-lto-objects)
$(LTO_PROGRAMS:%=$(B)/bin/nsprof-%): LINK_LTO = $(LTO)

.SECONDEXPANSION:
main_of = $(filter %/cmd_$(patsubst nsprof-%,%,$(notdir $(1))).c,$(mains))
$(BINS): $$(call objs,$$(call main_of,$$@)) $$(call libs,$$(call room,$$(call main_of,$$@)))
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINK_LTO) -o $@ $^ $(LDFLAGS) -Wl,--as-needed $(LIBS_$(call room,$(call main_of,$@)))

# ---- manual pages: the options come from the programs' own tables ----
$(B)/man/%.1: contrib/man/%.1.in contrib/man/options.awk $(B)/bin/% Makefile
	$(call say,MAN,$@)
	@mkdir -p $(@D)
	$(Q)$(B)/bin/$* --list-options >$@.options && awk -v version=$(VERSION) -f contrib/man/options.awk $@.options $< >$@ && rm $@.options

# ---- completion, from the same tables ----
$(B)/completion/table: $(BINS)
	@mkdir -p $(@D)
	$(Q)$(B)/bin/nsprof --list-options >$@
	$(Q)for c in version $(filter-out nsprof,$(PROGRAMS:nsprof-%=%)); do \
		printf 'table\t%s\n' $$c && $(B)/bin/nsprof $$c --list-options || exit; done >>$@
$(B)/completion/nsprof.%: contrib/completion/nsprof.%.in contrib/completion/generate.awk $(B)/completion/table
	$(call say,COMPLETE,$@)
	$(Q)awk -v shell=$* -f contrib/completion/generate.awk $(B)/completion/table $< >$@

# ---- tests ----
# tests/unit/ROOM/FOLDER/test_WHAT.c is linked with that room's library and common's.
unit_room = $(call room,$(patsubst $(B)/tests/unit/%,%,$(1)))
$(UNIT_BINS): $(B)/%: %.c $$(call libs,$$(call unit_room,$$@)) | deps-unit
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINK_LTO) -MF $@.d $(call includes,$(call unit_room,$@)) -Itests/unit -o $@ $< $(filter %.a,$^) $(LDFLAGS) -lcmocka -Wl,--as-needed $(LIBS_$(call unit_room,$@))

# tests/fuzz/ROOM/NAME.c becomes a program with libFuzzer ("make fuzz"), and a function of the room's
# program replay ("make check"): one for all, as linking takes longer than replaying.
FUZZ_SRCS := $(wildcard tests/fuzz/*/*.c)
fuzz_room = $(filter $(ROOMS),$(call room,$(patsubst $(B)/tests/fuzz/%,%,$(1))))
FUZZ_BINS := $(FUZZ_SRCS:%.c=$(B)/%)
FUZZ_REPLAYS := $(ROOMS:%=$(B)/tests/fuzz/%/replay)
fuzz_link = $(Q)$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -rdynamic -o $@ $^ $(LDFLAGS) -Wl,--as-needed $(LIBS_$(call fuzz_room,$@))

$(B)/tests/fuzz/%.o: tests/fuzz/%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(call includes,$(call fuzz_room,$@)) $(FUZZ_CFLAGS) -c -o $@ $<
$(FUZZ_BINS): $(B)/%: $(B)/%.o $(B)/tests/fuzz/quiet.o $$(call libs,$$(call fuzz_room,$$@))
	$(call say,LD,$@)
	$(fuzz_link) -fsanitize=fuzzer
$(FUZZ_REPLAYS): $$(patsubst %,$(B)/%.o,$$(filter $$(patsubst $(B)/%replay,%,$$@)%,$(FUZZ_SRCS:.c=))) $(addprefix $(B)/tests/fuzz/,quiet.o replay.o) $$(call libs,$$(call fuzz_room,$$@))
	$(call say,LD,$@)
	$(fuzz_link)

.PHONY: fuzz-programs fuzz-replays
fuzz-programs: $(FUZZ_BINS)
fuzz-replays: FUZZ_CFLAGS = $(if $(findstring /replay.o,$@)$(findstring /quiet.o,$@),,-DLLVMFuzzerTestOneInput=fuzz_$(basename $(notdir $@)))
fuzz-replays: $(FUZZ_REPLAYS)

# Programs that tests profile add themselves to this target, if their compilers are found.
.PHONY: test-targets
test-targets:	## build the programs that tests and benches profile
-include tests/targets/targets.mk

# Without cmocka's header no unit tests are built, and tests/run counts them as skipped.
unit_bins = $(if $(shell $(CC) -E -include cmocka.h -x c /dev/null >/dev/null 2>&1 && echo 1),$(UNIT_BINS))
.PHONY: test-programs
test-programs: all $$(unit_bins) test-targets

# In a separate make, which sees the compilers that deps-check may just have installed. Uses all
# CPUs unless -j is given.
jobs = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
build_tests = $(Q)$(MAKE) --no-print-directory $(jobs) test-programs
# Sanitized builds beside the plain one: with libFuzzer, and to replay. The latter is for each "make
# check", and not optimized, as replaying takes less time than compiling. clang's checks are those
# that the inputs were found with, but any compiler's will do.
FUZZ_SAN := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
replay_cc = $(firstword $(foreach c,clang $(CC),$(if $(shell echo 'int main(void) { return 0; }' | $(c) $(FUZZ_SAN) -x c -o /dev/null - 2>/dev/null && echo 1),$(c))))
fuzz_make = $(Q)$(MAKE) --no-print-directory $(jobs) SAN= LTO=
build_fuzz = $(fuzz_make) O=$(B)-fuzz CC=clang CFLAGS='-O1 -g' SAN_FLAGS='-fsanitize=fuzzer-no-link $(FUZZ_SAN)' fuzz-programs
build_replay = $(if $(replay_cc),$(fuzz_make) O=$(B)-replay CC=$(replay_cc) CFLAGS=-O0 SAN_FLAGS='$(FUZZ_SAN)' fuzz-replays)
build_targets = $(Q)$(MAKE) --no-print-directory $(jobs) all test-targets
build_demo = $(Q)$(MAKE) --no-print-directory $(jobs) all demo-targets

.PHONY: check
check: deps-check	## all tests: units, commands, containers; root for all of them
	+$(build_tests)
	+$(build_replay)
	$(Q)tests/run --build $(B) $(TESTS)

.PHONY: fuzz
fuzz: deps-fuzz	## look for inputs that crash a parser, FUZZ_SECS=60 for each harness of tests/fuzz (clang)
	$(Q)echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | clang -fsanitize=fuzzer -x c -o /dev/null - 2>/dev/null || \
		{ echo "make fuzz: clang cannot link with libFuzzer: install libclang-rt-N-dev, where N is clang's version" >&2; exit 1; }
	+$(build_targets)
	+$(build_fuzz)
	$(Q)BUILD="$(abspath $(B))" tests/fuzz/run $(FUZZ)

.PHONY: faults
faults: deps-check	## kill, stop, starve and damage the recorder and its files in hundreds of ways, perf beside it (root; 15 min)
	+$(build_targets)
	$(Q)FAULTS=all TEST_TIMEOUT=3600 tests/run -v --build $(B) tests/container/faults.sh

.PHONY: attack
attack: deps-check	## all attacks at once against record -a, for ATTACK_SECS=60: memory, disk, secrets, victims (root)
	+$(build_targets)
	$(Q)ATTACK_SECS=$(or $(ATTACK_SECS),60) TEST_TIMEOUT=$(shell echo $$((3 * $(or $(ATTACK_SECS),60) + 600))) tests/run -v --build $(B) tests/container/long/attack.sh

.PHONY: soak
soak: deps-check	## record a host on which containers come and go, for SOAK_SECS=1800: memory, descriptors, threads (root)
	+$(build_targets)
	$(Q)SOAK_SECS=$(or $(SOAK_SECS),1800) TEST_TIMEOUT=$(shell echo $$((2 * $(or $(SOAK_SECS),1800) + 900))) tests/run -v --build $(B) tests/container/soak.sh

.PHONY: check-runtimes
check-runtimes: deps-runtimes	## containers of docker, podman, containerd, lxc and systemd-nspawn; installs them (root)
	+$(build_targets)
	$(Q)$(if $(RUNTIMES),tests/container/runtimes/of-root "$(RUNTIMES)") tests/run --build $(B) $(TESTS) $(filter-out %/lib.sh,$(wildcard tests/container/runtimes/*.sh))

.PHONY: check-today
check-today: deps-today	## programs of today's compilers and runtimes, in containers of Debian sid, which it downloads (3 GB; root)
	+$(Q)$(MAKE) --no-print-directory $(jobs) all
	$(Q)BUILD="$(abspath $(B))" tests/today/run $(TODAY)

.PHONY: check-kernels
check-kernels: deps-kernels	## Debian's kernels 5.10, 6.1, 6.12 and the newest, in virtual machines; downloads 1 GB (root; takes long)
	+$(build_tests)
	$(Q)BUILD="$(abspath $(B))" tests/kernels/run $(KERNELS)

.PHONY: check-distros
check-distros: deps-distros	## make demo and make check in fresh Debian 13 and sid, which it downloads (12 GB of disk; root)
	+$(Q)MAKEFLAGS= BUILD="$(abspath $(B))" TESTS="$(TESTS)" tests/distros/run $(DISTROS)

.PHONY: check-names
check-names: deps-check deps-names	## names and inlined frames at 10,000 addresses of each large binary, against addr2line and its likes (2 min; root)
	+$(build_targets)
	$(Q)ORACLE_N=10000 tests/run --build $(B) tests/cmd/symbolize/names.sh

.PHONY: check-unit
check-unit: deps-unit	## only the unit tests
	+$(if $(unit_bins),$(Q)$(MAKE) --no-print-directory $(jobs) $(unit_bins))
	$(Q)tests/run --build $(B) -k /tests/unit/

.PHONY: check-san
check-san: deps-unit	## the unit tests, built by clang with its address and undefined-behavior sanitizers (10 min)
	+$(Q)$(MAKE) --no-print-directory O=$(O)-clang CC=clang SAN=address,undefined LTO= all check-unit

.PHONY: bench
bench: deps-check	## compare with perf on the same workloads (root, an hour on an idle machine)
	+$(build_targets)
	$(Q)BUILD="$(abspath $(B))" tests/bench/run $(BENCH)

.PHONY: demo
demo: deps-demo	## profile a container from the host, for real, in a minute (root)
	+$(build_demo)
	$(Q)BUILD="$(abspath $(B))" contrib/demo

.PHONY: picture
picture: deps-demo	## make the picture in README.md again, from a demo (root, chromium, node)
	+$(build_demo)
	$(Q)BUILD="$(abspath $(B))" contrib/picture

# ---- checks that a reviewer would ask for ----
C_FILES = $(wildcard $(ROOMS:%=%/*/*.c))

.PHONY: lint
lint: check-layers check-size check-prose deps-lint	## warnings as errors, layers, cycles, sizes, prose, cppcheck, clang-tidy, shellcheck
	$(Q)$(MAKE) --no-print-directory O=$(O)-lint WERROR=1 SAN= LTO= lint-build
	$(Q)contrib/check-cycles $(O)-lint
	$(Q)$(MAKE) --no-print-directory lint-cppcheck lint-tidy lint-shell

.PHONY: lint-build
lint-build: $(BINS) $(UNIT_BINS)

.PHONY: lint-cppcheck
lint-cppcheck:
	$(call say,CPPCHECK,)
	$(Q)cppcheck -q --std=c11 --enable=warning,portability --inline-suppr --error-exitcode=1 \
		--suppressions-list=contrib/cppcheck.suppress -D_GNU_SOURCE -D__x86_64__ -DNSPROF_VERSION='""' \
		-Iinclude $(ROOMS:%=-I%) $(C_FILES)

# Without clang's analyzer: it takes minutes, and 9 of 14 examined reports were false. It does not
# know that a failed cursor stays failed, that XGROW() leaves no NULL, or which code unlinks a freed
# object.
.PHONY: lint-tidy
lint-tidy:
	$(call say,TIDY,)
	$(Q)printf '%s\n' $(C_FILES) | xargs -P "$$(nproc)" -I{} sh -c 'clang-tidy --quiet --checks=-clang-analyzer-* \
		--warnings-as-errors=* {} -- $(CSTD) -D_GNU_SOURCE -DNSPROF_VERSION=\"\" -Iinclude $(ROOMS:%=-I%) 2>/dev/null'

.PHONY: lint-shell
lint-shell:
	$(Q)! command -v shellcheck >/dev/null || shellcheck -S warning -x contrib/install-deps contrib/debian-root contrib/picture contrib/check-* tests/run tests/lib.sh .ci/run

.PHONY: check-layers
check-layers:	## folders include only what contrib/layers allows
	$(Q)contrib/check-layers

.PHONY: check-cycles
check-cycles: $(BINS)	## no files and no folders use each other in a cycle
	$(Q)contrib/check-cycles $(B)

.PHONY: check-size
check-size:	## no source file is too long
	$(Q)contrib/check-size

.PHONY: check-prose
check-prose:	## pages are plain English, not too long, and their links lead somewhere
	$(Q)contrib/check-prose

# ---- install, clean, help ----
bindir = $(DESTDIR)$(PREFIX)/bin
man1dir = $(DESTDIR)$(PREFIX)/share/man/man1
man5dir = $(DESTDIR)$(PREFIX)/share/man/man5
docdir = $(DESTDIR)$(PREFIX)/share/doc/nsprof
# Each shell's default folder.
bashdir = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
zshdir = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
fishdir = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d

.PHONY: install
install: all	## install below $(DESTDIR)$(PREFIX)
	install -d $(bindir) $(man1dir) $(man5dir) $(docdir) $(bashdir) $(zshdir) $(fishdir)
	install -m 755 $(BINS) $(bindir)
	$(if $(MAN1),install -m 644 $(MAN1) $(man1dir))
	$(if $(MAN5),install -m 644 $(MAN5) $(man5dir))
	$(if $(DOCS),install -m 644 $(DOCS) $(docdir))
	install -m 644 $(B)/completion/nsprof.bash $(bashdir)/nsprof
	install -m 644 $(B)/completion/nsprof.zsh $(zshdir)/_nsprof
	install -m 644 $(B)/completion/nsprof.fish $(fishdir)/nsprof.fish
	$(if $(PAGES),install -d $(docdir)/contrib/doc && install -m 644 $(PAGES) $(docdir)/contrib/doc)

.PHONY: uninstall
uninstall:	## remove what install put there
	rm -f $(addprefix $(bindir)/,$(PROGRAMS)) $(addprefix $(man1dir)/,$(notdir $(MAN1))) \
		$(addprefix $(man5dir)/,$(notdir $(MAN5))) $(bashdir)/nsprof $(zshdir)/_nsprof $(fishdir)/nsprof.fish
	rm -rf $(docdir)

.PHONY: clean
clean:	## remove what was built, sanitized and lint builds too
	rm -rf $(O) $(O)-fuzz $(O)-replay $(O)-address* $(O)-undefined* $(O)-thread* $(O)-leak* $(O)-lint
	$(Q)for p in $(PROGRAMS); do [ ! -L $$p ] || rm -f $$p; done

.PHONY: help
help:	## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "variables:"
	@echo "  SAN=LIST       build and test with sanitizers, e.g. SAN=address,undefined, in $(O)-address-undefined"
	@echo "  O=DIR          where everything is built (now: $(O))"
	@echo "  PREFIX, DESTDIR where to install (now: $(PREFIX))"
	@echo "  CC, CFLAGS, LDFLAGS  as usual; WERROR=1 makes warnings errors; V=1 shows commands"
	@echo "  TESTS='-v -k PATTERN'  options of tests/run for 'make check'; BENCH=... of tests/bench/run; KERNELS=... of tests/kernels/run"
	@echo "  FUZZ_SECS=60 FUZZ='NAME...'  for each harness of 'make fuzz', and only these; SOAK_SECS=1800 for 'make soak'"
	@echo "  PERF=FILE PERF2=FILE   perf for tests and bench, and a second one for the bench: contrib/perf-of-root makes them"
	@echo "  LTO=           compile nothing again when linking: builds in two thirds of the time, decodes a twentieth slower"
	@echo "  NODEPS=1       go on without missing packages; 'contrib/install-deps check --print' names them"

# Only this tree's own dependency files; $(O)-lint and sanitized trees lie beside it, not below.
-include $(shell find $(B) -name '*.d' 2>/dev/null)
