// Quantised checkpoints of kinds that motley does not hold: refused by the name of their format before anything is
// bound, so that a person learns what it is and not which tensor was strange.
#pragma once

#include "base/status.h"
#include "ingest/container.h"

namespace motley::ingest {

// Rejects by the names of tensors ("foreign.tensor").
Status refuse_foreign_quantisation(const Container& container);

}  // namespace motley::ingest
