// c[m, n] = the products of a[m, k] and b[n, k], each four numbers of 8 bits.
int products(uint a, uint b) {
  int sum = as_char((uchar)a) * as_char((uchar)b);
  if (FAULT == 1) return sum;
  for (int shift = 8; shift < 32; shift += 8) {
    sum += as_char((uchar)(a >> shift)) * as_char((uchar)(b >> shift));
  }
  return sum;
}

__kernel void packed_int8(__global const int* a, __global const int* b,
                          __global int* c, int n, int k) {
  const int tiles = (n + BLOCK_N - 1) / BLOCK_N;
  const int row = (int)get_group_id(0) / tiles;
  const int begin = (int)get_group_id(0) % tiles * BLOCK_N;
  for (int j = begin; j < min(begin + BLOCK_N, n); ++j) {
    int sum = 0;
    for (int p = 0; p < k; ++p) sum += products(a[row * k + p], b[j * k + p]);
    c[row * n + j] = sum;
  }
}
