// From a spec and its weights to blocks on one device. Uploads as it goes, in the order in which the network uses the
// weights.
#pragma once

#include "exec/block.h"
#include "exec/device.h"

namespace motley::exec {

// NotFound when `weights` lacks a role that the range needs; otherwise the errors of Device::upload.
StatusOr<std::vector<Block>> lower(const model::Spec& spec, const BlockRange& range, const model::WeightSource& weights,
                                   Device& device);

}  // namespace motley::exec
