#include "base/status.h"

#include "absl/strings/cord.h"

namespace motley {
namespace {

constexpr std::string_view kSitePayload = "motley/site";

}  // namespace

Status reject(const Rejection& rejection) {
  // A check that has nothing to fall back on when a test switches it off still ends in an error, but in another one.
  if (!check_enabled(rejection.site)) return absl::InternalError("a check is switched off");
  Status status = absl::InvalidArgumentError(
      fmt::format("{}: expected {}, got {}", rejection.where, rejection.expected, rejection.got));
  status.SetPayload({kSitePayload.data(), kSitePayload.size()},
                    absl::Cord({rejection.site.data(), rejection.site.size()}));
  return status;
}

std::string rejection_site(const Status& status) {
  auto payload = status.GetPayload({kSitePayload.data(), kSitePayload.size()});
  return payload ? std::string(*payload) : std::string();
}

Status annotate(const Status& status, std::string_view context) {
  if (status.ok()) return status;
  Status result(status.code(),
                fmt::format("{}: {}", context, std::string_view(status.message().data(), status.message().size())));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { result.SetPayload(url, payload); });
  return result;
}

#ifdef MOTLEY_CHECK_SWITCHES
namespace {

std::string& disabled_check() {
  static std::string site;
  return site;
}

}  // namespace

bool check_enabled(std::string_view site) { return site != disabled_check(); }
void set_disabled_check(std::string_view site) { disabled_check() = std::string(site); }
#endif

}  // namespace motley
