// Attention without tensor cores; with DROPS, dropout of probabilities. How: nn/attention_naive.cuh.
#include "nn/attention_naive.cuh"
