// For methods that say little more than which modules they left alone.
#pragma once

#include "ingest/packing_claim.h"

namespace motley::ingest::methods {

class PlainLists final : public PackingClaims {
 public:
  PackingClaim packed;
  std::vector<std::string> plain;      // names, as names_module() reads them
  std::vector<std::string> wildcards;  // whole names with '*'

  StatusOr<PackingClaim> about(const ModuleName& module) const override {
    for (const std::string& pattern : wildcards)
      if (arch::glob_matches(pattern, module.stored) || arch::glob_matches(pattern, module.canonical))
        return PackingClaim{.plain = true};
    return names_module(plain, module) ? PackingClaim{.plain = true} : packed;
  }
};

}  // namespace motley::ingest::methods
