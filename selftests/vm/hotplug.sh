# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # variables shared with run
# Sourced by run: devices that come and go while the guest runs, through QEMU's QMP.
# Needs from run: tmp, devices, emu_pids, start_emu(), wait_emu(), reap().

hotplug_begin() { # before QEMU starts; its arguments in ${qmp_args[@]}
	mkfifo "$tmp/qmp.in" "$tmp/qmp.out"
	exec 7<>"$tmp/qmp.out" 8<>"$tmp/qmp.in"
	qmp_args=(-chardev "pipe,id=qmp,path=$tmp/qmp" -mon "chardev=qmp,mode=control")
}

device_json() { # NUMBER [EXTRA_MEMBERS]
	# x-msg-timeout: a late answer would cut the device off for good, so late must mean dead
	local json="{\"driver\":\"vfio-user-pci\",\"id\":\"wse$1\",\"x-msg-timeout\":300000,"
	echo "$json\"socket\":{\"type\":\"unix\",\"path\":\"$tmp/wse$1.sock\"}${2:-}}"
}

# qmp_wait WORD: the next message with "WORD" in $message; 1 on an error reply or after 30 s
qmp_wait() {
	local end=$((SECONDS + 30))
	while [ $SECONDS -lt $end ]; do
		if ! read -r -t 1 message <&7; then continue; fi
		case $message in
		*"\"$1\""*) return 0 ;;
		*'"error"'*) return 1 ;;
		esac
	done
	message='no answer from QEMU, or the guest does not let the device go'
	return 1
}

qmp() { # JSON
	echo "$1" >&8
	qmp_wait return
}

hotplug_connect() { # once QEMU runs
	if ! qmp '{"execute":"qmp_capabilities"}'; then die "QMP: $message"; fi
}

unplug() { # NUMBER: as a person who pulls the card after asking the guest; answers the guest
	# the event may come before the reply to the command: wait for it alone
	echo "{\"execute\":\"device_del\",\"arguments\":{\"id\":\"wse$1\"}}" >&8
	if ! qmp_wait DEVICE_DELETED; then
		echo "error $message"
		return
	fi
	if [ -n "${emu_pids[$1]}" ]; then
		kill "${emu_pids[$1]}" || :
		reap "${emu_pids[$1]}" 100
		emu_pids[$1]=
	fi
	rm -f "$tmp/wse$1.sock"
	echo ok
}

plug() { # NUMBER: a new card, hence a new server, in the same slot
	if [ -n "${emu_pids[$1]}" ]; then
		echo "error device $1 is plugged in"
		return
	fi
	start_emu "$1" "${devices[$1]}"
	wait_emu "$1"
	local card
	card=$(device_json "$1" ",\"bus\":\"slot$1\"")
	if qmp "{\"execute\":\"device_add\",\"arguments\":$card}"; then
		echo ok
	else
		echo "error $message"
	fi
}
