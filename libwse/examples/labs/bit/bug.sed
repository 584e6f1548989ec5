# SPDX-License-Identifier: MIT
/^static inline uint16_t twin_bf16_round(/,/^}/s/0x7fff/0x8000/
