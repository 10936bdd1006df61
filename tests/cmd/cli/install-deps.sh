#!/bin/bash
# What contrib/install-deps installs, and which targets of the Makefile use it: building and
# installing do not.
# beside others
. "$(dirname "$0")/../../lib.sh"

deps=$TOP/contrib/install-deps
# A PATH with next to nothing, so that every package is missing.
mkdir "$T/bin" "$T/apt"
for c in bash id grep sed flock; do
	ln -s "$(command -v $c)" "$T/bin/$c"
done
# few CC COMMAND...: run it with that PATH and compiler. Commands in sbin are found without PATH:
# none of these is there.
few() { env PATH="$T/bin" CC="$1" "${@:2}"; }

missing=$(few nothing "$deps" build --print)
like "what is missing is named" "$missing" '^libelf-dev$'
like "and commands" "$missing" '^gcc$'
is "nothing else is printed" "$(grep -Evc '^[a-z0-9+-]+$' <<<"$missing")" 0
# names SET PACKAGE; lacks SET PACKAGE: does SET ask for it?
names() { like "$1: $2" "$(few nothing "$deps" "$1" --print)" "^$2\$"; }
lacks() { unlike "$1: no $2" "$(few nothing "$deps" "$1" --print)" "^$2\$"; }
names unit libcmocka-dev
lacks build libcmocka-dev
names demo busybox-static
names demo 'g\+\+'
for p in chromium valgrind golang-go rustc clang nodejs llvm linux-perf libcmocka-dev; do
	lacks demo $p
	names check $p
done
names lint clang-tidy
lacks check clang-tidy
names names python3-dbg
lacks check python3-dbg
names runtimes podman
lacks check podman

check_rc "without apt-get it fails" 1 few nothing "$deps" build
like "and names the packages" "$(<"$T/check.err")" 'no apt-get .*libelf-dev'
check "NODEPS=1 goes on" few nothing NODEPS=1 "$deps" check
is "without a word" "$(cat "$T/check.out" "$T/check.err")" ""
check_rc "usage" 2 "$deps" nonsense
check_rc "usage: a second word" 2 "$deps" build nonsense
check "--help" "$deps" --help
if [ -z "$("$deps" build --print)" ]; then
	check "nothing to do" "$deps" build
	is "nothing to do: without a word" "$(cat "$T/check.out" "$T/check.err")" ""
else
	skip "nothing to do" "build packages are missing here"
fi

# An apt-get that logs its arguments. It knows all packages but those in $T/apt/unknown. Installing
# a package creates its command or header where install-deps looks.
cat >"$T/bin/apt-get" <<E
#!/bin/bash
echo "\$*" >>"$T/apt/log"
simulate=
[ "\$1" != -s ] || { simulate=1; shift; }
case \$1 in
install)
	for p; do
		! grep -qsx -e "\$p" "$T/apt/unknown" || { echo "E: Unable to locate package \$p" >&2; exit 100; }
	done
	[ -z "\$simulate" ] || exit 0
	[ ! -e "$T/apt/broken" ] || exit 100
	for p; do
		while read -r package probe; do
			[ "\$package" = "\$p" ] || continue
			case \$probe in
			hdr:*) echo "#if !__has_include(<\${probe#hdr:}>)" >>"$T/apt/headers" ;;
			*) printf '#!/bin/bash\n' >"$T/bin/\${probe#*:}"; \$chmod 755 "$T/bin/\${probe#*:}" ;;
			esac
		done < <(sed 's,cmd:\${.*,cmd:cc,' "$deps")
	done ;;
*update) [ ! -e "$T/apt/noupdate" ] ;;
esac
E
sed -i "s,\\\$chmod,$(command -v chmod)," "$T/bin/apt-get"
printf '#!/bin/bash\n[ -z "$1" ] || echo "not a dynamic executable"\n' >"$T/bin/ldd"
# A compiler that finds the installed headers.
printf '#!/bin/bash\n! grep "^#if" | grep -qvxFf "%s"\n' "$T/apt/headers" >"$T/cc.sh"
chmod 755 "$T/bin/apt-get" "$T/bin/ldd" "$T/cc.sh"
cp -a "$T/bin" "$T/bin.fresh"

# fresh [UNKNOWN...]: nothing is installed, and apt-get does not know UNKNOWN.
fresh() {
	rm -rf "$T/bin" "$T/apt"
	cp -a "$T/bin.fresh" "$T/bin"
	mkdir "$T/apt"
	printf '%s\n' "$@" >"$T/apt/unknown"
	: >"$T/apt/log" >"$T/apt/headers"
}
# installed: the packages that apt-get was told to install, without simulations.
installed() { sed -n 's/^install -y --no-install-recommends //p' "$T/apt/log"; }

fresh
check_rc "--dry-run fails" 1 few "$T/cc.sh" "$deps" build --dry-run
like "--dry-run: it prints the command" "$(<"$T/check.err")" \
	'^    apt-get update && apt-get install -y --no-install-recommends .*libelf-dev .*libjansson-dev'
like "--dry-run: and how to do without" "$(<"$T/check.err")" 'NODEPS=1'
is "--dry-run: it runs nothing" "$(grep -v '^-s ' "$T/apt/log")" ""

if [ "$(id -u)" = 0 ]; then
	fresh
	check "as root it installs" few "$T/cc.sh" "$deps" check
	is "it updates first" "$(grep -v '^-s' "$T/apt/log" | head -n 1)" "-q update"
	got=$(installed)
	fresh
	is "it installs what is missing and nothing more" "$got" "$(few "$T/cc.sh" "$deps" check --print | paste -sd ' ')"

	fresh linux-perf chromium
	check "what the distribution lacks is left out" few "$T/cc.sh" "$deps" check
	like "the rest is installed" "$(installed)" 'libelf-dev .*busybox-static .*valgrind'
	unlike "left out: not tried" "$(installed)" 'linux-perf|chromium'
	like "left out: named, with what follows" "$(<"$T/check.err")" 'not available here: linux-perf chromium\. Tests that need them are skipped'
	: >"$T/apt/log"
	check "left out: so it is the next time" few "$T/cc.sh" "$deps" check
	is "left out: nothing is installed then" "$(installed)" ""

	fresh libisal-dev
	check_rc "what building needs is not left out" 1 few "$T/cc.sh" "$deps" build
	like "but named" "$(<"$T/check.err")" 'cannot go on without libisal-dev'
	fresh busybox-static
	check_rc "nor what the demo needs" 1 few "$T/cc.sh" "$deps" demo
	like "it is named as well" "$(<"$T/check.err")" 'cannot go on without busybox-static'
	fresh busybox-static
	check "the tests do without" few "$T/cc.sh" "$deps" check

	fresh
	: >"$T/apt/noupdate"
	check "a repository that fails to update does not stop the rest" few "$T/cc.sh" "$deps" check
	fresh
	: >"$T/apt/broken"
	check_rc "an installation that fails stops" 1 few "$T/cc.sh" "$deps" check
	like "with what to do" "$(<"$T/check.err")" 'apt-get failed to install: .*libelf-dev.*NODEPS=1'
else
	skip "install-deps installs" "needs root"
fi

# The Makefile with a missing compiler, so that every header is missing, and with this apt-get
# before the real one.
fresh
mkdir "$T/front"
ln -s "$T/bin/apt-get" "$T/front/apt-get"
# target TARGET: the output of make, and the arguments of apt-get.
target() {
	: >"$T/apt/log"
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL PATH="$T/front:$PATH" NODEPS= make -C "$TOP" O="$T/o" DESTDIR="$T/dest" CC=nothing LTO= "$1" >"$T/out" 2>&1
}
for t in all install check-unit; do
	target $t
	is "make $t stops" "$?" 2
	like "make $t: it prints the command" "$(<"$T/out")" '^    apt-get update && apt-get install .*libelf-dev'
	is "make $t: it installs nothing" "$(grep -v '^-s ' "$T/apt/log")" ""
done
check "make install: nor any of its own" test ! -e "$T/dest"
if [ "$(id -u)" = 0 ]; then
	for t in demo check; do
		fresh
		: >"$T/apt/broken"
		target $t
		like "make $t installs what is missing" "$(installed)" 'libelf-dev'
	done
else
	skip "make demo installs" "needs root"
fi

# Programs that tests profile: one with a missing compiler is not built but recorded as lacking.
mkdir "$T/no"
for c in bash cat find grep make mkdir nproc printf sed uname gcc; do
	ln -s "$(command -v $c)" "$T/no/$c"
done
out=$(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL PATH="$T/no" NODEPS=1 make -n -C "$TOP" O="$T/o" CC=gcc LTO= test-targets 2>&1)
like "without g++: the others are built" "$out" 'gcc .*-o [^ ]*/targets/spin '
unlike "without g++ and others: nothing is compiled with them" "$out" '^(g\+\+|clang|musl-gcc|rustc|xz) |go build|CXX='
for w in deep:g++ gospin:go rsspin:rustc spin-clang:clang spin-musl:musl-gcc spin-mini:xz clang-O2:clang; do
	like "without ${w#*:}: ${w%:*} is noted" "$out" " ${w//+/\\+}( |\$)"
done
unlike "with gcc: spin is not noted" "$out" ' spin:'
# rustc itself links with "cc", which may be missing.
like "Rust is linked by the compiler of the build" "$(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL NODEPS=1 make -n -C "$TOP" O="$T/o" CC="ccache other -m64" \
	LTO= "$T/o/tests/targets/rsspin" 2>&1)" 'rustc .*-C linker=other '

# The demo, if something is missing and nothing may be installed: it names what is missing.
if [ "$(id -u)" = 0 ]; then
	mkdir "$T/demo"
	cd "$T/demo" || exit 2
	for c in bash cat awk realpath dirname mktemp id rm mkdir rmdir mount umount mountpoint pgrep readelf unshare grep busybox; do
		ln -s "$(command -v $c)" "$T/demo/$c"
	done
	ln -s "$NSPROF" dynamic
	# demo WITHOUT: the demo's message without that command.
	demo() {
		rm "$1"
		PATH=$T/demo bash "$TOP/contrib/demo" 2>&1
		ln -s "$(command -v "$1")" "$1"
	}
	if [ -n "$("$deps" demo --print)" ]; then
		skip "the demo says what is missing" "it needs $("$deps" demo --print | paste -sd ' ')"
	else
		for c in busybox unshare pgrep readelf; do
			is "the demo without $c" "$(demo $c)" "demo: $c is not installed; the demo needs that"
		done
		ln -sf dynamic busybox
		is "the demo with another busybox" "$(PATH=$T/demo bash "$TOP/contrib/demo" 2>&1)" \
			"demo: busybox is not linked statically: busybox-static is not installed; the demo needs that"
	fi
else
	skip "the demo says what is missing" "needs root"
fi
done_testing
