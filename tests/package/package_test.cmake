# Installs the build into WORK_DIR, moves it (an installed tree must not know where it was installed to), and configures,
# builds and runs the consumer against it.
cmake_policy(VERSION 3.25)

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run("the installation" ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/installed)
file(RENAME ${WORK_DIR}/installed ${WORK_DIR}/moved)

run("the consumer's configuration" ${CMAKE_COMMAND} -S ${CONSUMER_DIR} -B ${WORK_DIR}/consumer -G ${GENERATOR}
    -D CMAKE_CXX_COMPILER=${CXX_COMPILER}
    -D CMAKE_CXX_COMPILER_LAUNCHER=${CXX_COMPILER_LAUNCHER}
    -D CMAKE_PREFIX_PATH=${WORK_DIR}/moved)
string(REGEX MATCH "unfold ([0-9.]+), ([0-9]+) headers" found "${output}")
if(NOT CMAKE_MATCH_1 STREQUAL VERSION OR CMAKE_MATCH_2 LESS 10)
  message(FATAL_ERROR "the consumer did not find the installed package:\n${output}")
endif()
run("the consumer's build" ${CMAKE_COMMAND} --build ${WORK_DIR}/consumer --parallel 2)
run("the consumer" ${WORK_DIR}/consumer/consumer)
if(NOT output MATCHES "the consumer works")
  message(FATAL_ERROR "unexpected output: ${output}")
endif()

# The command as a function, with a cell of the program.
file(WRITE ${WORK_DIR}/text.txt "abababababababababababababababababababababababab\n")
run("a command with another cell" ${WORK_DIR}/consumer/own_command train ${WORK_DIR}/text.txt --model plain:8 --steps 2
    --symbols bytes --out ${WORK_DIR}/run --overwrite)
run("its model" ${WORK_DIR}/consumer/own_command info ${WORK_DIR}/run)
if(NOT output MATCHES "plain:8")
  message(FATAL_ERROR "the model of another cell is not described: ${output}")
endif()

# A C++ program finds the static modules through pkg-config.
file(GLOB_RECURSE pc ${WORK_DIR}/moved/*/unfold-cxx.pc)
cmake_path(GET pc PARENT_PATH folder)
set(ENV{PKG_CONFIG_PATH} ${folder})
run("a C++ compiler with pkg-config" sh -c
    "${CXX_COMPILER} -std=c++20 ${CONSUMER_DIR}/main.cpp $(pkg-config --cflags --libs unfold-cxx) -o ${WORK_DIR}/cxx")
run("the C++ program built with pkg-config" ${WORK_DIR}/cxx)

# A C program finds the shared library through find_package, without other packages, and through pkg-config.
file(GLOB_RECURSE pc ${WORK_DIR}/moved/*/unfold.pc)
if(pc)
  run("the C consumer's configuration" ${CMAKE_COMMAND} -S ${CONSUMER_DIR}/../c_consumer -B ${WORK_DIR}/c_consumer
      -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${WORK_DIR}/moved -D CMAKE_DISABLE_FIND_PACKAGE_fmt=ON)
  run("the C consumer's build" ${CMAKE_COMMAND} --build ${WORK_DIR}/c_consumer)
  run("the C consumer" ${WORK_DIR}/c_consumer/c_consumer)
  if(NOT output MATCHES "the C consumer works, version ${VERSION}")
    message(FATAL_ERROR "unexpected output: ${output}")
  endif()
  cmake_path(GET pc PARENT_PATH folder)
  cmake_path(GET folder PARENT_PATH library)
  set(ENV{PKG_CONFIG_PATH} ${folder})
  run("a C compiler with pkg-config" sh -c
      "cc ${CONSUMER_DIR}/../c_consumer/main.c $(pkg-config --cflags --libs unfold) -o ${WORK_DIR}/by_pkg_config")
  set(ENV{LD_LIBRARY_PATH} ${library})
  run("the program built with pkg-config" ${WORK_DIR}/by_pkg_config)
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -S ${CONSUMER_DIR} -B ${WORK_DIR}/wrong -G ${GENERATOR}
                -D CMAKE_CXX_COMPILER=${CXX_COMPILER} -D CMAKE_PREFIX_PATH=${WORK_DIR}/moved -D COMPONENTS=gpu
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0 OR NOT output MATCHES "there is no component gpu")
  message(FATAL_ERROR "a component that does not exist is not refused with a reason: ${output}")
endif()

# The bill of materials names every library that the build asks for, with its version, and the libraries in the
# command itself.
file(READ ${WORK_DIR}/moved/share/doc/unfold/unfold.cdx.json bill)
string(JSON components LENGTH "${bill}" components)
math(EXPR last "${components} - 1")
foreach(i RANGE ${last})
  string(JSON name GET "${bill}" components ${i} name)
  string(JSON version GET "${bill}" components ${i} version)
  if(NOT version MATCHES "^[0-9]+[.][0-9]+")
    message(FATAL_ERROR "the bill of materials does not know the version of ${name}: ${version}")
  endif()
endforeach()
file(STRINGS ${DEPENDENCIES} asked REGEX "^(find_package|pkg_check_modules)")
list(FILTER asked EXCLUDE REGEX "Threads|PkgConfig REQUIRED")
list(LENGTH asked libraries)
if(bill MATCHES "\"chart.js\"")
  math(EXPR components "${components} - 1")
endif()
if(NOT libraries EQUAL components)
  message(FATAL_ERROR "cmake/dependencies.cmake asks for ${libraries} libraries, the bill of materials has ${components}")
endif()

if(EXISTS ${WORK_DIR}/moved/bin/unfold)
  run("the installed command" ${WORK_DIR}/moved/bin/unfold --version)
  if(NOT output MATCHES "${VERSION}")
    message(FATAL_ERROR "unfold --version does not say ${VERSION}: ${output}")
  endif()
endif()
