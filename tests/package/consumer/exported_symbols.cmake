# Fails if LIBRARY exports a symbol of the namespace unfold.
execute_process(COMMAND ${NM} --dynamic --defined-only ${LIBRARY} OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n]*6unfold[^ \n]*" symbols "${listing}")
if(NOT symbols STREQUAL "")
  list(LENGTH symbols count)
  list(SUBLIST symbols 0 5 first)
  message(FATAL_ERROR "${LIBRARY} exports ${count} symbols of the library, for example ${first}")
endif()
