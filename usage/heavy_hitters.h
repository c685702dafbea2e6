// HeavyHitters: the problems asked for most, in bounded memory.
//
// Why: clients ask for millions of problems, few of them again and again.
// Those few are where a profile should spend its samples, and nobody can keep
// a count of all.
//
//   HeavyHitters used(64);
//   used.Add({.extents = {16, 4096, 4096}}, 12);
//   for (const HeavyHitters::Entry& e : used.Top(10)) ...
//
// With capacity c and W = total(), for a problem of true weight w:
//   1. Every problem with w > W / c is among the entries.
//   2. An entry has w <= weight <= w + error, and error <= W / c. Where an
// addition comes from another sketch, w is that one's, and the error that it
// brings (Add) comes on top of W / c.
//
// Source: Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and
// Top-k Elements in Data Streams (ICDT 2005), "SpaceSaving", weighted. What
// lost: counting with decay per entry alone (no bound), and a count-min sketch
// (says how often a problem was asked for, not which were).
//
// Thread safety: plain value.
#ifndef WAVETUNE_USAGE_HEAVY_HITTERS_H_
#define WAVETUNE_USAGE_HEAVY_HITTERS_H_

#include <cstddef>
#include <map>
#include <vector>

#include "wavetune/problem.h"

namespace wavetune {

class HeavyHitters {
 public:
  struct Entry {
    Problem problem;
    double weight = 0;  // Never too low.
    double error = 0;   // By how much at most it is too high.

    friend bool operator==(const Entry&, const Entry&) = default;
  };

  // `capacity`: most entries, at least 1.
  explicit HeavyHitters(size_t capacity);

  // Adds to a problem's weight, of which `error` may be too much already.
  // Ignores a weight that is not finite or not above 0, and takes an error out
  // of [0, weight] for the nearest bound. Cannot fail. Cost: O(log capacity)
  // for a problem that has an entry, else O(capacity).
  void Add(const Problem& problem, double weight, double error = 0);

  // Multiplies all weights, for decay: `factor` in [0, 1]. Entries that become
  // negligible (below 1e-6 of a decision) are dropped.
  void Scale(double factor);

  // Returns at most `count` entries, heaviest first, equal ones by problem: the
  // same on every machine.
  std::vector<Entry> Top(size_t count) const;

  void Clear();
  size_t size() const { return entries_.size(); }
  size_t capacity() const { return capacity_; }
  // The weight of everything that was added, decayed alike.
  double total() const { return total_; }

 private:
  struct Weight {
    double weight = 0;
    double error = 0;
  };

  size_t capacity_;
  double total_ = 0;
  std::map<Problem, Weight> entries_;  // Ordered, so that ties are decided.
};

}  // namespace wavetune

#endif  // WAVETUNE_USAGE_HEAVY_HITTERS_H_
