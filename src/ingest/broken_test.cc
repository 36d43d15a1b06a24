// Every fault that a checkpoint can have is one row: refused in one line, by the check that is there for it, and by
// none other.
#include <gtest/gtest.h>

#include <set>

#include "ingest/testing/broken.h"

#ifdef MOTLEY_CHECK_SWITCHES
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace motley::ingest::testing {
namespace {

Status outcome(const BrokenInput& row) {
  const auto files = file_set(row.files());
  return load_from(*files, row.focus, row.options).status();
}

TEST(BrokenInputs, TheDraftsAreGoodBeforeTheyAreBent) {
  const auto gguf = load_from(*file_set({{"model.gguf", GgufDraft::good().text()}}), "", {});
  EXPECT_TRUE(gguf.ok()) << gguf.status();
  for (const std::string_view name :
       {"tiny/untied-hf", "tiny/sharded-hf", "mlx-affine-4bit-g64", "hf-f16", "stories260K"}) {
    const auto model = load_from(*file_set(read_model(name)), "", {});
    EXPECT_TRUE(model.ok()) << name << ": " << model.status();
  }
}

TEST(BrokenInputs, EachIsRefusedInOneLineByItsOwnCheck) {
  for (const BrokenInput& row : broken_inputs()) {
    const Status status = outcome(row);
    EXPECT_EQ(rejection_site(status), row.site) << row.what << ": " << status;
    EXPECT_EQ(status.message().find('\n'), std::string::npos) << row.what;
    EXPECT_NE(status.message().find(": expected "), std::string::npos) << row.what << ": " << status;
  }
}

TEST(BrokenInputs, NoTwoRowsHitTheSameCheck) {
  std::set<std::string> sites;
  for (const BrokenInput& row : broken_inputs()) EXPECT_TRUE(sites.insert(row.site).second) << row.site << " twice";
  EXPECT_GE(sites.size(), 250u);
}

#ifdef MOTLEY_CHECK_SWITCHES
// Exit status of a child that runs the row with its check off: kSame only when the check still speaks.
constexpr int kSame = 77;

int outcome_without_check(const BrokenInput& row) {
  const pid_t child = fork();
  if (child == 0) {
    close(STDERR_FILENO);  // a crash is a fine outcome here, and loud
    set_disabled_check(row.site);
    _exit(rejection_site(outcome(row)) == row.site ? kSame : 0);
  }
  int state = 0;
  waitpid(child, &state, 0);
  return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

TEST(BrokenInputs, WithItsCheckOffARowIsNotRefusedByIt) {
  for (const BrokenInput& row : broken_inputs())
    EXPECT_NE(outcome_without_check(row), kSame) << row.site << ": " << row.what;
}
#endif

}  // namespace
}  // namespace motley::ingest::testing
