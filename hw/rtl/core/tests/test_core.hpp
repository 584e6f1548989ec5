// SPDX-License-Identifier: MIT
// Shared by the files of the core's block test.
#ifndef WSE_TEST_CORE_HPP
#define WSE_TEST_CORE_HPP
#include "core_tb.hpp"
#include "twin/exact/fp.h"
#include "rtl/tests/tap.hpp"

extern Tap tap;

constexpr uint32_t DATA = 0x4000;		// SRAM offset of operands

inline uint32_t shape(uint32_t len, int32_t stride) { return len | uint32_t(stride) << 16; }
inline uint32_t mem(uint32_t dt) { return WSE_KIND_MEM | dt << 4; }
inline void load(CoreTb &t, const Asm &a) { t.write(0, a.w.data(), a.w.size() * 4); }

// a float: all exponents, special ones and near-ties often
uint32_t any(CoreTb &t);
inline uint16_t any_bf16(CoreTb &t) { return any(t) >> 16; }
uint32_t word(CoreTb &t, uint32_t addr);	// of SRAM

// test_core_lanes.cpp
void test_arithmetic(CoreTb &t, unsigned rounds);
void test_vector_kinds(CoreTb &t);
void test_axpy(CoreTb &t);
void test_dot(CoreTb &t);
void test_dot_products(CoreTb &t, unsigned rounds);
void test_rates(CoreTb &t);
// test_core_movers.cpp
void test_movers(CoreTb &t);
void test_faults(CoreTb &t);
// test_core_scalar.cpp
void test_service(CoreTb &t);
void test_scalar(CoreTb &t);
void test_sends(CoreTb &t);
void test_tasks(CoreTb &t);
void test_public(CoreTb &t);
#endif
