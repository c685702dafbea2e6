// y[i] = sum over j of x[table[i][j]]; one work item per block does BLOCK_ROWS
// rows. With FAULT = 1 it knows eight entries of x only.
__kernel void gather(__global const float* x, __global const int* table,
                     __global float* y, int rows, int pages, int pool) {
  const int begin = (int)get_group_id(0) * BLOCK_ROWS;
  for (int i = begin; i < min(begin + BLOCK_ROWS, rows); ++i) {
    float sum = 0.0f;
    for (int j = 0; j < pages; ++j) {
      const int page = table[(size_t)i * pages + j];
      sum += x[FAULT == 1 ? min(page, 7) : page];
    }
    y[i] = sum;
  }
}
