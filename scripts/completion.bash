# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of the wse-* tools: options, words and file names from what their --help says.

_wse() { # PROGRAM CURRENT PREVIOUS
	local help argument words
	COMPREPLY=()
	help=$("${1/#\~/$HOME}" --help 2>/dev/null) || return
	if [[ $2 = -* ]]; then
		words=$(grep -oE -- '--[a-z][a-z_-]*' <<<"$help" | sort -u)
	elif [[ $3 = --* ]]; then
		# "--model func|rtl": either; "--mode M   one (default), two": as listed;
		# "--only NAME  one of those below": those, which begin lines
		argument=$(grep -oE -m1 -- "(^|[ [])$3 [^ ].*" <<<"$help" | sed "s/^.*$3 //")
		words=${argument%% *}
		if [[ $argument = *'one of those below'* ]]; then
			words=$(sed -n 's/^  \([a-z][a-z0-9_]*\) .*/\1/p' <<<"$help")
		elif [[ $words != *\|* ]]; then
			words=$(sed -nE 's/^[A-Z]+ +//; s/ \(default\)//
				/^[a-z_]+(, [a-z_]+)+$/s/,//gp' <<<"$argument")
		fi
		words=${words//[|,]/ }
	fi
	# shellcheck disable=SC2207 # words have no blanks
	COMPREPLY=($(compgen -W "${words:-}" -- "$2"))
}
# no words: file names
complete -o default -F _wse wse-train wse-info wse-top wse-bench wse-run wse-emu wse-lockstep
