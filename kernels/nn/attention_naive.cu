// Attention without tensor cores. How: nn/attention_naive.cuh.
#include "nn/attention_naive.cuh"
