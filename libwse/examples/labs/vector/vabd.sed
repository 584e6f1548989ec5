# SPDX-License-Identifier: MIT
/^vop VI2F /a\
vop VABD 0x26 binary and_i(sub_f(a, b), word(0x7fffffff)) "L: DST := magnitude of SRC1 - SRC2"
/^	case WSE_TOP_VSUB:/i\
	case WSE_TOP_VABD:\
		return soft_add(a, b ^ 0x80000000u) \& 0x7fffffffu;
