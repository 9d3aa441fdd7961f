/* Fixture for tests of commands: a temporary working folder with a small job, and command lines that are executed as main executes them. */
#ifndef SS_TESTS_COMMAND_FIXTURE_H
#define SS_TESTS_COMMAND_FIXTURE_H
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "app/command/command.h"
#include "io/file.h"
#include "optim/optim.h"
#include "temporary.h"
#include "test.h"

/* A ball in free fall above a floor: 10 steps of 1 ms. */
static const char *const command_job =
    "stickslip: 1\nname: small\ndescription: A ball & a floor\ntime: {end: 0.01, step: 1.0e-3, frame: 0.005}\n"
    "materials: {steel: {model: rigid, density: 7800}}\ngravity: [0, 0, -10]\n"
    "bodies:\n  ball: {kind: rigid, material: steel, shape: {sphere: {center: [0, 0, 0.3], radius: 0.05}}}\n"
    "  floor: {kind: static, shape: {plane: {normal: [0, 0, 1], offset: 0}}}\ncontact: {friction: 0.3, stiffness: 1.0e4}\n"
    "measure:\n  speed: {quantity: velocity, body: ball, direction: [0, 0, 1]}\n";

static char command_folder[TEMPORARY_ROOM], command_home[4096];
enum { COMMAND_OUT = 1 << 20 };
static char command_out[COMMAND_OUT], command_err[1 << 16]; /* output of the last command line */

static inline void command_write(const char *name, const char *text) { assert_ok(file_replace_text(name, strlen(text), text)); }

static inline int command_setup(void **state)
{
  static bool is_registered;
  (void)state;
  if (!is_registered) assert_ok(optim_register_all());
  is_registered = true;
  assert_non_null(mkdtemp(temporary_name(command_folder, "")));
  assert_non_null(getcwd(command_home, sizeof command_home));
  assert_int_equal(chdir(command_folder), 0);
  command_write("job.yaml", command_job);
  return 0;
}

static inline int command_teardown(void **state)
{
  (void)state;
  char remove[TEMPORARY_ROOM + 16];
  assert_int_equal(chdir(command_home), 0);
  snprintf(remove, sizeof remove, "rm -rf %s", command_folder);
  assert_int_equal(system(remove), 0);
  assert_no_leak();
  return 0;
}

static inline int command_redirect(FILE *stream, const char *path)
{
  fflush(stream);
  const int saved = dup(fileno(stream)), file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  assert_true(saved >= 0 && file >= 0);
  dup2(file, fileno(stream));
  close(file);
  return saved;
}

static inline void command_restore(FILE *stream, int saved, const char *path, size_t size, char *text)
{
  fflush(stream);
  dup2(saved, fileno(stream));
  close(saved);
  FILE *in = fopen(path, "r");
  assert_non_null(in);
  text[fread(text, 1, size - 1, in)] = '\0';
  fclose(in);
  remove(path);
}

static inline exit_code command_parse_and_execute(const char *words)
{
  static command_line line;
  char                text[2000], *argv[64] = {"stickslip"}, *petsc[64], *save = NULL;
  int                 argc = 1, n_petsc;
  exit_code           code = SS_EXIT_OK;
  snprintf(text, sizeof text, "%s", words);
  for (char *w = strtok_r(text, " ", &save); w && argc < 63; w = strtok_r(NULL, " ", &save)) argv[argc++] = w;
  const command *c = command_parse(argc, argv, &line, &n_petsc, petsc, &code);
  return c ? command_execute(c, &line, 1) : code;
}

/* Executes a command line, words separated by spaces, on one thread, and returns its exit code. The caller checks that all memory is
 * freed, also after errors. */
static inline exit_code command_do(const char *words)
{
  const int       out = command_redirect(stdout, ".out"), err = command_redirect(stderr, ".err");
  const exit_code code = command_parse_and_execute(words);
  command_restore(stdout, out, ".out", sizeof command_out, command_out);
  command_restore(stderr, err, ".err", sizeof command_err, command_err);
  return code;
}

#define assert_command(expected, words)                                                                                                    \
  do {                                                                                                                                     \
    const exit_code code_ = command_do(words);                                                                                             \
    if (code_ != (expected)) fail_msg("exit code %d, not %d: %s\n%s%s", code_, expected, words, command_out, command_err);                 \
    assert_no_leak();                                                                                                                      \
  } while (0)
#define assert_contains(text, part)                                                                                                        \
  do {                                                                                                                                     \
    if (!strstr(text, part)) fail_msg("does not contain \"%s\":\n%.4000s", part, text);                                                    \
  } while (0)
#define assert_lacks(text, part)                                                                                                           \
  do {                                                                                                                                     \
    if (strstr(text, part)) fail_msg("contains \"%s\":\n%.4000s", part, text);                                                             \
  } while (0)
static inline bool command_exists(const char *path)
{
  struct stat about;
  return stat(path, &about) == 0;
}
#define command_test(name) cmocka_unit_test_setup_teardown(name, command_setup, command_teardown)
#endif
