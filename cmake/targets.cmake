# How every library, test and program of this project is built.

include(GNUInstallDirs)

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(UNFOLD_CCACHE ccache)
  if(UNFOLD_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${UNFOLD_CCACHE})
  endif()
endif()

# Hardening against memory errors, because the command reads untrusted files: position-independent code, stack
# protectors, checked calls of the C library, and relocations that are read-only after loading. The kernels of numerics
# do not read file contents and are called millions of times per second, so they are built without stack protectors.
option(UNFOLD_HARDEN "Harden optimized builds" ON)
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)
function(unfold_harden target)
  if(NOT UNFOLD_HARDEN OR UNFOLD_SANITIZE OR target STREQUAL unfold_numerics)
    return()
  endif()
  set(optimized "$<CONFIG:Release,RelWithDebInfo,MinSizeRel>")
  target_compile_options(${target} PRIVATE
                         "$<${optimized}:-fstack-protector-strong;-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_options(${target} PRIVATE "$<${optimized}:LINKER:-z,relro,-z,now>")
  endif()
endfunction()

# One arithmetic: the compiler may neither contract nor reorder floating-point operations, neither here nor in code that
# instantiates the templates of our headers.
function(unfold_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PUBLIC -ffp-contract=off)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wno-psabi
                         "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-subobject-linkage;-Wno-dangling-reference>")
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

# unfold_module(<name> USES <lower modules and libraries> [PRIVATE_USES <libraries that no header shows>]): the static
# library unfold_<name>. Public headers of a module are in include/unfold/<name> and included as "unfold/<name>/...";
# the others are next to the sources and included as "<name>/...". Each module has a separate include root that contains
# nothing else, so a target can include only headers of modules that it links.
function(unfold_module name)
  cmake_parse_arguments(MODULE "" "" "USES;PRIVATE_USES" ${ARGN})
  add_library(unfold_${name} STATIC)
  add_library(unfold::${name} ALIAS unfold_${name})
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "^src/" "" path ${path})
  set(root ${PROJECT_BINARY_DIR}/include-roots/${name})
  cmake_path(GET path PARENT_PATH parent)
  file(MAKE_DIRECTORY ${root}/${parent})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/${path} SYMBOLIC)
  if(EXISTS ${PROJECT_SOURCE_DIR}/include/unfold/${path})
    file(MAKE_DIRECTORY ${root}/unfold)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include/unfold/${path} ${root}/unfold/${path} SYMBOLIC)
  endif()
  set_target_properties(unfold_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON
                        UNITY_BUILD_MODE GROUP UNFOLD_SHARED_SOURCES 0)
  target_include_directories(unfold_${name} PUBLIC $<BUILD_INTERFACE:${root}>
                                                   $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  unfold_compile_options(unfold_${name})
  # Shared libraries that contain the module do not export its symbols.
  target_link_options(unfold_${name} INTERFACE LINKER:--exclude-libs,libunfold_${name}.a)
  target_link_libraries(unfold_${name} PUBLIC ${MODULE_USES} PRIVATE ${MODULE_PRIVATE_USES})
  target_compile_definitions(unfold_${name} PRIVATE UNFOLD_VERSION="${PROJECT_VERSION}")
endfunction()

# unfold_sources(<module> <folder> <file>...): sources of a module in one of its folders. In a unity build up to 12 files
# (CMAKE_UNITY_BUILD_BATCH_SIZE) are compiled together: those of a folder, and what is left of several folders if each
# would fill less than two thirds of a unit. Names in unnamed namespaces are therefore unique within a module.
function(unfold_sources name folder)
  set(size 12)
  if(CMAKE_UNITY_BUILD_BATCH_SIZE)
    set(size ${CMAKE_UNITY_BUILD_BATCH_SIZE})
  endif()
  math(EXPR enough "2 * ${size}")
  list(LENGTH ARGN total)
  get_target_property(shared unfold_${name} UNFOLD_SHARED_SOURCES)  # the number of files in the shared units so far
  set(count 0)
  foreach(file ${ARGN})
    set(path ${folder}/${file})
    cmake_path(NORMAL_PATH path)
    target_sources(unfold_${name} PRIVATE ${path})
    math(EXPR part "${count} / ${size}")
    math(EXPR left "3 * (${total} - ${part} * ${size})")
    if(left LESS enough)
      math(EXPR part "${shared} / ${size}")
      math(EXPR shared "${shared} + 1")
      set(group shared_${part})
    else()
      string(MAKE_C_IDENTIFIER "${folder}_${part}" group)
    endif()
    set_source_files_properties(${path} PROPERTIES UNITY_GROUP ${group})
    math(EXPR count "${count} + 1")
  endforeach()
  set_target_properties(unfold_${name} PROPERTIES UNFOLD_SHARED_SOURCES ${shared})
endfunction()

# unfold_test(<name> SOURCES ... USES ... [LABELS ...] [LOCK <name>] [COST <seconds>]): one GoogleTest program. Tests with
# one LOCK never run at the same time. Tests with a COST start first, the longest before the others. The label `fast`, the
# default, is for tests that also run under the sanitizers; the label of the others is `slow`.
function(unfold_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;USES;LABELS;LOCK;COST" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  unfold_compile_options(${name})
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)  # tests compile longer than they run
  set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 24)
  target_link_libraries(${name} PRIVATE ${TEST_USES} GTest::gtest_main)
  if(NOT TEST_LABELS)
    set(TEST_LABELS fast)
  endif()
  set(properties LABELS "${TEST_LABELS}")  # an empty one would take the name of the next property for its value
  if(TEST_LOCK)
    list(APPEND properties RESOURCE_LOCK ${TEST_LOCK})
  endif()
  if(TEST_COST)
    list(APPEND properties COST ${TEST_COST})
  endif()
  if(UNFOLD_TEST_ENVIRONMENT)
    list(APPEND properties ENVIRONMENT ${UNFOLD_TEST_ENVIRONMENT})
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()
