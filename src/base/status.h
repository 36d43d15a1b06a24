// How motley reports failure: absl::Status and absl::StatusOr everywhere, one TRY macro, and REJECT_IF for everything
// that comes from outside (files, network, flags). We throw nowhere.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fmt/format.h"

namespace motley {

using absl::Status;
using absl::StatusOr;

// What was wrong with bytes that we did not write. `site` names the check ("gguf.tensor_offset"): it is unique in the
// program, tests ask for it, and it never reaches a person unless they want it (it travels as a payload, not in the
// message). `where` is the file, with the tensor or key when there is one.
struct Rejection {
  std::string_view site;
  std::string where;
  std::string expected;
  std::string got;
};

// InvalidArgument with the one-line message "WHERE: expected EXPECTED, got GOT".
Status reject(const Rejection& rejection);

// The site of the check that made this status, or "" when it was not a rejection.
std::string rejection_site(const Status& status);

// Prepends "context: " to the message and keeps code and payloads. Used where an error crosses a module.
Status annotate(const Status& status, std::string_view context);

// True, except in builds with MOTLEY_CHECK_SWITCHES when a test has named this site in set_disabled_check().
#ifdef MOTLEY_CHECK_SWITCHES
bool check_enabled(std::string_view site);
void set_disabled_check(std::string_view site);
#else
constexpr bool check_enabled(std::string_view /*site*/) { return true; }
#endif

namespace status_internal {
inline const Status& to_status(const Status& status) { return status; }
template <typename T>
const Status& to_status(const StatusOr<T>& status_or) {
  return status_or.status();
}
}  // namespace status_internal

}  // namespace motley

// REJECT_IF(bad, "site", where, fmt of expected, got): returns a rejection from the enclosing function when `bad`
// holds. `where`, `expected` and `got` are evaluated only then. A check guards memory safety too: nothing behind it may
// be touched before it passed.
#define REJECT_IF(bad, site_name, where_text, expected_text, got_text) \
  do {                                                                 \
    if (::motley::check_enabled(site_name) && (bad))                   \
      return ::motley::reject({.site = (site_name),                    \
                               .where = std::string(where_text),       \
                               .expected = std::string(expected_text), \
                               .got = fmt::format("{}", got_text)});   \
  } while (false)

// TRY(expression) returns early when a Status or StatusOr is not OK; TRY(declaration, expression) also keeps the value:
//   TRY(auto header, read_header(source));
#define TRY(...) MOTLEY_TRY_PICK(__VA_ARGS__, MOTLEY_TRY_ASSIGN, MOTLEY_TRY_RETURN, )(__VA_ARGS__)
#define MOTLEY_TRY_PICK(a, b, macro, ...) macro
#define MOTLEY_TRY_RETURN(expression)                                                            \
  do {                                                                                           \
    auto&& motley_try_result = (expression);                                                     \
    if (!motley_try_result.ok()) return ::motley::status_internal::to_status(motley_try_result); \
  } while (false)
#define MOTLEY_TRY_ASSIGN(declaration, expression) \
  MOTLEY_TRY_ASSIGN_NAMED(MOTLEY_TRY_CONCAT(motley_try_, __COUNTER__), declaration, expression)
#define MOTLEY_TRY_ASSIGN_NAMED(name, declaration, expression)       \
  auto&& name = (expression);                                        \
  if (!name.ok()) return ::motley::status_internal::to_status(name); \
  declaration = *std::move(name)
#define MOTLEY_TRY_CONCAT(a, b) MOTLEY_TRY_CONCAT_INNER(a, b)
#define MOTLEY_TRY_CONCAT_INNER(a, b) a##b
