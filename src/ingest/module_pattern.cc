#include "ingest/module_pattern.h"

#include "re2/re2.h"

namespace motley::ingest {

StatusOr<bool> matches_at_start(const std::string& pattern, std::string_view text, std::string_view where) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  const RE2 regex(pattern, options);
  REJECT_IF(!regex.ok(), "methods.pattern", where, "a regular expression over module names", pattern.substr(0, 80));
  return regex.ok() &&
         regex.Match(re2::StringPiece(text.data(), text.size()), 0, text.size(), RE2::ANCHOR_START, nullptr, 0);
}

}  // namespace motley::ingest
