// One work item per row.
__kernel void softmax_reference(__global const float* x, __global float* y,
                                int columns) {
  const size_t row = get_global_id(0) * columns;
  float most = x[row];
  for (int j = 1; j < columns; ++j) most = fmax(most, x[row + j]);
  float sum = 0.0f;
  for (int j = 0; j < columns; ++j) sum += exp(x[row + j] - most);
  for (int j = 0; j < columns; ++j) y[row + j] = exp(x[row + j] - most) / sum;
}
