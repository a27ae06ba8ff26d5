// Attention without tensor cores, with dropout of probabilities. How: nn/attention_naive.cuh.
#define DROPS true
#include "nn/attention_naive.cuh"
