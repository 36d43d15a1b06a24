// What torch.save wrote: a zip archive with a pickle and the bytes of its tensors, or the older sequence of pickles.
// The pickle is read as data (pickle.h); nothing in it is ever run. Not for TorchScript or for pickled modules.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/json.h"
#include "base/status.h"
#include "ingest/container.h"

namespace motley::ingest {

// Adds the tensors of `source` to `tensors`, and everything else in its dicts to `attributes`. Nested dicts are
// flattened: {"a": {"W_q": tensor, "nbits": 4}} is the tensor "a.W_q" and the attribute "a.nbits". Rejects ("torch.*")
// tensors that reach outside their storage or are not row-major.
Status read_torch(const std::shared_ptr<const ByteSource>& source, std::vector<Tensor>& tensors,
                  Attributes& attributes);

// Whether a file begins as torch.save begins one, now or before version 1.6.
bool begins_like_torch(const ByteSource& source);

}  // namespace motley::ingest
