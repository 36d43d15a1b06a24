// Facts about the processors this process may use.
#pragma once

#include <cstdint>

namespace motley {

// Threads worth starting: one a physical core among the processors that the affinity mask allows, and no more than the
// cgroup quota pays for. At least 1.
uint32_t default_threads();

// Logical processors that the affinity mask and the cgroup quota allow: the most threads that can run at once. At
// least 1.
uint32_t usable_processors();

// Whether this Arm processor has the dot-product instructions (SDOT, UDOT). False elsewhere.
bool cpu_has_arm_dotprod();

}  // namespace motley
