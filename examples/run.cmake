# Runs an example and checks its output:
#   cmake -DPROGRAM=... -DARGUMENTS=... -DINPUT=... -DSAYS=... -P run.cmake
if(INPUT STREQUAL "")
  set(INPUT /dev/null)
endif()
execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} INPUT_FILE ${INPUT}
                OUTPUT_VARIABLE said ERROR_VARIABLE errors RESULT_VARIABLE code)
message("${said}${errors}")
if(NOT code EQUAL 0)
  message(FATAL_ERROR "it ended with code ${code}")
endif()
if(NOT said MATCHES "${SAYS}")
  message(FATAL_ERROR "it did not say \"${SAYS}\"")
endif()
