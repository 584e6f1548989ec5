# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# TAP output of a test that is a bash script, which sources this file: ok or skip for each case,
# tap_end at the end; skip_all where no case can run. It exits with 1 if a case failed.

tap_n=0 tap_failed=0 # cases so far, and how many of them failed
tap_cases='' # how many there are, where that is known: with another number the test fails
tap_logs=()  # the logs of a case that names none
tap_lines=20 # so many of each log, the last ones, follow a case that failed, as comments

ok() { # STATUS NAME [LOG...]: status 0 if all is well; a log need not exist
	tap_n=$((tap_n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tap_n - $2"
		return
	fi
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_n - $2"
	shift 2
	[ $# -gt 0 ] || set -- "${tap_logs[@]}"
	[ $# -eq 0 ] || tail -n "$tap_lines" -- "$@" 2>/dev/null |
		LC_ALL=C awk '{ gsub(/\r/, ""); print "# " $0 }'
}

skip() { # NAME WHY: a case that cannot run here
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1 # SKIP $2"
}

skip_all() { # WHY
	echo "1..0 # SKIP $*"
	exit 0
}

tap_end() {
	echo "1..${tap_cases:-$tap_n}"
	[ "${tap_cases:-$tap_n}" = "$tap_n" ] || tap_failed=1
	exit $((tap_failed > 0))
}
