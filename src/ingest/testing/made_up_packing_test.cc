// A packing is a file and a line in packings.def: with these two, and nothing else, it is found, described, refused and
// survives damaged headers.
#include <gtest/gtest.h>

#include "ingest/describe.h"
#include "ingest/load.h"
#include "ingest/packing.h"
#include "ingest/testing/packed_drafts.h"

namespace motley::ingest::testing {
namespace {

PackedDraft made_up(const std::string& tensor) {
  PackedDraft draft;
  draft.put(tensor);
  return draft;
}

StatusOr<model::Model> load_files(const Files& files) { return load_from(*file_set(files), "", {}); }

TEST(MadeUpPacking, IsInTheRegistry) {
  EXPECT_EQ(packings().back().name, "made up");
  EXPECT_GT(packings().size(), 10u);
}

TEST(MadeUpPacking, IsReadAndInspected) {
  const auto model = load_files(made_up("mirrored F32 32 64").files());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_NE(describe(*model, TensorList::kInclude).dump().find("down_proj.mirrored"), std::string::npos);
}

TEST(MadeUpPacking, IsRefusedByItsOwnChecks) {
  EXPECT_EQ(rejection_site(load_files(made_up("mirrored I32 32 64").files()).status()), "made_up.type");
  EXPECT_EQ(rejection_site(load_files(made_up("mirrored F32 64 32").files()).status()), "made_up.shape");
}

TEST(MadeUpPacking, IsNamedWhereATypeIsRefused) {
  const Status status = load_files(made_up("weight I32 32 64").files()).status();
  EXPECT_EQ(rejection_site(status), "packing.type");
  EXPECT_NE(status.message().find("made up"), std::string::npos) << status;
}

// Each byte of the header in turn becomes a digit, which changes names, shapes and places.
TEST(MadeUpPacking, SurvivesDamagedHeaders) {
  Files files = made_up("mirrored F32 32 64").files();
  const std::string good = files["model.safetensors"];
  const size_t header = good.find("mirrored") + 100;
  for (size_t at = 8; at < header; ++at) {
    files["model.safetensors"] = good;
    files["model.safetensors"][at] = '7';
    (void)load_files(files);
  }
}

}  // namespace
}  // namespace motley::ingest::testing
