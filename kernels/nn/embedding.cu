// Embedding: nn/embedding.cuh. ELEMENT is the type of the elements.
#include "gen/nn-embedding.cuh"
typedef ELEMENT T;
#include "nn/embedding.cuh"
