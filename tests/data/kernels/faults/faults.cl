// repeats, broken in one way for every value of FAULT but 0.
#if FAULT == 1
#error "broken on purpose"
#endif
__kernel void faults(__global const float* a, __global float* c, int n, int k) {
#if FAULT == 3
  // Unmapped on every machine; volatile, or the compiler would drop it.
  *(volatile __global float*)(0x10) = 1.0f;
#elif FAULT == 4
  // volatile: the compiler may assume that other loops end.
  volatile int go_on = 1;
  while (go_on) {
  }
#endif
  const int rows = FAULT == 2 ? k - 1 : k;
  const int begin = (int)get_group_id(0) * BLOCK_N;
  const int end = min(begin + BLOCK_N, n);
  for (int j = begin; j < end; ++j) {
    for (int repeat = 0; repeat < REPEAT; ++repeat) {
      // volatile, or the compiler would drop all sums but the last.
      volatile float sum = 0.0f;
      for (int p = 0; p < rows; ++p) sum += a[(size_t)p * n + j];
      c[j] = sum;
    }
  }
}
