#!/bin/bash
# Where PostgreSQL and nginx wait, how long and why: row locks, fsync and pg_sleep() beside the
# server's own log and statistics and pgbench's latencies; epoll beside nginx's own log.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../waits.sh"
need_cmd jq
ctr_need
later ctr_end
# --kill-child does not reach a child that has changed its user.
end_servers() {
	cat "$CTR_V2/$CTR_CGROOT"/*/cgroup.procs | xargs -r kill -KILL
	wait_for '[ -z "$(cat "$CTR_V2/$CTR_CGROOT"/*/cgroup.procs)" ]' 20
}
later end_servers
can_sample_kernel || skip_all "the kernel may not be recorded"

# Servers run as a user without rights, who has to reach their files.
HOME_OF=$(mktemp -d "${TMPDIR:-/tmp}/nsprof-servers.XXXXXX") || exit 1
chmod 755 "$HOME_OF"
later "rm -rf '$HOME_OF'"

has() { command -v "$1" >/dev/null; }

# serve NAME COMMAND...: run it in cgroup NAME, in pid and mount namespaces of its own.
serve() {
	local cg=$CTR_V2/$CTR_CGROOT/$1
	mkdir -p "$cg"
	(
		echo $BASHPID >"$cg/cgroup.procs"
		cd "$HOME_OF" && exec unshare -m -p --fork --kill-child --mount-proc "${@:2}"
	) >"$HOME_OF/$1.log" 2>&1 </dev/null &
	PIDS+=($!)
}

# ---- PostgreSQL: several clients update one row, each holds it for 4 ms

pg_bin() {
	local d
	for d in $(pg_config --bindir 2>/dev/null) /usr/lib/postgresql/*/bin /usr/bin; do
		[ ! -x "$d/initdb" ] || { echo "$d"; return; }
	done
	return 1
}

postgres_waits() {
	local bin why clients=4 each=30 n c data=$HOME_OF/pg f=$T/pg
	local holds=0.004 update sleeps lock sync sync_after tids
	bin=$(pg_bin) || { skip "PostgreSQL" "postgresql is not installed: contrib/install-deps servers"; return; }
	has pgbench && has psql || { skip "PostgreSQL" "its client is not installed"; return; }
	mkdir "$data" && chown 65534:65534 "$data"
	why=$(cd / && "${NOBODY[@]}" "$bin/initdb" -D "$data" -U test -A trust -N --no-instructions 2>&1) || { skip "PostgreSQL" "initdb: $(tail -n 1 <<<"$why")"; return; }
	cat >>"$data/postgresql.conf" <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$data'
		log_lock_waits = on
		deadlock_timeout = 1ms
		track_wal_io_timing = on
		shared_buffers = 16MB
		autovacuum = off
	CONF
	serve pg "${NOBODY[@]}" "$bin/postgres" -D "$data"
	sql() { psql -h "$data" -U test -d postgres -XAtc "$1"; }
	wait_for 'sql "SELECT 1" >/dev/null 2>&1' 30 || { fail "PostgreSQL starts" "$(cat "$HOME_OF/pg.log")"; return; }
	sql "CREATE TABLE hot (id int PRIMARY KEY, n int); INSERT INTO hot VALUES (1, 0)" >/dev/null
	printf '%s;\n' BEGIN 'UPDATE hot SET n = n + 1 WHERE id = 1' "SELECT pg_sleep($holds)" END >"$T/script"
	# Of the server's processes so far: fsyncs that are not recorded.
	sync=$(sql "SELECT wal_sync_time FROM pg_stat_wal")
	waits_begin "$f" -a -G "$CTR_CGROOT/pg"
	pgbench -h "$data" -U test -n -r -c $clients -t $each -f "$T/script" postgres >"$T/pgbench" 2>&1 ||
		{ fail "pgbench" "$(cat "$T/pgbench")"; waits_end; return; }
	sync_after=$(sql "SELECT wal_sync_time FROM pg_stat_wal")
	waits_end
	is "PostgreSQL: all updates are done" "$(sql "SELECT n FROM hot")" $((clients * each))

	# Each backend that has waited for a lock is a client's. ns of all, by pgbench's mean per statement.
	n=$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' "$T/pgbench")
	update=$(awk -v n="$n" '/UPDATE hot/ { printf "%.0f\n", $1 * 1e6 * n }' "$T/pgbench")
	sleeps=$(awk -v n="$n" '/pg_sleep/ { printf "%.0f\n", $1 * 1e6 * n }' "$T/pgbench")
	lock=$(awk '/acquired .*Lock on .* after/ { for (i = 1; i < NF; i++) if ($i == "after") t += $(i + 1) } END { printf "%.0f\n", t * 1e6 }' "$HOME_OF/pg.log")
	tids=$(sed -n '/;ProcSleep;/s:^[^;]*/\([0-9]*\);.*:\1:p' "$f.folded" | sort -u)
	c=$(on "$f" $tids)
	# What these have waited for a CPU, anywhere.
	runnable() { off "$f" "^postgres-[0-9]*/($(tr '\n' '|' <<<"$tids")-);.*;\\[runnable\\] "; }
	is "PostgreSQL: a backend per client waits for locks" "$(wc -w <<<"$tids")" $clients
	# The server's log has waits that are longer than 1 ms. It is also written meanwhile.
	check "ProcSleep: $(ms "$(off "$f" ';ProcSleep;')"), by the server's log $(ms "$lock"), CPU $(ms "$c")" \
		test "$lock" -gt 0 -a "$(off "$f" ';ProcSleep;')" -ge $((lock - c - $(runnable) - CLOCK_SLACK))
	check "and not more than pgbench saw: $(ms "$update")" test "$(off "$f" ';ProcSleep;')" -le "$update"
	# pgbench itself may wait for a CPU when the answer comes.
	check "pg_sleep: $(ms "$(off "$f" ';pg_sleep;')"), by pgbench at most $(ms "$sleeps")" test "$(off "$f" ';pg_sleep;')" -le "$sleeps"
	check "and at least what was asked" test $(($(off "$f" ';pg_sleep;') + c + $(runnable))) -ge "$(awk -v n="$n" -v s=$holds 'BEGIN { printf "%.0f\n", n * s * 1e9 }')"
	share "row locks are latches, which are waits in epoll" "$f" ';\[epoll\];\[blocked\] ' ';ProcSleep;WaitLatch;.*;\[blocked\] ' 99
	share "and so is pg_sleep" "$f" ';\[epoll\];\[blocked\] ' ';pg_sleep;.*;\[blocked\] ' 99
	is "locks in shared memory are futexes, if there were any" "$(grep ';PGSemaphoreLock;.*;\[blocked\] ' "$f.folded" | grep -vc ';\[futex\];')" 0
	share "and a client's pause" "$f" ';\[epoll\];\[blocked\] ' ';secure_read;.*;\[blocked\] ' 99
	sync=$(awk -v a="$sync" -v b="$sync_after" 'BEGIN { printf "%.0f\n", (b - a) * 1e6 }')
	if [ "$sync" -lt 20000000 ]; then
		skip "fsync" "this file system has nothing to wait for: $(ms "$sync") in all, by the server's clock"
	else
		agrees "fsync of the log" "$(off "$f" ';XLog[A-Za-z]*Flush;.*;fdatasync;')" "$sync" $(($(on "$f") + $(off "$f" ';\[runnable\] ')))
		share "fsync waits for the disk" "$f" ';\[disk\];\[blocked\] ' ';fdatasync;.*;\[blocked\] ' 90
	fi
	unlike "no stack is cut or broken" "$(grep ';ProcSleep;\|;pg_sleep;' "$f.folded")" 'truncated_stack|broken_stack'
}
postgres_waits

# ---- nginx: waits for a slow server behind it

nginx_waits() {
	local f=$T/nginx root=$HOME_OF/nginx requests=25 took i worker master run run_after wall
	has nginx && has curl && has python3 || { skip "nginx" "nginx, curl or python3 is not installed: contrib/install-deps servers"; return; }
	mkdir -p "$root/logs" && chown -R 65534:65534 "$root"
	cat >"$root/conf" <<-CONF
		daemon off; worker_processes 1; pid $root/pid; error_log $root/error.log;
		events { use epoll; }
		http {
			log_format times '\$upstream_response_time';
			access_log $root/access.log times;
			client_body_temp_path $root/1; proxy_temp_path $root/2; fastcgi_temp_path $root/3;
			uwsgi_temp_path $root/4; scgi_temp_path $root/5;
			server { listen unix:$root/front; location / { proxy_pass http://unix:$root/back:/; } }
		}
	CONF
	# A server that takes 20 ms for each request. It is not recorded.
	python3 -c '
import os, socket, sys, time
os.umask(0)
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
while True:
    c = s.accept()[0]
    c.recv(65536)
    time.sleep(0.02)
    c.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok")
    c.close()' "$root/back" &
	serve nginx "${NOBODY[@]}" nginx -p "$root" -c "$root/conf" -e "$root/error.log"
	ask() { curl -s --max-time 20 --unix-socket "$root/front" http://x/; }
	wait_for '[ "$(ask)" = ok ]' 20 || { fail "nginx answers" "$(cat "$HOME_OF/nginx.log" "$root/error.log")"; return; }
	# process WHAT: the process of nginx in the cgroup with that in its title.
	process() {
		local p
		for p in $(<"$CTR_V2/$CTR_CGROOT/nginx/cgroup.procs"); do
			! grep -aqs "nginx: $1" "/proc/$p/cmdline" || echo "$p"
		done
	}
	worker=$(process worker) master=$(process master)
	: >"$root/access.log"
	# It waits in between, so the kernel's account of it is up to date.
	read -r run _ <"/proc/$worker/schedstat"
	waits_begin "$f" -a -G "$CTR_CGROOT/nginx"
	# Once more into its wait: what began before the recording has no stack.
	kill -USR1 "$master"
	for ((i = 0; i < requests; i++)); do ask; done >"$T/answers"
	read -r run_after _ <"/proc/$worker/schedstat"
	waits_end
	is "nginx: each request is answered" "$(grep -o ok "$T/answers" | wc -l)" $requests
	took=$(awk '{ t += $1 } END { printf "%.0f\n", t * 1e9 }' "$root/access.log")
	wall=$(jq --arg t "$worker" '.cpu_times.threads[] | select(.tid == ($t | tonumber)) | .wall_ns' "$f.json")
	# The log's times are in whole milliseconds.
	check "the worker waits at least for the server behind it: $(ms "$(off "$f" "/$worker;.*;ngx_process_events_and_timers;")") of $(ms "$wall"), by its own log $(ms "$took")" \
		test "$(off "$f" "/$worker;.*;ngx_process_events_and_timers;")" -ge $((took - requests * 1000000 - $(on "$f" "$worker") - $(off "$f" "/$worker;.*;\[runnable\] ")))
	# What is not known before it leaves for the first time: [before recording].
	share "in epoll" "$f" ';ngx_process_events_and_timers;.*;epoll_wait;.*;\[epoll\];\[blocked\] ' "/$worker;_start;.*;\\[blocked\\] " 99
	# On a CPU is also a thread whose CPU is interrupted or taken by the hypervisor. The kernel's
	# account leaves that out.
	check "its CPU time: $(ms "$(on "$f" "$worker")"), by the kernel's account $(ms $((run_after - run)))" \
		test "$(($(on "$f" "$worker") + CLOCK_SLACK))" -ge $((run_after - run))
	like "the master process waits for a signal" "$(<"$f.folded")" "^nginx-[0-9]*/$master;.*;\[signal\];\[blocked\] "
}
nginx_waits
done_testing
