#include "graph/device/kernel_prelude.h"

namespace unfold {

// Prelude of every kernel, compiled by NVRTC, which provides the functions and vector types of CUDA but no system
// headers.
const std::string_view kCudaPrelude = R"cuda(
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#define DEVICE __device__ __forceinline__
#define KERNEL(name) extern "C" __global__ void name(const __grid_constant__ ArgumentWords a)
#define KERNEL_OF(name, most_threads) \
  extern "C" __global__ void __launch_bounds__(most_threads, 1) name(const __grid_constant__ ArgumentWords a)

// Converts to a pointer to any type.
struct AnyPointer {
  u64 address;
  template <class T> DEVICE operator T*() const { return reinterpret_cast<T*>(address); }
};

struct ArgumentWords {
  u64 words[120];
  DEVICE AnyPointer pointer(int i) const { return AnyPointer{words[i]}; }
  template <class T> DEVICE T* pointer(int i) const { return reinterpret_cast<T*>(words[i]); }
  DEVICE i64 integer(int i) const { return static_cast<i64>(words[i]); }
  DEVICE double number(int i) const { return __longlong_as_double(static_cast<i64>(words[i])); }
};

DEVICE int block() { return static_cast<int>(blockIdx.x); }
DEVICE int blocks() { return static_cast<int>(gridDim.x); }
DEVICE int thread() { return static_cast<int>(threadIdx.x); }
DEVICE int threads() { return static_cast<int>(blockDim.x); }

DEVICE void sync_block() { __syncthreads(); }
DEVICE void sync_warp() { __syncwarp(); }
template <class T> DEVICE T shuffle(T x, int lane) { return __shfl_sync(0xffffffffu, x, lane); }
template <class T> DEVICE T shuffle_xor(T x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }

extern __shared__ __align__(128) char unfold_shared[];
DEVICE char* shared_memory() { return unfold_shared; }

// Bypasses the first-level cache, which does not see writes by other multiprocessors.
DEVICE float load_far(const float* p) {
  float x;
  asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(x) : "l"(__cvta_generic_to_global(p)) : "memory");
  return x;
}
DEVICE double load_far(const double* p) {
  double x;
  asm volatile("ld.global.cg.f64 %0, [%1];" : "=d"(x) : "l"(__cvta_generic_to_global(p)) : "memory");
  return x;
}
DEVICE u32 load_far(const u32* p) {
  u32 x;
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(x) : "l"(__cvta_generic_to_global(p)) : "memory");
  return x;
}
DEVICE float4 load_far(const float4* p) {
  float4 x;
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w) : "l"(__cvta_generic_to_global(p)) : "memory");
  return x;
}
DEVICE uint4 load_far(const uint4* p) {
  uint4 x;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(__cvta_generic_to_global(p)) : "memory");
  return x;
}
DEVICE uint2 load_far(const uint2* p) {
  uint2 x;
  asm volatile("ld.global.cg.v2.u32 {%0, %1}, [%2];"
               : "=r"(x.x), "=r"(x.y) : "l"(__cvta_generic_to_global(p)) : "memory");
  return x;
}

DEVICE void arrive(u32* counter) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" : : "l"(__cvta_generic_to_global(counter)) : "memory");
}
DEVICE void publish(u32* flag, u32 n) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(__cvta_generic_to_global(flag)), "r"(n) : "memory");
}
DEVICE void await(const u32* counter, u32 n) {
  u32 seen;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(seen) : "l"(__cvta_generic_to_global(counter)) : "memory");
  } while (seen < n);
}

DEVICE float exp_fast(float x) { return __expf(x); }
DEVICE float divide_fast(float a, float b) { return __fdividef(a, b); }
DEVICE float float_of_bits(u32 bits) { return __uint_as_float(bits); }
DEVICE u32 pack_bf16(float a, float b) {
  u32 packed;  // the instruction puts its first operand in the high half
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(b), "f"(a));
  return packed;
}
DEVICE u32 as_tf32(float x) {
  u32 rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
  return rounded;
}
DEVICE void mma_bf16(float* c, const u32* a, const u32* b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE void mma_tf32(float* c, const u32* a, const u32* b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

DEVICE uint4 philox(u64 seed, u64 stream, u64 n) {
  uint4 c = make_uint4(u32(n), u32(n >> 32), u32(stream), u32(stream >> 32));
  u32 k0 = u32(seed), k1 = u32(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const u64 p = u64{0xD2511F53u} * c.x, q = u64{0xCD9E8D57u} * c.z;
    c = make_uint4(u32(q >> 32) ^ c.y ^ k0, u32(q), u32(p >> 32) ^ c.w ^ k1, u32(p));
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}
)cuda";

}  // namespace unfold
