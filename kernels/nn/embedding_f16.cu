// Embedding in f16.
#include "gen/nn-embedding_f32.cuh"
typedef f16 T;
#include "nn/embedding.cuh"
