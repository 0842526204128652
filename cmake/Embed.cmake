# cmake -DOUTPUT=x.cpp -DHEADER=holdfast/results/report/assets.hpp -DNAMESPACE=holdfast::results::report
#       -DNAMES="kPage;kStyle" -DFILES="page.html;style.css" -P Embed.cmake
# makes a source with files as texts, which the header declares. Rewritten only when a file changes (the build calls
# it then).
set(source "// Written by cmake/Embed.cmake.\n#include <${HEADER}>\n\nnamespace ${NAMESPACE} {\n\n")
foreach(name file IN ZIP_LISTS NAMES FILES)
  file(READ "${file}" text)
  if(text MATCHES "\\)embedded\"")
    message(FATAL_ERROR "${file} contains the end mark of a raw text")
  endif()
  string(APPEND source "const std::string_view ${name} = R\"embedded(" "${text}" ")embedded\";\n\n")
endforeach()
file(WRITE "${OUTPUT}" "${source}}  // namespace ${NAMESPACE}\n")
