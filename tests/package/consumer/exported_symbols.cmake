# Fails unless LIBRARY exports exactly the symbol EXPECTED.
execute_process(COMMAND ${NM} --dynamic --defined-only ${LIBRARY} OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^ \n]+\n" symbols "${listing}")
list(TRANSFORM symbols STRIP)
if(NOT symbols STREQUAL EXPECTED)
  list(LENGTH symbols count)
  list(SUBLIST symbols 0 5 first)
  message(FATAL_ERROR "${LIBRARY} exports ${count} symbols instead of ${EXPECTED}, for example ${first}")
endif()
