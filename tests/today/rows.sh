# shellcheck shell=bash disable=SC2016
# The rows of tests/today/run (row there says what the words mean).

# Debian's libc is stripped: clone3() and start_thread() have no names in it.
C_ROOT='_start|__clone3?|clone3?|__GI___clone3?|\[libc\.so\.6\]'
first_number() { echo "$1 | grep -oE '[0-9]+([.][0-9]+)+' | head -n 1 | grep ."; }

# ---- compiled code
SPIN='main;app_outer;app_middle;app_inner;app_leaf'
row gcc "gcc libc6-dev" version="$(first_number 'gcc -dumpfullversion')" root="$C_ROOT" chain="$SPIN" \
	build='gcc -O2 -DP=app -o /app/gcc spin.c -pthread' run='./gcc 60'
row gcc-lto-nofp "gcc libc6-dev" version="$(first_number 'gcc -dumpfullversion')" root="$C_ROOT" chain='app_outer;app_middle;app_inner;app_leaf' \
	build='gcc -O3 -flto -fomit-frame-pointer -fcf-protection -DP=app -o /app/gcclto spin.c -pthread && strip --strip-debug /app/gcclto' run='./gcclto --threads 2 60'
CXX='main;today::outer\(.*;today::numbers\(.*;today::square::area\(.*;unsigned long today::generic<.*;today::leaf\(.*'
CXX_BETWEEN='std::.*|today::outer\(.*|__gnu_cxx.*|.*::operator\(\).*'
row g++ "g++" version="$(first_number 'g++ -dumpfullversion')" root="$C_ROOT" chain="$CXX" between="$CXX_BETWEEN" \
	build='g++ -std=c++20 -O2 -o /app/g++ chain.cc' run='./g++ 60'
row g++-throw "g++" version="$(first_number 'g++ -dumpfullversion')" root="$C_ROOT" chain="$CXX" between="$CXX_BETWEEN" chain_min=60 \
	build='g++ -std=c++20 -O3 -o /app/g++throw chain.cc' run='./g++throw --throw 60'
row clang "clang libc6-dev" version="$(first_number 'clang --version')" root="$C_ROOT" chain="$SPIN" \
	build='clang -O2 -DP=app -o /app/clang spin.c -pthread' run='./clang 60'
# Each basic block is a function of its own to the linker, and has a symbol.
row clang-bbsections "clang libc6-dev" version="$(first_number 'clang --version')" root="$C_ROOT" chain="$(sed 's/\(;\|$\)/(\\.__part\\.[0-9]+)?\1/g' <<<"$SPIN")" \
	build='clang -O2 -fbasic-block-sections=all -DP=app -o /app/clangbb spin.c -pthread' run='./clangbb 60'
row clang++ "clang g++" version="$(first_number 'clang++ --version')" root="$C_ROOT" chain="$CXX" between="$CXX_BETWEEN" \
	build='clang++ -std=c++20 -O2 -o /app/clang++ chain.cc' run='./clang++ 60'
GO_ENV='export GO111MODULE=off GOCACHE=/tmp/go GOFLAGS=-p=2'
# The clock is read on the thread's own stack, which begins there.
row go "golang-go" version="$(first_number 'go version')" root='runtime\..*|time\.now' chain='main\.outer;main\.inner;main\.leaf' \
	build="$GO_ENV; go build -o /app/gospin gospin.go" run='./gospin 60'
row rust "rustc gcc" version="$(first_number 'rustc --version')" root="$C_ROOT" chain='main;rsspin::main;rsspin::outer;rsspin::inner;rsspin::leaf' \
	between='std::.*|core::.*|<.*>::.*|__rustc::.*|__rust_.*' build='rustc -O -o /app/rsspin rsspin.rs' run='./rsspin 60'
