// Reference for triton_fused_moe_tma: for each place of the sorted slots, one
// row of its expert's product. The sizes of blocks follow from the places and
// blocks that there are.
//
// Obvious rather than fast: one thread per place and column (surplus ones do
// nothing).
extern "C" __global__ void triton_fused_moe_reference(
    const unsigned short* a, const unsigned short* b, unsigned short* c,
    const float* topk_weights, const int* sorted_token_ids,
    const int* expert_ids, const int* num_tokens_post_padded, int n, int k,
    int num_blocks, int num_valid_tokens, int top_k, int by_place) {
  const unsigned long long item =
      static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const unsigned long long place = item / n;
  const unsigned long long column = item % n;
  const int places = num_tokens_post_padded[0];
  if (place >= places) return;
  const int slot = sorted_token_ids[place];
  if (slot >= num_valid_tokens) return;
  const int block = places / num_blocks;
  const unsigned long long expert = expert_ids[place / block];
  const unsigned long long own = by_place ? place : slot;
  const unsigned long long row = MUL_ROUTED_WEIGHT ? own : slot / top_k;
  const unsigned short* a_row = a + row * k;
  const unsigned short* b_row = b + (expert * n + column) * k;
  float sum = 0.0f;
  for (int p = 0; p < k; ++p)
    sum += __uint_as_float(a_row[p] << 16) * __uint_as_float(b_row[p] << 16);
  if (MUL_ROUTED_WEIGHT) sum *= topk_weights[slot];
  asm("cvt.rn.bf16.f32 %0, %1;"
      : "=h"(c[static_cast<unsigned long long>(slot) * n + column])
      : "f"(sum));
}
