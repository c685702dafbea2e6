#include "profiler_agent/measure/poison.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "model/kernel/argument.h"

namespace wavetune {
namespace {

constexpr ElementType kIntegers[] = {ElementType::kInt32, ElementType::kInt64};

template <typename T>
T ElementAt(const std::string& bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

// Three integer outputs, as they are after a launch on each poison.
class Launches {
 public:
  explicit Launches(ElementType type)
      : type_(type),
        on_poison_(PoisonValues(type, 3)),
        on_other_(OtherPoison(type, 3)) {
    for (size_t i = 0; i < 3; ++i) Write(i, i == 0 ? 0 : -1);
  }

  // Computes `value` into an element, whatever it held.
  void Write(size_t index, int64_t value) {
    Put(on_poison_, index, value);
    Put(on_other_, index, value);
  }
  // Leaves an element's byte as it was.
  void LeaveAlone(size_t index, size_t byte) {
    const size_t at = index * ElementBytes(type_) + byte;
    on_poison_[at] = PoisonValues(type_, 3)[at];
    on_other_[at] = OtherPoison(type_, 3)[at];
  }
  // Adds `value` to what an element's integer of type T at `byte` held.
  template <typename T>
  void Add(size_t index, size_t byte, T value) {
    const size_t at = index * ElementBytes(type_) + byte;
    AddTo(on_poison_, PoisonValues(type_, 3), at, value);
    AddTo(on_other_, OtherPoison(type_, 3), at, value);
  }

  int64_t First() const {
    return FirstThatFollowsPoison(type_, on_poison_, on_other_);
  }

 private:
  void Put(std::string& bytes, size_t index, int64_t value) {
    // Little-endian, as everywhere.
    std::memcpy(bytes.data() + index * ElementBytes(type_), &value,
                ElementBytes(type_));
  }
  template <typename T>
  static void AddTo(std::string& bytes, const std::string& held, size_t at,
                    T value) {
    T sum;
    std::memcpy(&sum, held.data() + at, sizeof(T));
    sum += value;
    std::memcpy(bytes.data() + at, &sum, sizeof(T));
  }

  const ElementType type_;
  std::string on_poison_;
  std::string on_other_;
};

TEST(PoisonTest, IsNaNOrTheLeastInteger) {
  const std::string floats = PoisonValues(ElementType::kFloat32, 2);
  ASSERT_EQ(floats.size(), 8u);
  EXPECT_TRUE(std::isnan(ElementAt<float>(floats, 1)));
  const std::string halves = PoisonValues(ElementType::kBfloat16, 2);
  ASSERT_EQ(halves.size(), 4u);
  // All of the exponent, and a part of the mantissa.
  EXPECT_EQ(ElementAt<uint16_t>(halves, 1), 0x7fc0);
  EXPECT_EQ(ElementAt<int32_t>(PoisonValues(ElementType::kInt32, 2), 1),
            std::numeric_limits<int32_t>::min());
  EXPECT_EQ(ElementAt<int64_t>(PoisonValues(ElementType::kInt64, 2), 1),
            std::numeric_limits<int64_t>::min());
}

TEST(PoisonTest, NoByteOfAnIntegerIsAlikeInBothPoisons) {
  for (const ElementType type : kIntegers) {
    const std::string poison = PoisonValues(type, 3);
    const std::string other = OtherPoison(type, 3);
    ASSERT_EQ(poison.size(), 3 * ElementBytes(type));
    ASSERT_EQ(other.size(), poison.size());
    for (size_t i = 0; i < poison.size(); ++i) EXPECT_NE(poison[i], other[i]);
  }
}

TEST(PoisonTest, WhatIsComputedFollowsNone) {
  for (const ElementType type : kIntegers) {
    Launches launches(type);
    EXPECT_EQ(launches.First(), -1);
    // Poison itself, too, where it is what is right.
    launches.Write(1, type == ElementType::kInt32
                          ? std::numeric_limits<int32_t>::min()
                          : std::numeric_limits<int64_t>::min());
    EXPECT_EQ(launches.First(), -1);
  }
}

TEST(PoisonTest, OneByteThatIsLeftAloneFollowsIt) {
  for (const ElementType type : kIntegers) {
    for (size_t byte = 0; byte < ElementBytes(type); ++byte) {
      Launches launches(type);
      launches.LeaveAlone(1, byte);
      EXPECT_EQ(launches.First(), 1) << byte;
    }
  }
}

TEST(PoisonTest, TheFirstOfSeveralIsNamed) {
  Launches launches(ElementType::kInt32);
  launches.LeaveAlone(2, 3);
  EXPECT_EQ(launches.First(), 2);
  launches.LeaveAlone(0, 1);
  EXPECT_EQ(launches.First(), 0);
}

TEST(PoisonTest, WhatIsAddedToFollowsIt) {
  for (const uint32_t added : {1u, 77u, 0x89abcdefu}) {
    Launches narrow(ElementType::kInt32);
    narrow.Add<uint32_t>(1, 0, added);
    EXPECT_EQ(narrow.First(), 1) << added;
    // A half alone, where the other is computed.
    Launches half(ElementType::kInt64);
    half.Add<uint32_t>(2, 4, added);
    EXPECT_EQ(half.First(), 2) << added;
  }
  // It carries into the other half.
  Launches wide(ElementType::kInt64);
  wide.Add<uint64_t>(1, 0, 0xfedcba98u);
  EXPECT_EQ(wide.First(), 1);
}

}  // namespace
}  // namespace wavetune
