#include <array>

#include "exec/device.h"

namespace motley::exec {

#define MOTLEY_DEVICE(name, create) StatusOr<std::unique_ptr<Device>> create(const DeviceOptions& options);
#include "exec/devices.def"
#undef MOTLEY_DEVICE

std::span<const DeviceRow> device_rows() {
  static constexpr std::array kRows = {
#define MOTLEY_DEVICE(name, create) DeviceRow{name, create},
#include "exec/devices.def"
#undef MOTLEY_DEVICE
  };
  return kRows;
}

}  // namespace motley::exec
