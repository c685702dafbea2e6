// One work item per row.
__kernel void gather_reference(__global const float* x,
                               __global const int* table, __global float* y,
                               int rows, int pages, int pool) {
  const size_t i = get_global_id(0);
  float sum = 0.0f;
  for (int j = 0; j < pages; ++j) sum += x[table[i * pages + j]];
  y[i] = sum;
}
