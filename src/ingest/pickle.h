// Python pickles, read as data: what they would build becomes a tree of plain values. Nothing is imported and nothing
// is called; a call of a function that the caller did not list is refused by its name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/bounded_reader.h"
#include "base/status.h"

namespace motley::ingest {

// Values refer to each other by number, so that one may be met in many places; a list can even hold itself, so whoever
// walks over the tree has to bound its steps.
struct Pickle {
  using Ref = uint32_t;
  struct None {};
  struct Long {  // an integer of more than 64 bits, lowest byte first
    std::string bytes;
  };
  struct Sequence {  // a tuple, a list or a set
    std::vector<Ref> items;
  };
  struct Dict {
    std::vector<std::pair<Ref, Ref>> items;
  };
  struct Global {  // a name that was not called: "torch.float16"
    std::string name;
  };
  struct Call {
    std::string function;
    Ref arguments = 0;  // a Sequence
  };
  struct Persistent {  // something outside the pickle
    Ref id = 0;
  };
  using Value = std::variant<None, bool, int64_t, double, std::string, Long, Sequence, Dict, Global, Call, Persistent>;

  std::vector<Value> values;
  Ref root = 0;

  template <typename T>
  const T* get(Ref ref) const {
    return std::get_if<T>(&values[ref]);
  }
};

// One pickle from `in`, up to and with its STOP. `callables` are the functions ("torch._utils._rebuild_tensor_v2")
// whose calls are kept; collections.OrderedDict is a Dict in any case. Rejects ("pickle.*") opcodes that data does not
// need.
StatusOr<Pickle> read_pickle(BoundedReader& in, std::span<const std::string_view> callables);

}  // namespace motley::ingest
