# The software bill of materials: the libraries and versions used by this build, as CycloneDX 1.5 JSON in
# unfold.cdx.json, which is installed with the command. https://cyclonedx.org/docs/1.5/json
set(UNFOLD_BILL_OF_MATERIALS ${PROJECT_BINARY_DIR}/unfold.cdx.json)

# component(<name> <version> <SPDX license expression> <URL>)
set(components "")
function(component name version licence address)
  if(NOT version)
    set(version "unknown")
  endif()
  set(entry "    {\"type\": \"library\", \"name\": \"${name}\", \"version\": \"${version}\",
     \"licenses\": [{\"expression\": \"${licence}\"}],
     \"externalReferences\": [{\"type\": \"website\", \"url\": \"${address}\"}]}")
  list(APPEND components "${entry}")
  set(components "${components}" PARENT_SCOPE)
endfunction()

component(highway "${hwy_VERSION}" "Apache-2.0" "https://github.com/google/highway")
component(fmt "${fmt_VERSION}" "MIT" "https://github.com/fmtlib/fmt")
component(nlohmann-json "${nlohmann_json_VERSION}" "MIT" "https://github.com/nlohmann/json")
component(CLI11 "${CLI11_VERSION}" "BSD-3-Clause" "https://github.com/CLIUtils/CLI11")
component(tomlplusplus "${tomlplusplus_VERSION}" "MIT" "https://github.com/marzer/tomlplusplus")
component(zlib "${ZLIB_VERSION_STRING}" "Zlib" "https://zlib.net")
component(libpng "${PNG_VERSION_STRING}" "libpng-2.0" "http://www.libpng.org/pub/png/libpng.html")
component(liblzma "${LIBLZMA_VERSION_STRING}" "0BSD OR LicenseRef-public-domain" "https://tukaani.org/xz")
component(zstd "${zstd_VERSION}" "BSD-3-Clause OR GPL-2.0-only" "https://github.com/facebook/zstd")
component(utf8proc "${utf8proc_VERSION}" "MIT" "https://github.com/JuliaStrings/utf8proc")
component(pcre2 "${pcre2_VERSION}" "BSD-3-Clause" "https://github.com/PCRE2Project/pcre2")
component(libsodium "${sodium_VERSION}" "ISC" "https://github.com/jedisct1/libsodium")
if(UNFOLD_CHART_VERSION)  # embedded in the command, for the pages of `report` (src/app/report/page_files.cmake)
  component(chart.js "${UNFOLD_CHART_VERSION}" "MIT" "https://www.chartjs.org")
endif()
list(JOIN components ",\n" components)

file(CONFIGURE OUTPUT ${UNFOLD_BILL_OF_MATERIALS} @ONLY CONTENT [[{
  "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
  "metadata": {
    "component": {"type": "application", "name": "unfold", "version": "@PROJECT_VERSION@"},
    "properties": [
      {"name": "compiler", "value": "@CMAKE_CXX_COMPILER_ID@ @CMAKE_CXX_COMPILER_VERSION@"},
      {"name": "system", "value": "@CMAKE_SYSTEM_NAME@ @CMAKE_SYSTEM_PROCESSOR@"}
    ]
  },
  "components": [
@components@
  ]
}
]])
install(FILES ${UNFOLD_BILL_OF_MATERIALS} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/unfold COMPONENT command)
