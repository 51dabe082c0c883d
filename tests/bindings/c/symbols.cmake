# cmake -D NM=... -D LIBRARY=... -P symbols.cmake: checks the symbols that a shared library exports.
execute_process(COMMAND ${NM} --dynamic --defined-only --extern-only ${LIBRARY} OUTPUT_VARIABLE symbols
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${symbols}")
list(FILTER lines EXCLUDE REGEX " unfold_[a-z_]+$")
if(lines OR NOT symbols MATCHES "unfold_load")
  message(FATAL_ERROR "it shows ${lines}")
endif()
