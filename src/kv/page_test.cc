#include "gtest/gtest.h"
#include "kv/page_pool.h"
#include "kv/page_table.h"

namespace motley::kv {
namespace {

constexpr uint32_t kPageTokens = 4;

TEST(PagePool, GivesEachPageOnceAndTakesItBack) {
  auto pool = PagePool::create(4096, 2);
  ASSERT_TRUE(pool.ok());
  const PageId first = *pool->allocate();
  const PageId second = *pool->allocate();
  EXPECT_NE(first, second);
  EXPECT_EQ(pool->allocate().status().code(), absl::StatusCode::kResourceExhausted);
  pool->release(first);
  EXPECT_EQ(*pool->allocate(), first);
}

TEST(PageTable, GrowsByPagesAndShrinksBack) {
  auto pool = PagePool::create(64, 4);
  PageTable table(kPageTokens);
  ASSERT_TRUE(table.reserve(*pool, 5).ok());
  table.commit(5);
  EXPECT_EQ(table.pages().size(), 2u);
  ASSERT_TRUE(table.reserve(*pool, 8).ok());
  EXPECT_EQ(table.pages().size(), 2u);
  table.truncate(*pool, 4);
  EXPECT_EQ(table.pages().size(), 1u);
  table.clear(*pool);
  EXPECT_EQ(pool->free_pages(), 4u);
}

TEST(PageTable, AnErrorChangesNothing) {
  auto pool = PagePool::create(64, 2);
  PageTable table(kPageTokens);
  ASSERT_TRUE(table.reserve(*pool, 4).ok());
  table.commit(4);
  EXPECT_EQ(table.reserve(*pool, 13).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(table.pages().size(), 1u);
  EXPECT_EQ(pool->free_pages(), 1u);
}

TEST(PageTable, AForkSharesUntilItWrites) {
  auto pool = PagePool::create(64, 4);
  PageTable parent(kPageTokens);
  ASSERT_TRUE(parent.reserve(*pool, 6).ok());
  parent.commit(6);
  pool->data(parent.pages()[1])[0] = std::byte{42};

  PageTable child = parent.fork(*pool, 5);
  EXPECT_EQ(child.pages()[1], parent.pages()[1]);
  EXPECT_EQ(pool->free_pages(), 2u);

  ASSERT_TRUE(child.reserve(*pool, 6).ok());  // the half-filled page becomes its own
  EXPECT_EQ(child.pages()[0], parent.pages()[0]);
  EXPECT_NE(child.pages()[1], parent.pages()[1]);
  EXPECT_EQ(pool->data(child.pages()[1])[0], std::byte{42});

  child.clear(*pool);
  parent.clear(*pool);
  EXPECT_EQ(pool->free_pages(), 4u);
}

TEST(PageTable, AForkAtAPageBorderCopiesNothing) {
  auto pool = PagePool::create(64, 3);
  PageTable parent(kPageTokens);
  ASSERT_TRUE(parent.reserve(*pool, 4).ok());
  parent.commit(4);
  PageTable child = parent.fork(*pool, 4);
  ASSERT_TRUE(child.reserve(*pool, 5).ok());
  EXPECT_EQ(child.pages()[0], parent.pages()[0]);
}

}  // namespace
}  // namespace motley::kv
