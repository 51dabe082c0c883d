# Functions that define libraries, programs and tests, and the compile options they share.

include(GNUInstallDirs)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(UNFOLD_CCACHE ccache)
  if(UNFOLD_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${UNFOLD_CCACHE})
  endif()
  include(CheckLinkerFlag)
  foreach(linker mold lld)
    check_linker_flag(CXX -fuse-ld=${linker} UNFOLD_HAS_${linker})
    if(UNFOLD_HAS_${linker})
      add_link_options(-fuse-ld=${linker})
      break()
    endif()
  endforeach()
endif()

# Hardening against memory errors, because the command reads untrusted files: position-independent code, stack
# protection, checked C library calls, and relocation tables that are read-only after loading. The numerics kernels are
# excluded: they do not process file contents and are called millions of times per second.
option(UNFOLD_HARDEN "Harden optimised builds" ON)
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)
function(unfold_harden target)
  if(NOT UNFOLD_HARDEN OR UNFOLD_SANITIZE OR target STREQUAL unfold_numerics)
    return()
  endif()
  set(optimised "$<CONFIG:Release,RelWithDebInfo,MinSizeRel>")
  target_compile_options(${target} PRIVATE
                         "$<${optimised}:-fstack-protector-strong;-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_options(${target} PRIVATE "$<${optimised}:LINKER:-z,relro,-z,now>")
  endif()
endfunction()

# Invariant 2, one arithmetic: the compiler must not contract or reorder floating-point operations, neither here nor in
# code that instantiates templates from our headers.
function(unfold_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PUBLIC -ffp-contract=off)
  # Warnings take a twentieth of the compile time. Optimized builds do without them unless UNFOLD_WERROR turns them into
  # errors.
  if(UNFOLD_WERROR OR NOT CMAKE_BUILD_TYPE STREQUAL Release)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wno-psabi
                           "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-subobject-linkage;-Wno-dangling-reference>")
  else()
    target_compile_options(${target} PRIVATE -w)
  endif()
  # GCC spends a tenth of its time on garbage collection. With this parameter it starts only at 0.8 GB.
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:SHELL:--param ggc-min-heapsize=800000>")
  if(UNFOLD_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(UNFOLD_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${UNFOLD_SANITIZE} -fno-omit-frame-pointer
                                            -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${UNFOLD_SANITIZE})
  endif()
  unfold_harden(${target})
endfunction()

# CMAKE_UNITY_BUILD=ON halves the time of a full build: several files are compiled as one, because parsing headers takes
# a third to a half of the compile time. Names in unnamed namespaces must therefore be unique within a module. Modules
# with numeric loops are split into batches, because `lbfgs` seemed slower when compiled as one (docs/performance.md).
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)

# For code that runs rarely or waits for files and users: -O3 would compile more slowly without a benefit.
function(unfold_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# For code that runs once per command, such as messages, plots and exports. -Og compiles a quarter faster than -O1. Its
# many format strings are checked at compile time only in builds with warnings.
function(unfold_rare target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
  if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT UNFOLD_WERROR)
    target_compile_definitions(${target} PRIVATE FMT_CONSTEVAL=)
  endif()
endfunction()

# For code with loops over symbols that calls other modules for numeric sums, so that -O3 would vectorize nothing.
function(unfold_warm target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
endfunction()

# unfold_room(<name> [APART] [RARE | COLD | WARM] SOURCES ... USES <modules above it, libraries>
#             PRIVATE_USES <libraries that do not appear in headers>)
# APART: compiles each file separately even in a unity build, for files that include themselves or instantiate templates
# of others. RARE: runs once per command. COLD: no loops over symbols or numbers. WARM: loops over symbols, not numbers.
function(unfold_room name)
  cmake_parse_arguments(ROOM "APART;RARE;COLD;WARM" "" "SOURCES;USES;PRIVATE_USES" ${ARGN})
  add_library(unfold_${name} STATIC ${ROOM_SOURCES})
  add_library(unfold::${name} ALIAS unfold_${name})
  set_target_properties(unfold_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_include_directories(unfold_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                   $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  unfold_compile_options(unfold_${name})
  if(ROOM_APART)
    set_target_properties(unfold_${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  if(ROOM_RARE)
    unfold_rare(unfold_${name})
  elseif(ROOM_COLD)
    unfold_cold(unfold_${name})
  elseif(ROOM_WARM)
    unfold_warm(unfold_${name})
  endif()
  if(ROOM_RARE OR ROOM_COLD OR ROOM_WARM)
    set_target_properties(unfold_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 0)  # one batch
  endif()
  target_link_libraries(unfold_${name} PUBLIC ${ROOM_USES} PRIVATE ${ROOM_PRIVATE_USES})
  set_property(GLOBAL APPEND PROPERTY UNFOLD_ROOMS ${name})
endfunction()

# unfold_test(<name> SOURCES ... USES ... [LABELS ...] [LOCK <name>]) defines a GoogleTest program. Tests with the same
# LOCK never run concurrently. The label fast, the default, is for tests that also run under the sanitizers; others use
# slow.
function(unfold_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;USES;LABELS;LOCK" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  unfold_compile_options(${name})
  unfold_cold(${name})
  set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 24)
  target_link_libraries(${name} PRIVATE ${TEST_USES} GTest::gtest_main)
  if(NOT TEST_LABELS)
    set(TEST_LABELS fast)
  endif()
  set(properties LABELS "${TEST_LABELS}")  # with an empty value, CMake would take the next property name as the value
  if(TEST_LOCK)
    list(APPEND properties RESOURCE_LOCK ${TEST_LOCK})
  endif()
  if(UNFOLD_TEST_ENVIRONMENT)
    list(APPEND properties ENVIRONMENT ${UNFOLD_TEST_ENVIRONMENT})
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()
