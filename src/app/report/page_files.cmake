# Embeds the assets of `report` pages as string literals: a style, a script, and the plotting library Chart.js
# (https://www.chartjs.org, MIT license; its notice is at the beginning of the file and therefore in every page). The
# file is that of the package libjs-chart.js of Debian 12. UNFOLD_CHART_JS names a different file, and
# UNFOLD_CHART_SHA256 accepts it after its hash has been checked. Without Chart.js, reports contain static SVG plots.
find_file(UNFOLD_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH
          DOC "The plotting library of reports, Chart.js 3 or 4, one minified file")
set(UNFOLD_CHART_SHA256 "" CACHE STRING "Another hash of Chart.js to accept")
set(known_charts fbc45926e6b46845a0f905552a0e0b1331049bff1115ecf94dbe0904d895e710 ${UNFOLD_CHART_SHA256})
set(chart_library "")
set(chart_version "")
if(UNFOLD_CHART_JS)
  file(SHA256 "${UNFOLD_CHART_JS}" chart_hash)
  if(chart_hash IN_LIST known_charts)
    file(READ "${UNFOLD_CHART_JS}" chart_library)
    string(REGEX MATCH "Chart.js v([0-9.]+)" chart_version "${chart_library}")
    set(chart_version "${CMAKE_MATCH_1}")
  else()
    message(STATUS "Reports draw plain pictures: ${UNFOLD_CHART_JS} is not a Chart.js that is known "
                   "(-DUNFOLD_CHART_SHA256=${chart_hash} accepts it)")
  endif()
else()
  message(STATUS "Reports draw plain pictures: there is no Chart.js (package libjs-chart.js)")
endif()
set(UNFOLD_CHART_VERSION "${chart_version}" CACHE INTERNAL "Of the Chart.js in reports; empty: none")

# Literals are split because compilers need not support long ones; the delimiters occur in none of the files.
function(unfold_text_literal name text)
  set(literal "")
  string(LENGTH "${text}" length)
  set(begin 0)
  while(begin LESS length)
    string(SUBSTRING "${text}" ${begin} 8000 piece)
    string(APPEND literal "R\"UnfoldPage(${piece})UnfoldPage\"\n")
    math(EXPR begin "${begin} + 8000")
  endwhile()
  if(literal STREQUAL "")
    set(literal "\"\"")
  endif()
  set(${name} "${literal}" PARENT_SCOPE)
endfunction()
file(READ ${CMAKE_CURRENT_LIST_DIR}/page.css page_style)
file(READ ${CMAKE_CURRENT_LIST_DIR}/page.js page_script)
unfold_text_literal(style_literal "${page_style}")
unfold_text_literal(script_literal "${page_script}")
unfold_text_literal(chart_literal "${chart_library}")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/page_files.new
"#include \"app/report/page.h\"

namespace unfold {
const std::string_view kPageStyle = ${style_literal};
const std::string_view kPageScript = ${script_literal};
const std::string_view kChartLibrary = ${chart_literal};
const std::string_view kChartVersion = \"${chart_version}\";
}  // namespace unfold
")
file(COPY_FILE ${CMAKE_CURRENT_BINARY_DIR}/page_files.new ${CMAKE_CURRENT_BINARY_DIR}/page_files.cpp ONLY_IF_DIFFERENT)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/page.css
             ${CMAKE_CURRENT_LIST_DIR}/page.js ${UNFOLD_CHART_JS})
