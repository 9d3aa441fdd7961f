/* The command completion: prints a completion script for bash, zsh or fish.
 *
 * The commands, their options and the keys of a job are printed from their tables as functions of the POSIX shell. The shell
 * function _stickslip_offers evaluates them and prints the possible completions, one per line: "WORD", "WORD<tab>MEANING", or,
 * for the shell's own completion of file names, "@files *.yaml" or "@folders". The scripts of all three shells call this
 * function. */
#include <string.h>
#include "core/key_table_manual.h"
#include "core/memory.h"
#include "core/text.h"
#include "app/command/command_line.h"
#include "app/job/job.h"

/* Appends s in single quotes of the POSIX shell. */
static void append_quoted(text_buffer *b, const char *s)
{
  text_put(b, "'");
  for (; *s; ++s) {
    if (*s == '\'') text_put(b, "'\\''");
    else text_append(b, *s == '\n' ? " " : s, 1);
  }
  text_put(b, "'");
}

/* The kind of a value as used by _stickslip_values, derived from its placeholder in the help. */
static const char *value_kind(const char *argument)
{
  if (!strcmp(argument, "KEY=VALUE")) return "keys";
  if (strstr(argument, "DIR")) return "folders";
  if (strstr(argument, "FILE") || strchr(argument, '.')) return "files";
  return strchr(argument, '|') ? argument : "nothing";
}

static void write_options(text_buffer *b, const command_option *o, const char *end)
{
  text_printf(b, "printf '%%s\\t%%s\\t%%s\\n'");
  for (; o->name; ++o) {
    text_printf(b, " %s ", o->name);
    append_quoted(b, o->argument ? value_kind(o->argument) : "");
    text_put(b, " ");
    append_quoted(b, o->help);
  }
  text_printf(b, "%s\n", end);
}

/* The actions of the commands: commands with names of two words. */
static void write_actions(text_buffer *b, const command *const *commands)
{
  text_printf(b, "_stickslip_actions() # COMMAND: NAME<tab>MEANING\n{\n  case $1 in\n");
  for (const command *const *of = commands; *of; ++of) {
    bool any = false;
    for (const command *const *c = commands; *c; ++c) {
      const char *word = command_action(*c, (*of)->name);
      if (!word) continue;
      if (!any) text_printf(b, "  %s) printf '%%s\\t%%s\\n'", (*of)->name);
      any = true;
      text_printf(b, " %s ", word);
      append_quoted(b, (*c)->summary);
    }
    if (any) text_printf(b, " ;;\n");
  }
  text_printf(b, "  esac\n}\n");
}

static PetscErrorCode write_tables(text_buffer *b, const command *const *commands)
{
  char *outline;

  PetscFunctionBegin;
  text_printf(b, "_stickslip_commands() # NAME<tab>MEANING\n{\n  printf '%%s\\t%%s\\n'");
  for (const command *const *c = commands; *c; ++c) {
    if (command_action(*c, NULL)) continue;
    text_printf(b, " %s ", (*c)->name);
    append_quoted(b, (*c)->summary);
  }
  text_printf(b, "\n}\n");
  write_actions(b, commands);
  text_printf(b, "_stickslip_options() # COMMAND: OPTION<tab>KIND OF VALUE<tab>MEANING\n{\n  case $1 in\n");
  for (const command *const *c = commands; *c; ++c) {
    if (!(*c)->options->name) continue;
    text_printf(b, "  '%s') ", (*c)->name);
    write_options(b, (*c)->options, " ;;");
  }
  text_printf(b, "  esac\n  ");
  write_options(b, command_common_options, "");
  text_printf(b, "}\n_stickslip_operands() # COMMAND: its arguments\n{\n  case $1 in\n");
  for (const command *const *c = commands; *c; ++c) {
    text_printf(b, "  '%s') echo ", (*c)->name);
    append_quoted(b, (*c)->arguments);
    text_printf(b, " ;;\n");
  }
  text_printf(b, "  esac\n}\n_stickslip_keys() # NUMBER OF A TABLE: its keys and the tables below them\n{\n  case $1 in\n");
  PetscCall(key_table_outline(&job_table, &outline));
  for (char *line = strtok(outline, "\n"); line; line = strtok(NULL, "\n")) {
    char *space = strchr(line, ' ');
    if (!space) continue;
    *space = '\0';
    text_printf(b, "  %s) echo ", line);
    append_quoted(b, space + 1);
    text_printf(b, " ;;\n");
  }
  memory_free(&outline);
  text_printf(b, "  esac\n}\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shell functions that evaluate the tables. `set -f`: entries and words may contain * and [. */
static const char offers[] =
    "# JOB KEY: keys that begin with KEY. Names of bodies, materials etc. are read from the job file, if it lists one per line.\n"
    "_stickslip_set()\n{\n"
    "  local key rest part entry table found names\n"
    "  key=${2%%=*} rest=${2%%=*} table=0 names=\n"
    "  while :; do\n"
    "    case $rest in *.*) ;; *) break ;; esac\n"
    "    part=${rest%%.*} rest=${rest#*.} found=\n"
    "    if [ -n \"$names\" ]; then names= && continue; fi\n"
    "    for entry in $(_stickslip_keys \"$table\"); do\n"
    "      case $entry in\n"
    "      \"${part%%\\[*}\".* | \"${part%%\\[*}\"\\#*) found=yes table=${entry##*[.#]}; break ;;\n"
    "      \"$part\"@*) found=yes table=${entry##*@} names=$part; break ;;\n"
    "      esac\n"
    "    done\n"
    "    [ -n \"$found\" ] || return 0\n"
    "  done\n"
    "  part=${key%\"$rest\"}\n"
    "  if [ -n \"$names\" ]; then\n"
    "    [ -r \"$1\" ] && awk -v part=\"$part\" -v top=\"$names\" '\n"
    "      /^[^ #]/ { inside = index($0, top \":\") == 1; indent = 0 }\n"
    "      inside && /^ +[A-Za-z_0-9-]+:/ { match($0, /^ +/); if (!indent) indent = RLENGTH\n"
    "        if (RLENGTH == indent) { sub(/^ +/, \"\"); sub(/:.*/, \"\"); print part $0 \".\" } }' \"$1\"\n"
    "    return 0\n"
    "  fi\n"
    "  for entry in $(_stickslip_keys \"$table\"); do\n"
    "    case $2$entry in\n"
    "    *=*=*) [ \"${entry%%=*}\" = \"$rest\" ] && for found in $(echo \"${entry#*=}\" | tr , ' '); do echo \"$key=$found\"; done ;;\n"
    "    *=*) case $2 in *=*) continue ;; esac; echo \"$part${entry%%=*}=\" ;;\n"
    "    *\\#*) echo \"$part${entry%%#*}[0].\" ;;\n"
    "    *) echo \"$part${entry%%[.@]*}.\" ;;\n"
    "    esac\n"
    "  done\n}\n"
    "# KIND WORD JOB: values of an option or arguments of a command\n"
    "_stickslip_values()\n{\n"
    "  local folder found\n"
    "  case $1 in\n"
    "  keys) _stickslip_set \"$3\" \"$2\" ;;\n"
    "  folders) echo @folders ;;\n"
    "  files) echo '@files *' ;;\n"
    "  nothing | '') ;;\n"
    "  *[[:upper:]]*)\n"
    "    case $1 in *.yaml*) echo '@files *.yaml' ;; esac\n"
    "    case $1 in *.h5*) echo '@files *.h5' ;; esac\n"
    "    case $1 in\n"
    "    *DIR*)\n"
    "      set +f\n"
    "      found=\n"
    "      for folder in \"$2\"*/ \"$2\"*/*/; do\n"
    "        [ -e \"${folder}job.yaml\" ] || [ -e \"${folder}sweep.yaml\" ] && found=yes && echo \"${folder%/}\"\n"
    "      done\n"
    "      set -f\n"
    "      [ -n \"$found\" ] || echo @folders\n"
    "      ;;\n"
    "    esac\n"
    "    case $1 in *COMMAND* | *PAGE*) _stickslip_commands ;; esac\n"
    "    ;;\n"
    "  *'|'*) echo \"$1\" | tr -d '[]' | tr '|' '\\n' ;;\n"
    "  esac\n}\n"
    "# WORDS after the program name: completions of the last word\n"
    "_stickslip_offers()\n{\n"
    "  local command previous job word kind\n"
    "  set -f\n"
    "  command=$1 previous= job= word=\n"
    "  if [ $# -le 1 ]; then\n"
    "    { _stickslip_commands; printf '%s\\n' help --help --version; } | _stickslip_begins \"$1\"\n"
    "    return 0\n"
    "  fi\n"
    "  shift\n"
    "  if [ $# -gt 1 ] && _stickslip_actions \"$command\" | cut -f 1 | grep -qx -- \"$1\"; then command=\"$command $1\"; shift\n"
    "  elif [ $# -eq 1 ]; then _stickslip_actions \"$command\" | _stickslip_begins \"$1\"; fi\n"
    "  while [ $# -gt 1 ]; do\n"
    "    previous=$1\n"
    "    case $1 in *.yaml) job=$1 ;; *) [ -f \"$1/job.yaml\" ] && job=$1/job.yaml ;; esac\n"
    "    shift\n"
    "  done\n"
    "  word=$1\n"
    "  case $word in --*=*) previous=${word%%=*} ;; esac\n"
    "  kind=$(_stickslip_options \"$command\" | awk -F '\\t' -v o=\"$previous\" '$1 == o { print $2 }')\n"
    "  if [ -n \"$kind\" ]; then\n"
    "    case $word in\n"
    "    --*=*) _stickslip_values \"$kind\" \"${word#*=}\" \"$job\" | awk -v o=\"$previous=\" '{ print (/^@/ ? \"\" : o) $0 }' ;;\n"
    "    *) _stickslip_values \"$kind\" \"$word\" \"$job\" ;;\n"
    "    esac | _stickslip_begins \"$word\"\n"
    "    return 0\n"
    "  fi\n"
    "  case $word in\n"
    "  -*) _stickslip_options \"$command\" | awk -F '\\t' '{ print $1 \"\\t\" $3 }' ;;\n"
    "  *) case $command in help) kind=COMMAND ;; *) kind=$(_stickslip_operands \"$command\") ;; esac\n"
    "     [ -n \"$kind\" ] && _stickslip_values \"$kind\" \"$word\" \"$job\" ;;\n"
    "  esac | _stickslip_begins \"$word\"\n}\n"
    "_stickslip_begins() # WORD: lines of stdin that begin with WORD, without repetitions, and lines @... for the shell\n{\n"
    "  awk -v word=\"$1\" '(/^@/ || index($0, word) == 1) && !seen[$0]++'\n}\n";

static const char bash_glue[] =
    "# bash splits words at = and :. The words are joined again, and only the part after the split is returned.\n"
    "_stickslip()\n{\n"
    "  local words=() line i cur tail\n"
    "  for ((i = 1; i <= COMP_CWORD; ++i)); do\n"
    "    cur=${COMP_WORDS[i]}\n"
    "    if [[ ${#words[@]} -gt 0 && ($cur == \"=\" || ${words[-1]} == *=) ]]; then words[-1]+=$cur; else words+=(\"$cur\"); fi\n"
    "  done\n"
    "  [[ $cur == \"=\" ]] && cur=\n"
    "  tail=${words[-1]%\"$cur\"}\n"
    "  COMPREPLY=()\n"
    "  while IFS= read -r line; do\n"
    "    line=${line%%$'\\t'*}\n"
    "    case $line in\n"
    "    @folders) compopt -o filenames 2>/dev/null; while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen -d -- \"$cur\") "
    ";;\n"
    "    @files*)\n"
    "      compopt -o filenames 2>/dev/null\n"
    "      while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen -f -X \"!${line#@files }\" -- \"$cur\"; compgen -d -- "
    "\"$cur\") ;;\n"
    "    *[.=]) compopt -o nospace 2>/dev/null; COMPREPLY+=(\"${line#\"$tail\"}\") ;;\n"
    "    *) [[ -d $line ]] && compopt -o filenames 2>/dev/null; COMPREPLY+=(\"${line#\"$tail\"}\") ;;\n"
    "    esac\n"
    "  done < <(_stickslip_offers \"${words[@]}\")\n}\n"
    "complete -F _stickslip stickslip\n";

static const char zsh_glue[] = "_stickslip()\n{\n"
                               "  local line word meaning\n"
                               "  local -a lines\n"
                               "  lines=(\"${(@f)$(emulate sh; _stickslip_offers \"${(@)words[2,CURRENT]}\")}\")\n"
                               "  for line in $lines; do\n"
                               "    case $line in\n"
                               "    @folders) _files -/ ;;\n"
                               "    @files*) _files -g \"${line#@files }\" ;;\n"
                               "    *[.=]) compadd -S '' -- $line ;;\n"
                               "    *) word=${line%%$'\\t'*} meaning=\"$word  ${line#*$'\\t'}\"\n"
                               "       [[ $line == *$'\\t'* ]] || meaning=$word\n"
                               "       compadd -l -d meaning -- $word ;;\n"
                               "    esac\n"
                               "  done\n}\n"
                               "if [ \"$funcstack[1]\" = _stickslip ]; then _stickslip \"$@\"; else compdef _stickslip stickslip; fi\n";

static const char fish_glue[] = "function __stickslip_complete\n"
                                "  set -l words (commandline -opc)[2..-1] (commandline -ct)\n"
                                "  set -l current (commandline -ct)\n"
                                "  for line in (sh -c \"$__stickslip_script _stickslip_offers \\\"\\$@\\\"\" sh $words)\n"
                                "    switch $line\n"
                                "      case @folders\n        __fish_complete_directories $current ''\n"
                                "      case '@files *'\n        __fish_complete_suffix $current (string replace '@files *' '' -- $line)\n"
                                "      case '*'\n        echo $line\n"
                                "    end\n  end\nend\n"
                                "complete -c stickslip -f -a '(__stickslip_complete)'\n";

/* Prints the script in single quotes of fish, in which a backslash escapes. */
static void print_fish(const char *script)
{
  fputs("set -g __stickslip_script '", stdout);
  for (; *script; ++script) {
    if (*script == '\'' || *script == '\\') putchar('\\');
    putchar(*script);
  }
  printf("'\n%s", fish_glue);
}

static const command_option no_options[] = {{NULL, NULL, false, NULL}};
static PetscErrorCode       command_completion(const command_line *line, exit_code *code)
{
  const char *shell = line->n_positional ? line->positional[0] : "bash";
  text_buffer b     = {0};

  PetscFunctionBegin;
  PetscCall(write_tables(&b, line->commands));
  text_put(&b, offers);
  PetscCall(b.code);
  if (!strcmp(shell, "bash")) printf("# bash completion of stickslip\n%s%s", b.data, bash_glue);
  else if (!strcmp(shell, "zsh")) printf("#compdef stickslip\n%s%s", b.data, zsh_glue);
  else if (!strcmp(shell, "fish")) print_fish(b.data);
  else {
    fprintf(stderr, "stickslip completion %s: expected bash, zsh or fish\n", shell);
    *code = SS_EXIT_BAD_INPUT;
  }
  text_clear(&b);
  PetscFunctionReturn(PETSC_SUCCESS);
}
/* clang-format off */
const command command_completion_entry = {"completion", "bash|zsh|fish", "print a completion script for a shell",
  "bash: eval \"$(stickslip completion bash)\". zsh: the same with zsh, or save the output as _stickslip in a folder of $fpath.\n"
  "fish: stickslip completion fish | source. `make install` installs all three scripts.",
  0, 1, no_options, command_completion};
/* clang-format on */
