# cmake -DOUTPUT=x.cpp -DNAMES="kPage;kStyle" -DFILES="page.html;style.css" -P Embed.cmake: files as texts in a source, for
# holdfast/bench/report/assets.hpp to declare. Rewritten only when a file changes (the build calls it then).
set(source "// Written by cmake/Embed.cmake.\n#include <holdfast/bench/report/assets.hpp>\n\nnamespace holdfast::bench::report {\n\n")
foreach(name file IN ZIP_LISTS NAMES FILES)
  file(READ "${file}" text)
  if(text MATCHES "\\)embedded\"")
    message(FATAL_ERROR "${file} contains the end mark of a raw text")
  endif()
  string(APPEND source "const std::string_view ${name} = R\"embedded(" "${text}" ")embedded\";\n\n")
endforeach()
file(WRITE "${OUTPUT}" "${source}}  // namespace holdfast::bench::report\n")
