# The libraries that Unfold depends on. The minimum versions are those of Debian 12 and Ubuntu 22.04, which are tested.
# Keep in sync with tools/setup.sh and cmake/unfold-config.cmake.in. cmake/bill_of_materials.cmake lists the versions
# found.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
# Debian's CMake package for Highway refers to files that it does not install.
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy>=0.15.0)
find_package(fmt 8.1 REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(tomlplusplus 2.5 REQUIRED)
find_package(ZLIB 1.2.11 REQUIRED)
find_package(PNG 1.6.37 REQUIRED)
find_package(LibLZMA 5.2.5 REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd>=1.4.8)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc>=2.5.0)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8>=10.39)
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET libsodium>=1.0.18)

# Optional: without MPI the command trains in a single process (src/distributed/no_mpi_launch.cpp).
set(UNFOLD_HAS_MPI OFF)
if(UNFOLD_MPI AND NOT CMAKE_CROSSCOMPILING AND NOT UNFOLD_SANITIZE)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI 3.0 COMPONENTS CXX QUIET)
  set(UNFOLD_HAS_MPI ${MPI_CXX_FOUND})
endif()
message(STATUS "MPI: ${UNFOLD_HAS_MPI} (training in several processes; libopenmpi-dev)")

# Opt-in. Only the headers are needed to build; the libraries are loaded when a device is opened
# (src/graph/device/cuda_library.cpp).
if(UNFOLD_CUDA)
  find_package(CUDAToolkit 12.0 REQUIRED)
  message(STATUS "CUDA: ${CUDAToolkit_VERSION} in ${CUDAToolkit_LIBRARY_DIR}")
endif()
