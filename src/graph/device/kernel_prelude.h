#pragma once
/// The primitives of the kernel language, for devices that compile CUDA; prepended to every source. Devices that
/// simulate threads have their own file with the same primitives.
///
///   KERNEL(name) { ... }            a kernel; arguments: a.pointer(i), a.integer(i), a.number(i), from 0
///   KERNEL_OF(name, most) { ... }   a kernel for blocks of at most `most` threads, which may use more registers
///   DEVICE                          marks a function that kernels call
///   block(), blocks()               index of this block, number of blocks
///   thread(), threads()             index of this thread in its block, number of threads of a block
///   sync_block()                    barrier for all threads of the block
///   sync_warp()                     barrier for the 32 threads of a warp
///   shuffle(x, lane)                x of another thread of the warp (float or double); all 32 threads call it
///   shuffle_xor(x, mask)            x of thread lane ^ mask of the warp; all 32 threads call it
///   shared_memory()                 char*, aligned to 16 bytes
///   load_far(p)                     *p (float, double, u32, a vector) as other blocks wrote it before they arrived
///   arrive(counter)                 adds 1 to an unsigned counter with release semantics: earlier writes of this block
///                                   (sync_block() first, then one thread) are visible to those that await it
///   publish(flag, n)                stores n in an unsigned flag that only one block writes; otherwise like arrive
///   await(counter, n)               waits until the counter is at least n; one thread calls it, then sync_block()
///   exp_fast(x), divide_fast(a, b)  float functions with an error of a few units in the last place
///   pack_bf16(a, b)                 unsigned: two numbers rounded to bfloat16, a in the low half
///   as_tf32(x)                      unsigned: x rounded to tf32
///   float_of_bits(u)                float with these bits
///   mma_bf16(c, a, b)               c[4] += A[16 x 16] B[16 x 8], bfloat16, as PTX mma.m16n8k16: a[4], b[2] unsigned
///   mma_tf32(c, a, b)               c[4] += A[16 x 8] B[8 x 8], tf32, as PTX mma.m16n8k8: a[4], b[2] unsigned
///   philox(seed, stream, n)         uint4: the words of numerics/random.h
///   i64, u64, u32                   integers
/// Functions: expf, tanhf, ..., exp, tanh, ..., fma, fmaf, sqrt, rsqrt; types float4, uint4, uint2.

#include <string_view>

namespace unfold {

extern const std::string_view kCudaPrelude;

}  // namespace unfold
