#include "profiler_agent/measure/element_blocks.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "profiler_agent/measure/buffer_values.h"

namespace wavetune {
namespace {

// Returns a number below `count` >= 1, `count` below 2^32.
size_t Below(size_t count, uint64_t hash) {
  return static_cast<size_t>((hash >> 32) * count >> 32);
}

// Returns the element of each row, in random order (Fisher and Yates).
std::vector<size_t> ElementOfEachRow(const std::vector<int64_t>& rows,
                                     uint64_t seed) {
  std::vector<size_t> elements;
  for (size_t i = 0; i < rows.size(); ++i) {
    elements.insert(elements.end(), static_cast<size_t>(rows[i]), i);
  }
  for (size_t left = elements.size(); left > 1; --left) {
    const uint64_t hash = SplitMixHash(seed + left * 0x9e3779b97f4a7c15u);
    std::swap(elements[left - 1], elements[Below(left, hash)]);
  }
  return elements;
}

int64_t BlocksOf(int64_t rows, int64_t block) {
  return rows / block + (rows % block != 0 ? 1 : 0);
}

int64_t PaddedTotal(const std::vector<int64_t>& rows, int64_t block) {
  int64_t total = 0;
  for (const int64_t own : rows) total += BlocksOf(own, block) * block;
  return total;
}

std::vector<int64_t> PaddedOrder(const std::vector<int64_t>& rows,
                                 int64_t block, size_t elements,
                                 uint64_t seed) {
  const int64_t count = std::accumulate(rows.begin(), rows.end(), int64_t{0});
  std::vector<size_t> next;  // Place of each element's next row.
  int64_t place = 0;
  for (const int64_t own : rows) {
    next.push_back(static_cast<size_t>(place));
    place += BlocksOf(own, block) * block;
  }
  std::vector<int64_t> order(std::max(elements, static_cast<size_t>(place)),
                             count);
  int64_t row = 0;
  for (const size_t element : ElementOfEachRow(rows, seed)) {
    order[next[element]++] = row++;
  }
  order.resize(elements);
  return order;
}

std::vector<int64_t> BlockElements(const std::vector<int64_t>& rows,
                                   int64_t block, size_t elements) {
  std::vector<int64_t> result;
  for (size_t i = 0; i < rows.size(); ++i) {
    result.insert(result.end(), static_cast<size_t>(BlocksOf(rows[i], block)),
                  static_cast<int64_t>(i));
  }
  result.resize(elements, -1);
  return result;
}

}  // namespace

std::vector<int64_t> BlockValues(ElementBlocks::Kind kind,
                                 const std::vector<int64_t>& rows,
                                 int64_t block, size_t elements,
                                 uint64_t seed) {
  switch (kind) {
    case ElementBlocks::Kind::kPaddedOrder:
      return PaddedOrder(rows, block, elements, seed);
    case ElementBlocks::Kind::kBlockElement:
      return BlockElements(rows, block, elements);
    case ElementBlocks::Kind::kPaddedTotal:
      break;
  }
  return std::vector<int64_t>(elements, PaddedTotal(rows, block));
}

}  // namespace wavetune
