# shellcheck shell=bash disable=SC2016
# The rows of tests/today/run (which describes the words of a row).

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
# Each basic block is a separate function for the linker, and has a symbol.
row clang-bbsections "clang libc6-dev" version="$(first_number 'clang --version')" root="$C_ROOT" chain="$(sed 's/\(;\|$\)/(\\.__part\\.[0-9]+)?\1/g' <<<"$SPIN")" \
	build='clang -O2 -fbasic-block-sections=all -DP=app -o /app/clangbb spin.c -pthread' run='./clangbb 60'
row clang++ "clang g++" version="$(first_number 'clang++ --version')" root="$C_ROOT" chain="$CXX" between="$CXX_BETWEEN" \
	build='clang++ -std=c++20 -O2 -o /app/clang++ chain.cc' run='./clang++ 60'
GO_ENV='export GO111MODULE=off GOCACHE=/src/.go GOFLAGS=-p=2'
# Go reads the clock on the thread's own stack, which begins there.
row go "golang-go" version="$(first_number 'go version')" root='runtime\..*|time\.now' chain='main\.outer;main\.inner;main\.leaf' \
	build="$GO_ENV; go build -o /app/gospin gospin.go" run='./gospin 60'
row rust "rustc gcc" version="$(first_number 'rustc --version')" root="$C_ROOT" chain='main;rsspin::main;rsspin::outer;rsspin::inner;rsspin::leaf' \
	between='std::.*|core::.*|<.*>::.*|__rustc::.*|__rust_.*' build='rustc -O -o /app/rsspin rsspin.rs' run='./rsspin 60'
# C called by Go runs on the thread's own stack, where asmcgocall begins. Go called by C runs on its
# goroutine's stack again.
CGO="$GO_ENV; mkdir /tmp/c; sed 's/time.Second/60 * time.Second/' cgospin.go >/tmp/c/main.go; cd /tmp/c; go build"
row go-cgo "golang-go gcc libc6-dev" version="$(first_number 'go version')" root="runtime\\..*|time\\.now|$C_ROOT" chain='c_outer;c_leaf' \
	build="$CGO -o /app/cgo main.go" run='./cgo'
row go-cgo-back "golang-go gcc libc6-dev" version="$(first_number 'go version')" root="runtime\\..*|time\\.now|$C_ROOT" chain='_cgoexp_.*_goBack;main\.goLeaf' \
	build="$CGO -o /app/cgoback main.go" run='./cgoback x'
row go-pie-stripped "golang-go gcc libc6-dev" version="$(first_number 'go version')" root='runtime\..*|time\.now' chain='main\.outer;main\.inner;main\.leaf' \
	build="$GO_ENV; go build -buildmode=pie -ldflags='-s -w -linkmode=external' -o /app/gopie gospin.go" run='./gopie 60'
# OCaml runs on a stack of its own, which begins there.
row ocaml "ocaml gcc libc6-dev" version="$(first_number 'ocamlopt -version')" root="$C_ROOT|caml_start_program|caml_runstack" chain='camlChain[.$]outer_[0-9]+;camlChain[.$]middle_[0-9]+;camlChain[.$]leaf_[0-9]+' \
	build='cp chain.ml /tmp; cd /tmp; ocamlopt -I +unix unix.cmxa chain.ml -o /app/ocaml' run='./ocaml 60'
row ocaml-effects "ocaml gcc libc6-dev" version="$(first_number 'ocamlopt -version')" root="$C_ROOT|caml_start_program|caml_runstack" chain='camlChain[.$]outer_[0-9]+;camlChain[.$]middle_[0-9]+;camlChain[.$]leaf_[0-9]+' \
	build='cp chain.ml /tmp; cd /tmp; ocamlopt -I +unix unix.cmxa chain.ml -o /app/ocamleff' run='./ocamleff effects 60'
row ghc "ghc libc6-dev" version="$(first_number 'ghc --version')" root='.*' chain='.*' chain_min=0 min=- why="Haskell's own stack cannot be copied" \
	build='mkdir /tmp/hs; ghc -O1 -outputdir /tmp/hs -o /app/ghc Chain.hs' run='./ghc 60'
row ghc-g "ghc libc6-dev" version="$(first_number 'ghc --version')" root='.*' chain='leafWork' min=- \
	build='mkdir /tmp/hs; ghc -O1 -g -outputdir /tmp/hs -o /app/ghcg Chain.hs' run='./ghcg 60'

# ---- interpreters and JITs
# Recorded from the start, including the loader and the exec, during which the old stack is gone.
END_ROOT="$C_ROOT|execve|\\[(ld-linux[^]]*|sleep)\\]"
# to_the_end COMMAND: the runtime writes its code when it ends; the container lives on.
to_the_end() { echo "bash -c '$1; exec sleep 100'"; }
PY_BETWEEN='_Py.*|_PyEval.*|py_trampoline.*|py::.*|\[python3.*\]|Py.*'
PY="py::<module>:/app/chain.py;py::outer:/app/chain.py;py::middle:/app/chain.py;py::leaf:/app/chain.py"
row python "python3" version="$(first_number 'python3 --version')" root="$C_ROOT" chain='_start;_PyEval_EvalFrameDefault' between='.*' chain_min=0 build='cp chain.py /app/' run='python3 chain.py 60'
row python-perf "python3" version="$(first_number 'python3 --version')" root="$C_ROOT" chain="$PY" between="$PY_BETWEEN" build='cp chain.py /app/' run='python3 -X perf chain.py 60'
row python-perf_jit "python3" version="$(first_number 'python3 --version')" root="$END_ROOT" chain="$PY" between="$PY_BETWEEN" build='cp chain.py /app/' \
	run="$(to_the_end 'python3 -X perf_jit chain.py 5')" warm=200 duration=8
JS="JS:[*~^+']*outerWork /app/chain\.js.*;JS:[*~^+']*middleWork /app/chain\.js.*;JS:[*~^+']*leafWork /app/chain\.js.*"
row node-map "nodejs" version="$(first_number 'node --version')" root="$C_ROOT" chain="$JS" warm=2000 build='cp chain.js /app/' \
	run='node --perf-basic-prof --interpreted-frames-native-stack --no-turbo-inlining --no-maglev-inlining chain.js 60'
row node-jitdump "nodejs" version="$(first_number 'node --version')" root="$END_ROOT" chain="$JS" chain_min=70 warm=200 duration=10 build='cp chain.js /app/' \
	run="$(to_the_end 'node --perf-prof --interpreted-frames-native-stack --no-turbo-inlining --no-maglev-inlining chain.js 6')"
JAVA='.*Chain[.:]+outerWork.*;.*Chain[.:]+middleWork.*;.*Chain[.:]+leafWork.*'
JAVA_RUN='java -XX:CompileCommand=quiet -XX:CompileCommand=dontinline,Chain::*Work -XX:+PreserveFramePointer -cp . '
row java-jcmd "openjdk-25-jdk-headless" version="$(first_number 'java --version')" root="$C_ROOT" chain="$JAVA" warm=3000 \
	build='javac -d /app Chain.java' run="$JAVA_RUN Chain 60" before='nsenter -t $CTR_PID -m -p -r /usr/bin/jcmd 1 Compiler.perfmap'
row java-atexit "openjdk-25-jdk-headless" version="$(first_number 'java --version')" root="$END_ROOT" chain="$JAVA" chain_min=50 warm=200 duration=12 \
	build='javac -d /app Chain.java' run="$(to_the_end "$JAVA_RUN -Xcomp -XX:CompileCommand=compileonly,Chain::* -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit Chain 8")"
PHP_RUN='php8.4 -d opcache.enable=1 -d opcache.enable_cli=1 -d opcache.file_update_protection=0 -d opcache.jit_buffer_size=32M -d opcache.jit=function'
row php-map "php8.4-cli php8.4-opcache" version="$(first_number 'php8.4 --version')" root="$C_ROOT" chain='.*leaf_work.*' build='cp chain.php /app/' \
	run="$PHP_RUN -d opcache.jit_debug=0x10 chain.php 60"
row php-jitdump "php8.4-cli php8.4-opcache" version="$(first_number 'php8.4 --version')" root="$C_ROOT" chain='.*leaf_work.*' build='cp chain.php /app/' \
	run="$PHP_RUN -d opcache.jit_debug=0x20 chain.php 60"
row ruby "ruby" version="$(first_number 'ruby --version')" root="$C_ROOT" chain='.*' chain_min=0 build='cp chain.rb /app/' run='ruby chain.rb 60'
row ruby-yjit "ruby" version='ruby --yjit -v 2>/dev/null | grep YJIT || { echo "Debian builds its Ruby without YJIT"; exit 1; }' root="$C_ROOT" chain='.*leaf_work.*' \
	build='cp chain.rb /app/' run='ruby --yjit --yjit-perf --yjit-call-threshold=1 chain.rb 60'
row erlang "erlang-base" version="erl -noshell -eval 'io:format(\"~s~n\", [erlang:system_info(otp_release)]), halt().'" \
	root="$C_ROOT|.*normal_exit.*|.*global::.*" chain='.*chain:outer_work/2.*;.*chain:middle_work/1.*;.*chain:leaf_work/3.*' build='erlc -o /app chain.erl' \
	run="erl +JPperf true -noshell -pa /app -eval 'chain:main(60),halt().'"
# One backend without a server around it. With the JIT, expressions are LLVM code.
PG=/usr/lib/postgresql/18/bin
PG_BUILD="cp chain.sql /app/; mkdir -p /app/pg; chown postgres /app/pg; [ -d /app/pg/data ] || su postgres -c '$PG/initdb -D /app/pg/data'"
PG_RUN="$PG/postgres --single -D /app/pg/data -c max_parallel_workers_per_gather=0"
row postgres "postgresql-18" version="$(first_number "$PG/postgres --version")" root="$C_ROOT" \
	chain='main;PostgresSingleUserMain;PostgresMain;PortalRun;standard_ExecutorRun' between='\[postgres\]' chain_min=80 warm=1000 \
	build="$PG_BUILD" run="su postgres -c '$PG_RUN -c jit=off postgres <chain.sql'"
row postgres-jit "postgresql-18 postgresql-18-jit" version="$(first_number "$PG/postgres --version")" root="$C_ROOT" \
	chain='main;standard_ExecutorRun;evalexpr_[0-9_]+' between='.*' chain_min=10 warm=1000 build="$PG_BUILD" \
	run="su postgres -c '$PG_RUN -c jit=on -c jit_above_cost=0 -c jit_profiling_support=on postgres <chain.sql'"
