# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by run: builds the guest's root file system in a folder and packs it.
# Needs die() and, from fetch, KMODDIR and KRELEASE.

initramfs_begin() { # ROOT
	root=$1
	here=$(dirname "${BASH_SOURCE[0]}")
	busybox=$(command -v busybox) || die "busybox not found: run scripts/setup"
	mkdir -p "$root"/{bin,sbin,lib,lib64,usr/bin,usr/lib,proc,sys,dev,tmp,root,run,etc,vm} \
		"$root"/{modules,lib/firmware}
	cp "$busybox" "$root/bin/busybox"
	# without it a dynamic busybox works too, only larger
	add_libraries "$busybox"
	# busybox's sh runs its own applets whatever PATH says, and would hide programs that were
	# added
	add_path /bin/dash:/bin/sh
	cp "$here/guest-init" "$root/init"
	cp "$here/guest-host" "$root/bin/wse-host"
	echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
	echo 'nobody:x:65534:65534:nobody:/:/bin/false' >>"$root/etc/passwd"
	echo 'root:x:0:' >"$root/etc/group"
	: >"$root/vm/modules"
	: >"$root/vm/modules-early"
	: >"$root/vm/shares"
	: >"$root/vm/env"
}

is_elf() {
	[ "$(head -c 4 "$1" | tr -d '\0')" = $'\x7fELF' ]
}

# All libraries go to /lib, where every loader looks, whatever folder or RUNPATH they had on the
# host.
add_libraries() { # ELF
	local line path
	while read -r line; do
		case $line in
		*'not found'*) die "$1 needs a library that is not there: $line" ;;
		*'=> /'*)
			path=${line#*=> }
			path=${path%% (*}
			if [ ! -e "$root/lib/${path##*/}" ]; then cp -L "$path" "$root/lib/"; fi
			;;
		/*) # the loader: its path is written into the program
			path=${line%% (*}
			mkdir -p "$root$(dirname "$path")"
			if [ ! -e "$root$path" ]; then cp -L "$path" "$root$path"; fi
			;;
		esac
	done < <(ldd "$1" 2>/dev/null || :) # ldd fails for a static program
}

add_path() { # HOSTPATH[:GUESTPATH]
	local from=${1%%:*} to='' f
	if [ "$from" != "$1" ]; then to=${1#*:}; fi
	[ -e "$from" ] || die "--add $from: no such file"
	if [ -z "$to" ]; then
		if [ -f "$from" ] && [ -x "$from" ]; then
			to=/bin/${from##*/}
		else
			to=/root/$(basename "$from")
		fi
	fi
	mkdir -p "$root$(dirname "$to")"
	# never through a link, /bin/sh is one
	if [ -f "$from" ]; then rm -f "$root$to"; fi
	cp -LR --preserve=mode "$from" "$root$to"
	while read -r -d '' f; do
		if is_elf "$f"; then add_libraries "$f"; fi
	done < <(find -L "$from" -type f \( -perm -u+x -o -name '*.so*' \) -print0)
}

# add_kernel_modules LIST NAME...: modules of the guest's own kernel and all they need, in insmod
# order. Unpacked here, since the guest would need longer and busybox knows no xz modules.
add_kernel_modules() {
	local list=$1 name verb ko rest base
	shift
	for name in "$@"; do
		while read -r verb ko rest; do
			if [ "$verb" != insmod ]; then continue; fi # "builtin"
			base=${ko##*/}
			base=${base%%.ko*}.ko
			if [ -e "$root/modules/$base" ]; then continue; fi
			case $ko in
			*.xz) xz -dc "$ko" ;;
			*.zst) zstd -dc "$ko" ;;
			*) cat "$ko" ;;
			esac >"$root/modules/$base"
			echo "/modules/$base" >>"$list"
		done < <(modprobe -d "${KMODDIR%/lib/modules/*}" -C /dev/null \
			-S "$KRELEASE" -D "$name" || echo "fail $name")
		if [ "$verb" = fail ]; then die "kernel $KRELEASE has no module $name"; fi
	done
}

add_module() { # "PATH.ko [ARGUMENTS]"
	local ko=${1%% *} args='' vermagic deps
	if [ "$ko" != "$1" ]; then args=${1#* }; fi
	[ -f "$ko" ] || die "--module $ko: no such file"
	vermagic=$(modinfo -F vermagic "$ko")
	if [ "${vermagic%% *}" != "$KRELEASE" ]; then
		die "$ko was built for kernel ${vermagic%% *}, the guest runs $KRELEASE:" \
			"rebuild it with the KDIR that selftests/vm/fetch prints"
	fi
	deps=$(modinfo -F depends "$ko" | tr , ' ')
	# shellcheck disable=SC2086 # words
	for dep in $deps; do
		if [ ! -e "$root/modules/$dep.ko" ]; then
			add_kernel_modules "$root/vm/modules" "$dep"
		fi
	done
	cp "$ko" "$root/modules/"
	echo "/modules/${ko##*/} $args" >>"$root/vm/modules"
}

add_firmware() { # FILE:NAME
	local to=$root/lib/firmware/${1#*:}
	[ -f "${1%%:*}" ] || die "--firmware ${1%%:*}: no such file"
	mkdir -p "$(dirname "$to")"
	cp "${1%%:*}" "$to"
}

# for the guest's sh: bash's own %q may use forms that sh does not know
quote() {
	local word
	for word in "$@"; do
		printf "'%s' " "${word//\'/\'\\\'\'}"
	done
}

initramfs_pack() { # OUT
	chmod +x "$root/init" "$root/bin/wse-host"
	(cd "$root" && find . -print0 | cpio --quiet -0 -o -H newc -R 0:0) >"$1"
}
