// SPDX-License-Identifier: MIT
// What is counted in a cycle, as modules hand it on: 16 bits for each counter of a scope, in the
// order of their IDs.
#ifndef WSE_RTL_COUNTERS_HPP
#define WSE_RTL_COUNTERS_HPP
#include <cstdint>
#include <type_traits>

#include "wse_regs.h"

#define SCOPE_OF(id, scope, ...) scope,
constexpr unsigned counter_scope[] = {WSE_COUNTERS(SCOPE_OF)};
#undef SCOPE_OF

// a counter's place among those of its scope
constexpr unsigned counter_lane(unsigned id)
{
	unsigned n = 0;

	for (unsigned i = 0; i < id; i++)
		n += counter_scope[i] == counter_scope[id];
	return n;
}

// a port of as many lanes as there are is a number of C++, or an array of 32-bit words
template <class Port> uint16_t counter_get(const Port &port, unsigned lane)
{
	if constexpr (std::is_integral_v<Port>)
		return uint16_t(port >> 16 * lane);
	else
		return uint16_t(port[lane / 2] >> 16 * (lane % 2));
}

template <class Port> void counter_put(Port &port, unsigned lane, uint16_t v)
{
	if constexpr (std::is_integral_v<Port>)
		port = Port((port & ~(uint64_t(0xffff) << 16 * lane)) | uint64_t(v) << 16 * lane);
	else
		port[lane / 2] = (port[lane / 2] & ~(0xffffu << 16 * (lane % 2))) |
				 uint32_t(v) << 16 * (lane % 2);
}
#endif
