#include "completion.hpp"

#include <algorithm>

#include "console.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

// One line of the table per verb: "path) words ;;". Options with a choice get one for their words.
void add_words(std::string& table, const CLI::App& app, const std::string& path) {
  std::string words;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!verb->get_group().empty()) words += " " + verb->get_name();
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames())
      words += " --" + name;
    const std::string type = option->get_type_name();
    if (type.find('|') == std::string::npos || option->get_lnames().empty()) continue;
    std::string choice = type;
    std::replace(choice.begin(), choice.end(), '|', ' ');
    table +=
        "    '" + path + " --" + option->get_lnames().front() + "') echo '" + choice + "' ;;\n";
  }
  table += "    '" + path + "') echo '" + words.substr(std::min<std::size_t>(1, words.size())) +
           "' ;;\n";
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!verb->get_group().empty()) add_words(table, *verb, path + " " + verb->get_name());
  }
}

}  // namespace

std::string bash_completion(const CLI::App& root) {
  std::string table;
  add_words(table, root, root.get_name());
  return "# bash completion for holdfast; written by `holdfast completion bash`.\n"
         "_holdfast_words() {\n  case \"$1\" in\n" +
         table +
         "  esac\n}\n"
         "_holdfast() {\n"
         "  local path=holdfast word known at store=\n"
         "  for ((at = 1; at < COMP_CWORD; at++)); do\n"
         "    word=${COMP_WORDS[at]}\n"
         "    [[ $word == -* ]] && continue\n"
         "    known=\" $(_holdfast_words \"$path\") \"\n"
         "    if [[ $path == 'holdfast kv' && -z $store && $word != bench ]]; then store=$word; "
         "continue; fi\n"
         "    [[ $known == *\" $word \"* ]] && path+=\" $word\"\n"
         "  done\n"
         "  local now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words\n"
         "  words=$(_holdfast_words \"$path $before\")\n"
         "  [[ $before == --* && -n $words ]] || words=$(_holdfast_words \"$path\")\n"
         "  COMPREPLY=()\n"
         "  if [[ $path == 'holdfast kv' && -z $store && $now != -* ]]; then words=bench; fi\n"
         "  [[ $now != -* ]] && words=$(tr ' ' '\\n' <<<\"$words\" | grep -v '^--')\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$now\"))\n"
         "  [[ $path == 'holdfast' || $now == -* ]] || COMPREPLY+=($(compgen -f -- \"$now\"))\n"
         "}\n"
         "complete -o filenames -F _holdfast holdfast\n";
}

void add_completion_command(CLI::App& root, int&) {
  auto* completion = root.add_subcommand("completion", kCompletionHelp);
  completion->require_subcommand(1);
  completion->footer("Example:\n  source <(holdfast completion bash)");
  auto* bash = completion->add_subcommand("bash", "For bash, to standard output");
  bash->footer("Example:\n  source <(holdfast completion bash)");
  bash->callback([&root] { standard_output().write(bash_completion(root)); });
}

}  // namespace holdfast::tools
