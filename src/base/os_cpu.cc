#include <hwloc.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "base/cpu.h"

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace motley {
namespace {

// Processors' worth of time that the cgroup grants, or `otherwise` when there is no limit (v2, then v1).
double cgroup_quota(double otherwise) {
  std::string quota;
  double period = 0;
  if (std::ifstream file("/sys/fs/cgroup/cpu.max"); file >> quota >> period && quota != "max" && period > 0)
    return std::stod(quota) / period;
  double quota_us = 0;
  std::ifstream quota_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), period_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (quota_file >> quota_us && period_file >> period && quota_us > 0 && period > 0) return quota_us / period;
  return otherwise;
}

struct Counts {
  uint32_t processors = 1;
  uint32_t cores = 1;
};

uint32_t count_within(hwloc_topology_t topology, hwloc_const_cpuset_t allowed, hwloc_obj_type_t type) {
  uint32_t count = 0;
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr;)
    if (hwloc_bitmap_intersects(object->cpuset, allowed)) ++count;
  return std::max(count, 1u);
}

Counts count_processors() {
  // hwloc tells standard error when there is no /sys, as in a bare chroot; it still counts the processors.
  setenv("HWLOC_HIDE_ERRORS", "2", 0);
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return {};
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> guard(topology, hwloc_topology_destroy);
  if (hwloc_topology_load(topology) != 0) return {};
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> allowed(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  if (hwloc_get_cpubind(topology, allowed.get(), HWLOC_CPUBIND_PROCESS) != 0)
    hwloc_bitmap_copy(allowed.get(), hwloc_topology_get_allowed_cpuset(topology));
  return {count_within(topology, allowed.get(), HWLOC_OBJ_PU), count_within(topology, allowed.get(), HWLOC_OBJ_CORE)};
}

const Counts& counts() {
  static const Counts result = [] {
    Counts found = count_processors();
    const auto paid = static_cast<uint32_t>(std::max(1.0, std::ceil(cgroup_quota(found.processors))));
    return Counts{std::min(found.processors, paid), std::min(found.cores, paid)};
  }();
  return result;
}

}  // namespace

uint32_t default_threads() { return counts().cores; }
uint32_t usable_processors() { return counts().processors; }

bool cpu_has_arm_dotprod() {
#if defined(__aarch64__) && defined(__APPLE__)
  return true;  // every Apple silicon has it
#elif defined(__aarch64__) && defined(__linux__)
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
  return false;
#endif
}

}  // namespace motley
