// Embedding in f32.
#include "gen/nn-embedding_f32.cuh"
typedef float T;
#include "nn/embedding.cuh"
