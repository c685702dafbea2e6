// Column j of a[k][n], summed.
inline float column_sum(const float* a, int n, int k, int j) {
  float sum = 0.0f;
  for (int p = 0; p < k; ++p) sum += a[static_cast<size_t>(p) * n + j];
  return sum;
}
