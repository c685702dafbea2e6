#include "server/rpc/table_answers.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/support/slice.h"
#include "gtest/gtest.h"
#include "model/table/table_codec.h"
#include "proto/wavetune/v1/table_service.pb.h"
#include "tests/lib/tiny_table.h"

namespace wavetune {
namespace {

FoundTable Tiny() {
  FoundTable found;
  found.info.set_kernel("add");
  found.info.set_epoch(3);
  (*found.info.mutable_default_faults())["relu"] = "wrong results";
  found.table =
      CompiledTable::Create(EncodeTable(testing::TinyTable()).value()).value();
  return found;
}

std::string Flat(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(bytes.Dump(&slices).ok());
  std::string flat;
  for (const grpc::Slice& slice : slices)
    flat.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return flat;
}

TEST(TableAnswersTest, AreTheBytesOfTheMessage) {
  FoundTable found = Tiny();
  v1::GetTableResponse message;
  *message.mutable_info() = found.info;
  message.set_payload(found.table->payload());
  EXPECT_EQ(Flat(ToReadableBytes(found)), message.SerializeAsString());
}

TEST(TableAnswersTest, DoNotCopyThePayload) {
  FoundTable found = Tiny();
  const grpc::ByteBuffer bytes = ToReadableBytes(found);
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(bytes.Dump(&slices).ok());
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(reinterpret_cast<const char*>(slices[1].begin()),
            found.table->payload().data());
}

TEST(TableAnswersTest, KeepTheTableUntilTheyAreSent) {
  FoundTable found = Tiny();
  const std::weak_ptr<const CompiledTable> table = found.table;
  {
    const grpc::ByteBuffer bytes = ToReadableBytes(found);
    found.table = nullptr;
    EXPECT_FALSE(table.expired());
  }
  EXPECT_TRUE(table.expired());
}

TEST(TableAnswersTest, EscapeForeignText) {
  FoundTable found = Tiny();
  found.info.set_stale_reason("driver \xff");
  grpc::ByteBuffer bytes = ToReadableBytes(found);
  v1::GetTableResponse parsed;
  ASSERT_TRUE(grpc::SerializationTraits<v1::GetTableResponse>::Deserialize(
                  &bytes, &parsed)
                  .ok());
  EXPECT_EQ(parsed.info().stale_reason(), "driver \\xff");
}

grpc::ByteBuffer Asked(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

AnswerBasis BasisWith(const FoundTable& found) {
  auto snapshot = std::make_shared<TableSnapshot>();
  snapshot->tables.push_back({{}, found.table});
  return {.snapshot = std::move(snapshot)};
}

TEST(TableAnswersTest, AKeptAnswerIsTheOneThatWasFound) {
  FoundTable found = Tiny();
  const AnswerBasis basis = BasisWith(found);
  TableAnswers answers;
  EXPECT_FALSE(answers.Find(basis, Asked("add")));
  answers.Keep(basis, Asked("add"), found);
  const auto kept = answers.Find(basis, Asked("add"));
  ASSERT_TRUE(kept);
  EXPECT_EQ(Flat(*kept), Flat(ToReadableBytes(found)));
  EXPECT_FALSE(answers.Find(basis, Asked("gemm")));
}

TEST(TableAnswersTest, NothingIsAnsweredFromBeforeAChange) {
  FoundTable found = Tiny();
  const AnswerBasis basis = BasisWith(found);
  TableAnswers answers;
  answers.Keep(basis, Asked("add"), found);
  AnswerBasis other = basis;
  other.devices = 1;
  EXPECT_FALSE(answers.Find(other, Asked("add")));
  other = basis;
  other.kernels = 1;
  EXPECT_FALSE(answers.Find(other, Asked("add")));
  other = basis;
  other.default_faults = 1;
  EXPECT_FALSE(answers.Find(other, Asked("add")));
  EXPECT_FALSE(answers.Find(BasisWith(found), Asked("add")));
  EXPECT_TRUE(answers.Find(basis, Asked("add")));
}

TEST(TableAnswersTest, OnlyWhatServesIsKeptAndNoLongerThanItServes) {
  FoundTable found = Tiny();
  FoundTable replaced = Tiny();
  AnswerBasis basis = BasisWith(found);
  TableAnswers answers;
  answers.Keep(basis, Asked("digest"), replaced);
  EXPECT_FALSE(answers.Find(basis, Asked("digest")));
  answers.Keep(basis, Asked("add"), found);
  const std::weak_ptr<const CompiledTable> table = found.table;
  const std::weak_ptr<const TableSnapshot> snapshot = basis.snapshot;
  found.table = nullptr;
  basis.snapshot = nullptr;
  EXPECT_TRUE(table.expired());
  EXPECT_TRUE(snapshot.expired());
}

TEST(TableAnswersTest, ManyDifferentRequestsTakeNoMoreThanTheirRoom) {
  FoundTable found = Tiny();
  const AnswerBasis basis = BasisWith(found);
  TableAnswers answers;
  size_t kept = 0;
  for (size_t i = 0; i < 3 * TableAnswers::kMostKept; ++i)
    answers.Keep(basis, Asked(absl::StrCat("kernel ", i)), found);
  for (size_t i = 0; i < 3 * TableAnswers::kMostKept; ++i) {
    if (answers.Find(basis, Asked(absl::StrCat("kernel ", i)))) ++kept;
  }
  EXPECT_LE(kept, TableAnswers::kMostKept);
  EXPECT_GT(kept, 0u);
  const grpc::ByteBuffer large =
      Asked(std::string(TableAnswers::kMostAskedBytes + 1, 'x'));
  answers.Keep(basis, large, found);
  EXPECT_FALSE(answers.Find(basis, large));
}

}  // namespace
}  // namespace wavetune
