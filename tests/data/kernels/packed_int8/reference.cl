// One work item per element.
__kernel void packed_int8_reference(__global const char* a,
                                    __global const char* b, __global int* c,
                                    int n, int k) {
  const size_t row = get_global_id(0) / n;
  const size_t column = get_global_id(0) % n;
  int sum = 0;
  for (int p = 0; p < 4 * k; ++p) sum += a[row * 4 * k + p] * b[column * 4 * k + p];
  c[get_global_id(0)] = sum;
}
