// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Arguments of a multiplication: C is row-major, sizes are in elements.
struct alignas(8) GemmArgs {
    unsigned long long stride_a; // Elements from a matrix of A to the next of a batch
    unsigned long long stride_b; // Elements from a matrix of B to the next of a batch
    unsigned long long stride_c; // Elements from a matrix of C to the next of a batch
    unsigned long long outer_a; // Elements from a batch of A to the next
    unsigned long long outer_b; // Elements from a batch of B to the next
    unsigned long long outer_c; // Elements from a batch of C to the next
    unsigned long long lda; // Leading dimension of A
    unsigned long long ldb; // Leading dimension of B
    unsigned long long ldc; // Leading dimension of C
    unsigned int m; // Rows of A and C
    unsigned int n; // Columns of B and C
    unsigned int k; // Addends of a sum
    unsigned int batch; // Multiplications of a batch
    unsigned int operands; // Format of the operands, for kernels without a format of their own
    unsigned int out; // Format of C and of the epilogue's data
    unsigned int activation; // Function of the epilogue, or none
    unsigned int is_gradient; // Whether the product is multiplied by the derivative of the activation, whose argument is `other`
    unsigned int bias_by_row; // Whether the bias belongs to rows of C instead of columns
    unsigned int quads; // Whether C and the epilogue's data may be accessed four elements at a time; eight by wgmma, with a bias of  columns
    unsigned int split; // Dimension that groups of unknown sizes divide: none, rows, k
    unsigned int is_scaled; // Whether sums of integers become floats, times scales
    unsigned int a_by_k; // Whether the k of a row of A are adjacent
    unsigned int b_by_k; // Whether the k of a column of B are adjacent
    unsigned int aligned; // Whether rows of the operands begin at multiples of 16 bytes, and can be copied in such pieces
    float alpha; // Factor of the product
    float beta; // Factor of the old C
    int alpha_int; // Factor of the product of integers
    int beta_int; // Factor of the old C of integers
    unsigned int piece; // k of a piece of a group; 0: whole groups
};
static_assert(sizeof(GemmArgs) == 152, "GemmArgs: size");
