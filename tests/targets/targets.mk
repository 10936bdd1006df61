# The programs that tests and benches profile. A program is not built if its compiler is missing.
# The file "lacking" then lists it with what it needs, and tests that need it are skipped with that
# reason (need_target in tests/lib.sh).
T := $(B)/tests/targets

TCC := gcc
TFLAGS := -O2 -g -fomit-frame-pointer -pthread
have = $(shell command -v $(1) 2>/dev/null)
# rustc may be rustup's, with no compiler installed.
runs = $(shell $(1) --version >/dev/null 2>&1 && echo 1)
# Some distributions package the C library for static linking separately; "cc -static" fails without
# it.
static := $(filter /%,$(shell $(TCC) -print-file-name=libc.a 2>/dev/null))
# $(call with,TOOL,TARGETS): the targets if the tool is there. Otherwise none, and the missing tool
# is recorded.
with = $(if $(if $(filter libc.a,$(1)),$(static),$(call $(if $(filter rustc,$(1)),runs,have),$(1))),$(2),$(call without,$(1),$(2)))
without = $(eval LACKING += $(addsuffix :$(1),$(notdir $(2))))
LACKING :=

# Programs that read a recording or a capture and are not profiled. They are linked like all others,
# without compiling the libraries once more, except those that measure what LTO makes faster.
TOOLS := $(addprefix $(B)/tests/tools/,remask recode dump leaks code lookupbench unwindbench lookup demangle)

TARGETS := $(call with,$(TCC),$(addprefix $(T)/,spin spin-nopie spin-a spin-b spin-host spin-split spin-split.debug spin-nobid \
	spin-nobid2 spin-one spin-id-a spin-id-b uselib libspin.so oldkernel.so attrs.so slowopen.so refuse jitloop jitedges jitdump odd odd-fp dive \
	births renames nested units crowd storm flood brief brief-bare steady shift uneven movetext fibers stale uretprobe uretprobe-fp secrets mapflood hungfs mapslate locked waits queued calls))
TARGETS += $(call with,libc.a,$(addprefix $(T)/,spin-static spin-staticpie spin-static-a spin-static-b memfd faults))
TARGETS += $(call with,$(TCC),$(T)/faulty.so)
TARGETS += $(call with,xz,$(T)/spin-mini)
# steps-COMPILER-OPTIONS: code of all kinds, to be single-stepped.
STEPS := $(call with,$(TCC),$(addprefix $(T)/steps-gcc-,O0 O1 O2 O3 fp lto bare))
STEPS += $(call with,libc.a,$(addprefix $(T)/steps-gcc-,static staticpie))
STEPS += $(call with,musl-gcc,$(T)/steps-musl-O2 $(T)/steps-musl-static)
STEPS += $(call with,clang,$(addprefix $(T)/steps-clang-,O0 O1 O2 O3 fp lto))
# compiled/COMPILER-OPTIONS[-fp]: short names, because they become process names.
COMPILED := $(foreach c,gcc clang,$(call with,$(c),$(foreach o,O0 O1 O2 O3 lto,$(T)/compiled/$(c)-$(o) $(T)/compiled/$(c)-$(o)-fp)))
TARGETS += $(STEPS) $(COMPILED)
TARGETS += $(call with,musl-gcc,$(T)/spin-musl $(T)/spin-musl-static $(T)/births-musl $(T)/nested-musl)
TARGETS += $(call with,clang,$(T)/spin-clang)
# Large debug info, for several tests and a quick bench.
MANY := $(addprefix $(B)/tests/bench/,many-2-1 many-4-1 many-8-1)
TARGETS += $(call with,g++,$(T)/deep $(T)/shop $(T)/throws $(MANY))
# Go 1.18 or later, as built and stripped; with and without C in it.
TARGETS += $(call with,go,$(addprefix $(T)/,gospin gospin-stripped gospin-pie cgospin cgospin-stripped cgospin-pie cgospin-external \
	cgospin-external-stripped))
TARGETS += $(call with,rustc,$(T)/rsspin)
# Files of a JDK beside its compiler.
JDK := $(patsubst %/bin/javac,%,$(realpath $(call have,javac)))
TARGETS += $(if $(wildcard $(JDK)/include/jvmti.h),$(T)/javadump.so)

.PHONY: test-targets demo-targets
test-targets: $(TARGETS) $(TOOLS)
	@mkdir -p $(T) && printf '%s\n' $(LACKING) >$(T)/lacking

# The one program of the demo.
demo-targets: $(filter $(T)/shop,$(TARGETS))

$(B)/tests/tools/remask: tests/tools/remask.c $(B)/librecord.a $(B)/libcommon.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINK_LTO) $(call includes,record) -o $@ $(filter %.c %.a,$^) $(LDFLAGS) $(LIBS_record)

$(B)/tests/tools/recode $(B)/tests/tools/dump $(B)/tests/tools/leaks $(B)/tests/tools/code: $(B)/tests/tools/%: tests/tools/%.c $(B)/libcommon.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINK_LTO) $(call includes,common) -o $@ $(filter %.c %.a,$^) $(LDFLAGS) $(LIBS_common)

$(B)/tests/tools/lookupbench $(B)/tests/tools/unwindbench: LINK_LTO = $(LTO)
$(B)/tests/tools/lookupbench $(B)/tests/tools/unwindbench $(B)/tests/tools/lookup $(B)/tests/tools/demangle: $(B)/tests/tools/%: tests/tools/%.c $(B)/libsymbolize.a $(B)/libcommon.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LINK_LTO) $(call includes,symbolize) -o $@ $(filter %.c %.a,$^) $(LDFLAGS) $(LIBS_symbolize)

$(T)/.dir:
	@mkdir -p $(T) && touch $@

SPIN := tests/targets/spin.c $(T)/.dir
define tcc
$(call say,TARGET,$@)
$(Q)$(1) $(TFLAGS) $(2) -o $@ $<
endef

$(T)/spin: $(SPIN)
	$(call tcc,$(TCC),-DP=app -fPIE -pie)
$(T)/spin-nopie: $(SPIN)
	$(call tcc,$(TCC),-DP=nopie -fno-pie -no-pie)
$(T)/spin-static: $(SPIN)
	$(call tcc,$(TCC),-DP=static -static)
$(T)/spin-staticpie: $(SPIN)
	$(call tcc,$(TCC),-DP=spie -static-pie)
$(T)/spin-a: $(SPIN)
	$(call tcc,$(TCC),-DP=aaa)
$(T)/spin-b: $(SPIN)
	$(call tcc,$(TCC),-DP=bbb -O1)
$(T)/spin-host: $(SPIN)
	$(call tcc,$(TCC),-DP=host -Os)
$(T)/spin-nobid: $(SPIN)
	$(call tcc,$(TCC),-DP=nobid -Wl$(comma)--build-id=none)
# Nothing to load, so it ends as early as possible.
$(T)/spin-static-a: $(SPIN)
	$(call tcc,$(TCC),-DP=aaa -static -Wl$(comma)--build-id=none)
$(T)/spin-static-b: $(SPIN)
	$(call tcc,$(TCC),-DP=bbb -static -Wl$(comma)--build-id=none)
# Its code is in the first segment, as older linkers placed it, and newer ones on request.
$(T)/spin-one: $(SPIN)
	$(call tcc,$(TCC),-DP=one -Wl$(comma)-z$(comma)noseparate-code)
$(T)/spin-nobid2: $(SPIN)
	$(call tcc,$(TCC),-DP=nobi2 -Wl$(comma)--build-id=none)
# One build-id, but the code is at different offsets of the files.
$(T)/spin-id-a: $(SPIN)
	$(call tcc,$(TCC),-DP=aaa -Wl$(comma)--build-id=0x6e7370726f66$(comma)-z$(comma)separate-code)
$(T)/spin-id-b: $(SPIN)
	$(call tcc,$(TCC),-DP=bbb -Wl$(comma)--build-id=0x6e7370726f66$(comma)-z$(comma)noseparate-code)
$(T)/spin-musl: $(SPIN)
	$(call tcc,musl-gcc,-DP=musl)
$(T)/spin-musl-static: $(SPIN)
	$(call tcc,musl-gcc,-DP=muslst -static)
$(T)/spin-clang: $(SPIN)
	$(call tcc,clang,-DP=clang)
$(T)/spin-full: $(SPIN)
	$(call tcc,$(TCC),-DP=mini)
$(T)/spin-sep: $(SPIN)
	$(call tcc,$(TCC),-DP=split)

# Names only in .gnu_debugdata: the function symbols of the full file, stripped, compressed with xz,
# in a section.
$(T)/spin-mini: $(T)/spin-full
	$(call say,TARGET,$@)
	$(Q)set -e; objcopy --only-keep-debug $< $@.dbg; strip --strip-debug $@.dbg; xz -f $@.dbg; \
	strip -o $@ $<; objcopy --add-section .gnu_debugdata=$@.dbg.xz $@; rm -f $@.dbg.xz

# Stripped, with a debuglink to spin-split.debug.
$(T)/spin-split.debug: $(T)/spin-sep
	$(call say,TARGET,$@)
	$(Q)objcopy --only-keep-debug $< $@
$(T)/spin-split: $(T)/spin-sep $(T)/spin-split.debug
	$(call say,TARGET,$@)
	$(Q)set -e; strip -o $@ $<; cd $(T) && objcopy --add-gnu-debuglink=spin-split.debug spin-split

STEPS_O0 := -O0
STEPS_O1 := -O1
STEPS_O2 := -O2
STEPS_O3 := -O3
STEPS_fp := -O2 -fno-omit-frame-pointer
STEPS_lto := -O2 -flto
STEPS_static := -O2 -static
STEPS_staticpie := -O2 -static-pie
# No rows at all, as in musl (-g would give .debug_frame).
STEPS_bare := -O2 -g0 -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-stack-protector
step_words = $(subst -, ,$(notdir $(1)))
$(STEPS): tests/targets/steps.c $(T)/.dir
	$(call say,TARGET,$@)
	$(Q)$(subst musl,musl-gcc,$(word 2,$(call step_words,$@))) -g -w $(STEPS_$(word 3,$(call step_words,$@))) -o $@ $<

# Not TFLAGS, which sets the level and the frame pointer for all others.
$(COMPILED): tests/targets/spin.c $(T)/.dir
	$(call say,TARGET,$@)
	@mkdir -p $(@D)
	$(Q)$(word 1,$(call step_words,$@)) -g -pthread -DP=app $(STEPS_$(word 2,$(call step_words,$@))) \
		$(if $(word 3,$(call step_words,$@)),-fno-omit-frame-pointer,-fomit-frame-pointer) -o $@ $<

$(T)/libspin.so: tests/targets/libspin.c $(T)/.dir
	$(call tcc,$(TCC),-fPIC -shared)
$(T)/uselib: tests/targets/uselib.c $(T)/libspin.so
	$(call say,TARGET,$@)
	$(Q)$(TCC) $(TFLAGS) -o $@ $< -L$(T) -lspin
$(T)/oldkernel.so $(T)/attrs.so: $(T)/%.so: tests/targets/%.c $(T)/.dir
	$(call tcc,$(TCC),-D_GNU_SOURCE -fPIC -shared)
$(T)/slowopen.so $(T)/faulty.so: $(T)/%.so: tests/targets/%.c $(T)/.dir
	$(call tcc,$(TCC),-D_GNU_SOURCE -fPIC -shared)
$(T)/refuse: tests/targets/refuse.c $(T)/.dir
	$(call tcc,$(TCC),-D_GNU_SOURCE)
$(T)/renames: tests/targets/renames.c $(T)/.dir
	$(call tcc,$(TCC),)
$(T)/births: tests/targets/births.c $(T)/.dir
	$(call tcc,$(TCC),)
$(T)/births-musl: tests/targets/births.c $(T)/.dir
	$(call tcc,musl-gcc,)
# Nested functions are a gcc extension with trampolines on the stack. The option keeps the linker
# from warning.
$(T)/nested: tests/targets/nested.c $(T)/.dir
	$(call tcc,$(TCC),-std=gnu11 -z execstack)
$(T)/nested-musl: tests/targets/nested.c $(T)/.dir
	$(call tcc,musl-gcc,-std=gnu11 -z execstack)
$(T)/fibers: tests/targets/fibers.c $(T)/.dir
	$(call tcc,$(TCC),-D_GNU_SOURCE)
$(T)/stale: tests/targets/stale.c $(T)/.dir
	$(call tcc,$(TCC),)
$(T)/secrets $(T)/mapflood $(T)/hungfs $(T)/mapslate $(T)/locked $(T)/waits $(T)/queued $(T)/calls: $(T)/%: tests/targets/%.c $(T)/.dir
	$(call tcc,$(TCC),-Wall -Wextra)
$(T)/uretprobe: tests/targets/uretprobe.c $(T)/.dir
	$(call tcc,$(TCC),)
$(T)/uretprobe-fp: tests/targets/uretprobe.c $(T)/.dir
	$(call tcc,$(TCC),-fno-omit-frame-pointer)
$(T)/movetext: tests/targets/movetext.c $(T)/.dir
	$(call tcc,$(TCC),-D_GNU_SOURCE)
$(T)/dive: tests/targets/dive.c $(T)/.dir
	$(call tcc,$(TCC),)
$(T)/odd: tests/targets/odd.c $(T)/.dir
	$(call tcc,$(TCC),-fno-optimize-sibling-calls)
$(T)/odd-fp: tests/targets/odd.c $(T)/.dir
	$(call tcc,$(TCC),-fno-optimize-sibling-calls -fno-omit-frame-pointer)
$(T)/jitloop: tests/targets/jitloop.c $(T)/.dir
	$(call tcc,$(TCC),-D_GNU_SOURCE)
$(T)/jitedges: tests/targets/jitedges.c $(T)/.dir
	$(call tcc,$(TCC),-D_GNU_SOURCE)
$(T)/jitdump: tests/targets/jitdump.c $(T)/.dir
	$(call tcc,$(TCC),)
$(T)/memfd: tests/targets/memfd.c $(T)/.dir
	$(call tcc,$(TCC),-static -D_GNU_SOURCE)
# Static: the dynamic linker would cause faults of its own, one of them in _exit().
$(T)/faults: tests/targets/faults.c $(T)/.dir
	$(call tcc,$(TCC),-static -D_GNU_SOURCE)
$(T)/units: tests/targets/units.c $(T)/.dir
	$(call tcc,$(TCC),-D_GNU_SOURCE)
$(T)/crowd: tests/targets/crowd.c $(T)/.dir
	$(call tcc,$(TCC),-D_GNU_SOURCE)
$(T)/storm: tests/targets/storm.c $(T)/.dir
	$(call tcc,$(TCC),-D_GNU_SOURCE)
$(T)/flood: tests/targets/flood.c $(T)/.dir
	$(call tcc,$(TCC),-D_GNU_SOURCE)
$(T)/brief: tests/targets/brief.c $(T)/.dir
	$(call tcc,$(TCC),)
$(T)/brief-bare: tests/targets/brief.c $(T)/.dir
	$(call tcc,$(TCC),-static -nostdlib -DBARE)
$(T)/shift: tests/targets/shift.c $(T)/.dir
	$(call tcc,$(TCC),-D_GNU_SOURCE) -lm
# Tail calls and clones would remove the frames that the tests need.
$(T)/uneven: tests/targets/uneven.c $(T)/.dir
	$(call tcc,$(TCC),)
$(T)/steady: tests/targets/steady.c $(T)/.dir
	$(call tcc,$(TCC),-fno-optimize-sibling-calls -fno-ipa-cp -fno-inline)
$(T)/deep: tests/targets/deep.cc $(T)/.dir
	$(call tcc,g++)
$(T)/throws: tests/targets/throws.cc $(T)/.dir
	$(call tcc,g++)
$(T)/shop: tests/targets/shop.cc $(T)/.dir
	$(call tcc,g++)

# All of them in one rule: compiling their common unit takes most of the time.
$(MANY) &: tests/tools/manyunits
	$(call say,TARGET,$(MANY))
	@mkdir -p $(@D)
	$(Q)CXX=g++ $< $(@D)/many-8-1 8 1 $(@D)/many-4-1 4 $(@D)/many-2-1 2

define go
$(call say,TARGET,$@)
$(Q)GOFLAGS= GO111MODULE=off GOCACHE="$(abspath $(T))/gocache" GOPATH="$(abspath $(T))/gopath" CGO_ENABLED=1 go build $(1) -o $@ $<
endef
$(T)/gospin: tests/targets/gospin.go $(T)/.dir
	$(call go,)
$(T)/gospin-stripped: tests/targets/gospin.go $(T)/.dir
	$(call go,-ldflags='-s -w')
$(T)/gospin-pie: tests/targets/gospin.go $(T)/.dir
	$(call go,-buildmode=pie -ldflags='-s -w')
$(T)/cgospin: tests/targets/cgospin.go $(T)/.dir
	$(call go,)
$(T)/cgospin-stripped: tests/targets/cgospin.go $(T)/.dir
	$(call go,-ldflags='-s -w')
# The C compiler links it, and places the C runtime's code before Go's.
$(T)/cgospin-external: tests/targets/cgospin.go $(T)/.dir
	$(call go,-ldflags='-linkmode=external')
$(T)/cgospin-external-stripped: tests/targets/cgospin.go $(T)/.dir
	$(call go,-ldflags='-linkmode=external -s -w')
# The C compiler links it, and merges Go's table with other data.
$(T)/cgospin-pie: tests/targets/cgospin.go $(T)/.dir
	$(call go,-buildmode=pie)

$(T)/rsspin: tests/targets/rsspin.rs $(T)/.dir
	$(call say,TARGET,$@)
	$(Q)MAKEFLAGS= rustc --edition 2021 -O -g -C linker=$(lastword $(filter-out -%,$(CC))) -o $@ $<

$(T)/javadump.so: tests/targets/javadump.c $(T)/.dir
	$(call tcc,$(TCC),-D_GNU_SOURCE -fPIC -shared -I$(JDK)/include -I$(JDK)/include/linux)
