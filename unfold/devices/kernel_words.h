#pragma once
/// The words that kernels are written in, for a device that compiles CUDA: put before every source. Devices that
/// simulate threads have a file of their own with the same words.
///
///   KERNEL(name) { ... }            a kernel; arguments: a.pointer(i), a.integer(i), a.number(i), from 0
///   KERNEL_OF(name, most) { ... }   likewise, of blocks of at most so many threads: each may then use more registers
///   DEVICE                          before a function that kernels call
///   block(), blocks()               number of the own block, of all blocks
///   thread(), threads()             number of the own thread in its block, of all threads of a block
///   sync_block()                    all threads of the block meet
///   sync_warp()                     the 32 threads of a warp meet
///   shuffle(x, lane)                x of another thread of the warp (float or double); all 32 call it
///   shuffle_xor(x, mask)            likewise, of thread lane ^ mask
///   shared_memory()                 char*, aligned to 16 bytes
///   load_far(p)                     *p (float, double, u32, a vector) as other blocks wrote it before they arrived
///   arrive(counter)                 adds 1 to an unsigned counter; what this block wrote before (sync_block() first,
///                                   then one thread) is seen by those that await it
///   publish(flag, n)                sets an unsigned flag that one block alone sets; otherwise as arrive
///   await(counter, n)               waits until the counter is at least n; by one thread, sync_block() after it
///   exp_fast(x), divide_fast(a, b) of floats, with some units in the last place less
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

extern const std::string_view kCudaWords;

}  // namespace unfold
