# Toolchain file to cross-compile for 64-bit Arm on Debian and Ubuntu. UNFOLD_ARM64_ROOT is the folder of the libraries,
# which tools/arm64.sh creates. Programs run under qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)

if(NOT DEFINED UNFOLD_ARM64_ROOT)
  set(UNFOLD_ARM64_ROOT ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-root)
endif()
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${UNFOLD_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${UNFOLD_ARM64_ROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${UNFOLD_ARM64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
