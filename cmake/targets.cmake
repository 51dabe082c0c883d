# How every library, test and program of this project is made.

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

# What makes errors in memory harder to exploit: the command reads files of strangers. Position-independent rooms and
# programs, guarded stacks, checked calls of the C library, tables of functions that are read-only once loaded. The
# kernels of numerics, which see no bytes of files and are called millions of times a second, do without guards.
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

# Law 2, one arithmetic: the compiler may neither contract nor reorder floating-point operations, neither here nor in
# code that instantiates the templates of our headers.
function(unfold_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PUBLIC -ffp-contract=off)
  # Looking for what is suspicious takes a twentieth of the time. An optimised build of those who only use the program
  # does without, unless UNFOLD_WERROR makes errors of warnings.
  if(UNFOLD_WERROR OR NOT CMAKE_BUILD_TYPE STREQUAL Release)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wno-psabi
                           "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-subobject-linkage;-Wno-dangling-reference>")
  else()
    target_compile_options(${target} PRIVATE -w)
  endif()
  # GCC spends a tenth of its time on collecting its own garbage; it may hold up to 0.8 GB before it begins.
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

# A build from nothing is half as long with CMAKE_UNITY_BUILD=ON: several files are compiled as one, since a third to a
# half of what compiling one costs is reading the headers. Names in unnamed namespaces are therefore unique within a room.
# Rooms with loops over numbers are in parts: as one, `lbfgs` seemed slower (docs/performance.md).
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)

# Code that runs seldom, or waits for files and people: -O3 makes it slower to compile and no faster to use.
function(unfold_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# Code that runs once a command: what is said, drawn, written for others. -Og takes a quarter less to compile than -O1.
# Its many format strings are checked while compiling only where warnings are, too.
function(unfold_rare target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
  if(CMAKE_BUILD_TYPE STREQUAL Release AND NOT UNFOLD_WERROR)
    target_compile_definitions(${target} PRIVATE FMT_CONSTEVAL=)
  endif()
endfunction()

# Code with loops over symbols whose sums over numbers are made in the rooms above: nothing that -O3 would vectorise.
function(unfold_warm target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
endfunction()

# unfold_room(<name> [APART] [RARE | COLD | WARM] SOURCES ... USES <upper rooms and libraries>
#             PRIVATE_USES <libraries that no header shows>)
# APART: each file alone even in a unity build, for files that include themselves or instantiate templates of others.
# RARE: runs once a command. COLD: no loop over symbols or numbers of its own. WARM: loops over symbols, none over numbers.
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
    set_target_properties(unfold_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 0)  # all as one
  endif()
  target_link_libraries(unfold_${name} PUBLIC ${ROOM_USES} PRIVATE ${ROOM_PRIVATE_USES})
  set_property(GLOBAL APPEND PROPERTY UNFOLD_ROOMS ${name})
endfunction()

# unfold_test(<name> SOURCES ... USES ... [LABELS ...] [LOCK <name>]): one GoogleTest program. Tests with one LOCK never
# run side by side. Label fast, the default, is for tests
# that also run under the sanitizers; the others say slow.
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
  set(properties LABELS "${TEST_LABELS}")  # an empty one would take the name of the next for its value
  if(TEST_LOCK)
    list(APPEND properties RESOURCE_LOCK ${TEST_LOCK})
  endif()
  if(UNFOLD_TEST_ENVIRONMENT)
    list(APPEND properties ENVIRONMENT ${UNFOLD_TEST_ENVIRONMENT})
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()
