// Typed access to a configuration that remembers what was read, so that nothing in it goes unread by accident:
// afterwards every other key must be known to be inert, be at the value that changes nothing, or be reported.
// docs/decisions/configuration-keys.md says why.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace motley::arch {

// A key that changes results in a way this family does not compute, except at `neutral` (and null and false).
struct NeutralKey {
  std::string_view key;
  double neutral;
};

// Threads: one. Lifetime: `tree` outlives it.
class ConfigReader {
 public:
  // `prefix` goes before every key that is asked for: "llama." in GGUF.
  ConfigReader(const Json& tree, std::string file, std::string prefix = "")
      : tree_(tree), file_(std::move(file)), prefix_(std::move(prefix)) {}

  // nullopt (or nullptr) when the key is absent or null. Rejects ("config.type") a value of another kind.
  StatusOr<std::optional<uint32_t>> count(std::string_view key);
  StatusOr<std::optional<double>> number(std::string_view key);
  StatusOr<std::optional<bool>> flag(std::string_view key);
  StatusOr<std::optional<std::string>> text(std::string_view key);
  const Json* value(std::string_view key);
  // Whether the key stands there at all, be it null.
  bool has(std::string_view key) const { return tree_.find(prefix_ + std::string(key)) != nullptr; }

  // Rejects ("config.missing") when absent.
  StatusOr<uint32_t> required_count(std::string_view key);
  StatusOr<double> required_number(std::string_view key);

  // "FILE key llama.block_count".
  std::string where(std::string_view key) const;

  struct Rules {
    std::span<const std::string_view> inert;  // patterns with '*'
    std::span<const NeutralKey> neutral;      // patterns with '*', of keys without the prefix
  };
  // Rejects a key of `rules.neutral` at another value ("config.unsupported"), and an unknown key whose name speaks of
  // arithmetic
  // ("config.unread"). Appends a note for each other unknown key.
  Status account_for_rest(const Rules& rules, std::vector<std::string>& notes) const;

 private:
  Status account_for(const std::string& key, const Json& value, const Rules& rules,
                     std::vector<std::string>& notes) const;

  const Json& tree_;
  std::string file_;
  std::string prefix_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace motley::arch
