// Embedding in bf16.
#include "gen/nn-embedding_f32.cuh"
typedef bf16 T;
#include "nn/embedding.cuh"
