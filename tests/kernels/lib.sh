# shellcheck shell=bash
# Virtual machines with Debian's kernels; sourced by run. Uses QEMU's own CPU (TCG), because most
# virtual machines and containers lack hardware virtualisation.
#
#	vm_need			report what is missing, and exit
#	vm_index		read the package lists of all suites into $CACHE/apt
#	vm_newest PREFIX	the newest release (uname -r) of the versions that begin with PREFIX; "" for
#				the newest of all
#	vm_kernel RELEASE	fetch and unpack it, make initrd and modules, in $CACHE/linux-RELEASE
#	vm_root			a Debian 12 root image with what tests need, and the qemu that boots it
#	vm_tree			an image of this source tree and of its build
#	vm_boot RELEASE JOB OUT TIME	boot and run JOB (a file NAME.sh in the folder of OUT) for at most
#				TIME s; its output goes to OUT, the kernel's to OUT.console
#
# CACHE: the folder that keeps all this for the next time; ROOTS: root folders of
# contrib/debian-root.

SUITES="bullseye bookworm trixie sid"
# kmod loads modules; the tests or nsprof need the rest.
GUEST_PACKAGES="kmod busybox-static runc jq linux-perf strace procps util-linux iproute2 bc python3 perl binutils gcc
	libc6-dev g++ make musl-tools xz-utils zstd elfutils nodejs llvm man-db libelf1 libdw1 libunwind8 libzstd1 libisal2
	libjansson4 libseccomp2 libcapstone4 libcmocka0"

stop() { echo "check-kernels: $*" >&2; exit 1; }
say() { echo "check-kernels: $*" >&2; }

vm_need() {
	local c missing=()
	[ "$(id -u)" = 0 ] || stop "root folders of other suites need root"
	[ "$(uname -m)" = x86_64 ] || stop "these are kernels for x86-64"
	for c in debootstrap:debootstrap mke2fs:e2fsprogs depmod:kmod cpio:cpio xz:xz-utils busybox:busybox-static; do
		command -v "${c%%:*}" >/dev/null || missing+=("${c#*:}")
	done
	[ ${#missing[@]} = 0 ] || stop "please install: apt-get install ${missing[*]}"
}

vm_apt() {
	APT_CONFIG=$CACHE/apt/apt.conf "$@"
}

vm_index() {
	local suite mirror dir=$CACHE/apt
	mirror=$("$TOP/contrib/debian-root" --mirror) || exit
	mkdir -p "$dir"/{state/lists/partial,cache/archives/partial}
	for suite in $SUITES; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
	done >"$dir/sources.list"
	{
		cat <<-END
			Dir::Etc::sourcelist "$dir/sources.list";
			Dir::Etc::sourceparts "/dev/null";
			Dir::State "$dir/state";
			Dir::State::status "/dev/null";
			Dir::Cache "$dir/cache";
			APT::Sandbox::User "root";
			Acquire::Check-Valid-Until "false";
			Acquire::Languages "none";
		END
		apt-config dump Acquire::http::Proxy
	} >"$dir/apt.conf"
	vm_apt apt-get -q update >"$dir/log" 2>&1 || stop "cannot read the package lists; see $dir/log"
}

vm_newest() {
	# The prefix "6.1" does not match 6.12.
	vm_apt apt-cache show linux-image-cloud-amd64 2>/dev/null | awk -v prefix="$1" '
		/^Version: / { version = $2; fits = prefix == "" || index(version ".", prefix ".") == 1 }
		/^Depends: / && fits && match($0, /linux-image-[0-9][^ ]*-cloud-amd64/) {
			print version, substr($0, RSTART + 12, RLENGTH - 12)
		}' | sort -V | tail -n 1 | cut -d' ' -f2
}

# One package, or from 7.2 on two: kernel and modules.
vm_fetch() {
	local release=$1 dir=$2 packages
	packages=linux-image-$release
	[ -z "$(vm_apt apt-cache show "linux-binary-$release" 2>/dev/null)" ] ||
		packages="linux-binary-$release linux-modules-$release"
	mkdir -p "$dir/deb" "$dir/files/usr/lib"
	# With merged /usr, packages have usr/lib, but the tools look in lib; older ones have lib.
	ln -sfn usr/lib "$dir/files/lib"
	# shellcheck disable=SC2086
	(cd "$dir/deb" && vm_apt apt-get -q download $packages) >"$dir/log" 2>&1 || return
	for deb in "$dir"/deb/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -C "$dir/files" --keep-directory-symlink -xf - || return
	done
	mv "$(find "$dir/files" -name 'vmlinuz*' -type f | head -n 1)" "$dir/vmlinuz"
}

# vm_initrd RELEASE DIR: busybox, the modules for the disks in load order, tests/kernels/init.
vm_initrd() {
	local release=$1 dir=$2 i=10 module file
	rm -rf "$dir/initrd"
	mkdir -p "$dir/initrd"/{bin,m,root,proc,sys,dev}
	cp "$(command -v busybox)" "$dir/initrd/bin/busybox"
	cp "$TOP/tests/kernels/init" "$dir/initrd/init"
	chmod 755 "$dir/initrd/init"
	for module in virtio_pci virtio_blk ext4 overlay; do
		modprobe -d "$dir/files" -S "$release" --show-depends "$module" 2>/dev/null
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$dir/modules"
	while read -r file; do
		case $file in
		*.xz) xz -dc "$file" ;;
		*.zst) zstd -dcq "$file" ;;
		*) cat "$file" ;;
		esac >"$dir/initrd/m/$i-$(basename "$file" | cut -d. -f1).ko" || return
		i=$((i + 1))
	done <"$dir/modules"
	(cd "$dir/initrd" && find . | cpio -o -H newc --quiet) >"$dir/initrd.img"
}

vm_kernel() {
	local release=$1 dir=$CACHE/linux-$1
	if [ ! -e "$dir/modules.img" ]; then
		say "fetching Linux $release"
		rm -rf "$dir"
		mkdir -p "$dir"
		vm_fetch "$release" "$dir" || stop "cannot fetch linux-image-$release; see $dir/log"
		depmod -b "$dir/files" "$release" >>"$dir/log" 2>&1 || stop "no modules in linux-image-$release"
		mke2fs -q -F -t ext4 -d "$dir/files/usr/lib/modules" "$dir/modules.new" 256M >>"$CACHE/log" 2>&1 || stop "cannot make a disk; see $CACHE/log"
		mv "$dir/modules.new" "$dir/modules.img"
	fi
	vm_initrd "$release" "$dir" || stop "cannot make an initrd for Linux $release"
}

vm_root() {
	local stamp=$CACHE/root.img.packages
	# shellcheck disable=SC2086
	"$TOP/contrib/debian-root" bookworm "$ROOTS/bookworm" $GUEST_PACKAGES || exit
	# QEMU of Debian 12 (7.2) hangs when it counts instructions with two CPUs.
	"$TOP/contrib/debian-root" sid "$ROOTS/sid" qemu-system-x86 || exit
	QEMU=$ROOTS/sid
	[ ! -e "$CACHE/root.img" ] || [ "$(cat "$stamp" 2>/dev/null)" != "$GUEST_PACKAGES" ] || return 0
	say "making the root image"
	rm -f "$CACHE/root.img"
	mkdir -p "$ROOTS/bookworm$TOP"
	mke2fs -q -F -t ext4 -d "$ROOTS/bookworm" "$CACHE/root.img" 4G >>"$CACHE/log" 2>&1 || stop "cannot make a disk; see $CACHE/log"
	echo "$GUEST_PACKAGES" >"$stamp"
}

# Mounted at the path of the tree on this machine, because debug info contains that path.
vm_tree() {
	local dir=$CACHE/tree
	rm -rf "$dir" "$CACHE/tree.img"
	mkdir -p "$dir/${BUILD#"$TOP"/}/tests"
	git -C "$TOP" ls-files -z --cached --others --exclude-standard | (cd "$TOP" && xargs -0 cp -a --parents -t "$dir" 2>/dev/null)
	cp -a "$BUILD/bin" "$BUILD/man" "$BUILD/completion" "$dir/${BUILD#"$TOP"/}/"
	cp -a "$BUILD/tests/targets" "$BUILD/tests/unit" "$dir/${BUILD#"$TOP"/}/tests/"
	find "$dir" -name '*.d' -delete
	mke2fs -q -F -t ext4 -d "$dir" "$CACHE/tree.img" 1G >>"$CACHE/log" 2>&1 || stop "cannot make a disk; see $CACHE/log"
	rm -rf "$dir"
}

# With -icount the guest's time is its number of instructions, 4 ns each. That is exact, whatever
# else this machine does.
vm_boot() {
	local release=$1 job=$2 out=$3 seconds=$4 k=$CACHE/linux-$1 disk=() image
	# In a file, because a kernel's command line cannot hold paths with blanks.
	printf 'TOP=%q\nBUILD=%q\n' "$TOP" "$BUILD" >"$out.env"
	tar -C "$(dirname "$out")" -cf "$out.job" --transform "s|.*\.env$|env|;s|.*\.sh$|job|" "$(basename "$out.env")" "$(basename "$job")" || return
	truncate -s %512 "$out.job"
	for image in "$CACHE/root.img" "$CACHE/tree.img" "$k/modules.img" "$out.job"; do
		disk+=(-drive "file=${image//,/,,},if=virtio,format=raw,snapshot=on")
	done
	: >"$out"
	timeout -k 5 "$seconds" "$QEMU/lib64/ld-linux-x86-64.so.2" --library-path "$QEMU/usr/lib/x86_64-linux-gnu" \
		"$QEMU/usr/bin/qemu-system-x86_64" -L "$QEMU/usr/share/seabios" -L "$QEMU/usr/share/qemu" \
		-machine pc -accel tcg,thread=single,tb-size=512 -icount shift=2,sleep=off -cpu max,-erms,-fsrm \
		-smp 2 -m 3072 -nic none -display none -no-reboot \
		-serial "file:$out.console" -serial "file:$out" -kernel "$k/vmlinuz" -initrd "$k/initrd.img" "${disk[@]}" \
		-append "console=ttyS0 panic=-1 quiet tsc_early_khz=1000000 mitigations=off nmi_watchdog=0 nowatchdog apparmor=0 ${VM_APPEND-}" \
		</dev/null >"$out.qemu" 2>&1
}
