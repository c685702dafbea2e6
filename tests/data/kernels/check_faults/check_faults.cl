// c[m, n] = a[m, k] * b[k, n]; one work item computes one tile. With FAULT the
// first tile does, beside its work, what the check of results must find:
//    1  reads past the end of a, masked by a factor of 0
//    2  reads before the beginning of b, likewise
//    3  writes into b
//    4  writes 3,000 elements past the end of c
//    5  writes before the beginning of c
//    6  is wrong in one element, where there are a million
//    7  leaves its outputs alone after the first launch
//    8  is wrong in every second launch, as who loses a race
//    9  rounds the sums of two halves of k to bf16
//   10  reads past the end of a and throws the value away
//   11  reads before the beginning of b, likewise
float bf16(float value) {
  uint bits = as_uint(value);
  bits += 0x7fff + ((bits >> 16) & 1);
  return as_float(bits & 0xffff0000);
}

float sum(__global const float* a, __global const float* b, int n, int begin,
          int end) {
  float total = 0.0f;
  for (int p = begin; p < end; ++p) total += a[p] * b[(size_t)p * n];
  return total;
}

// Returns the number of this launch, 1 or 2. Counts in the poison before b, which
// stays as it is from launch to launch, and puts it back at the second.
int count_launches(__global const float* b) {
  __global uint* mark = (__global uint*)b - 1;
  const uint poison = 0x7fc00000;
  const int launch = *mark == poison ? 1 : (int)*mark + 1;
  *mark = launch == 2 ? poison : (uint)launch;
  return launch;
}

__kernel void check_faults(__global const float* a, __global const float* b,
                           __global float* c, int m, int n, int k) {
  const int tiles_n = (n + BLOCK_N - 1) / BLOCK_N;
  const int tile = (int)get_group_id(0);
  const int row_begin = tile / tiles_n * BLOCK_M;
  const int column_begin = tile % tiles_n * BLOCK_N;
  const int launch =
      (FAULT == 7 || FAULT == 8) && tile == 0 ? count_launches(b) : 0;
  if (FAULT == 7 && launch == 2) return;
  for (int i = row_begin; i < min(row_begin + BLOCK_M, m); ++i) {
    for (int j = column_begin; j < min(column_begin + BLOCK_N, n); ++j) {
      __global const float* row = a + (size_t)i * k;
      const int middle = FAULT == 9 ? k / 2 : k;
      float total = sum(row, b + j, n, 0, middle);
      if (FAULT == 9)
        total = bf16(total) + bf16(sum(row, b + j, n, middle, k));
      c[(size_t)i * n + j] = total;
    }
  }
  if (tile != 0) return;
  if (FAULT == 1) c[0] += 0.0f * a[(size_t)m * k];
  if (FAULT == 2) c[0] += 0.0f * b[-1];
  if (FAULT == 3) ((__global float*)b)[0] = 0.0f;
  if (FAULT == 4) c[(size_t)m * n + 2999] = 0.0f;
  if (FAULT == 5) c[-1] = 0.0f;
  if (FAULT == 6 && (size_t)m * n >= 1000000) c[1] += 0.5f;
  if (FAULT == 8 && launch == 2) c[0] += 1.0f;
  if (FAULT == 11) (void)*(volatile __global const float*)(b - 1);
  if (FAULT == 10) (void)*(volatile __global const float*)(a + (size_t)m * k);
}
