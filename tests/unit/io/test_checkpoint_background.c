/* Checkpoints written by a child: the same bytes as our own, of the state as it was; and its failures, and ours. */
#include "core/log.h"
#include "io/checkpoint_background.h"
#include "io_fixture.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const checkpoint_head head = {"bed", "penalty", "name: bed\n", 7, 0.7};

static void path_of(const char *folder, char path[512]) { snprintf(path, 512, "%s/checkpoint_000000007.h5", folder); }

static char *bytes_of(const char *path, size_t *n)
{
  char *text = NULL;
  FILE *in   = fopen(path, "rb");
  assert_non_null(in);
  fseek(in, 0, SEEK_END);
  *n = (size_t)ftell(in);
  rewind(in);
  assert_ok(memory_alloc("test", (int64_t)*n, 1, &text));
  assert_int_equal(fread(text, 1, *n, in), *n);
  fclose(in);
  return text;
}

static void file_has_the_state_at_the_call(void **state)
{
  (void)state;
  char                      folder[256], path[512];
  checkpoint_background    *b;
  checkpoint_background_end end;
  size_t                    n, n_background;
  folder_make(folder), path_of(folder, path);
  fixture *s = fixture_create(200000, 1.0);
  assert_ok(checkpoint_write(folder, &head, s->table, 3));
  char *own = bytes_of(path, &n);
  assert_int_equal(unlink(path), 0);
  assert_true(checkpoint_background_has_room(0));
  assert_ok(checkpoint_background_start(folder, &head, s->table, 3, &b));
  assert_non_null(b);
  fixture_fill(s, 5.0);                                      /* the computation continues */
  do assert_ok(checkpoint_background_poll(&b, false, &end)); /* the number of polls depends on the scheduler */
  while (end.is_running);
  assert_true(end.is_written && end.step == 7 && end.seconds > 0 && !b);
  char *background = bytes_of(path, &n_background);
  assert_int_equal(n, n_background);
  assert_memory_equal(own, background, n);
  memory_free(&own);
  memory_free(&background);
  fixture_destroy(&s);
  folder_remove(folder);
  assert_no_leak();
}

/* A child that cannot write reports the reason; a killed child is detected; the previous checkpoint remains. */
static void failures_are_reported(void **state)
{
  (void)state;
  const char *const         expected[] = {"File too large", "its process was killed"};
  char                      folder[256], path[512];
  struct rlimit             usual, small = {100000, 0};
  checkpoint_background    *b;
  checkpoint_background_end end;
  fixture                  *s = fixture_create(3000, 1.0);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
  small.rlim_max = usual.rlim_max;
  for (int i = 0; i < 2; ++i) {
    char  *said = NULL;
    size_t n    = 0;
    folder_make(folder), path_of(folder, path);
    signal(SIGXFSZ, i ? SIG_DFL : SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    assert_ok(checkpoint_background_start(folder, &head, s->table, 3, &b));
    setrlimit(RLIMIT_FSIZE, &usual);
    FILE *log = open_memstream(&said, &n);
    log_redirect(log, false);
    assert_ok(checkpoint_background_poll(&b, true, &end));
    log_redirect(NULL, false);
    fclose(log);
    assert_true(!end.is_running && !end.is_written && !b);
    if (!strstr(said, expected[i]) || !strstr(said, "of step 7")) fail_msg("the log is \"%s\"", said);
    free(said);
    assert_int_not_equal(access(path, F_OK), 0);
    folder_remove(folder);
  }
  fixture_destroy(&s);
  assert_no_leak();
}

/* A writer must not outlive its run: another may have taken that up. */
static void the_child_dies_with_its_parent(void **state)
{
  (void)state;
  char folder[256], path[512];
  int  ends[2], status;
  folder_make(folder), path_of(folder, path);
  assert_int_equal(pipe(ends), 0);
  fixture    *s      = fixture_create(1000000, 1.0);
  const pid_t parent = fork();
  if (parent == 0) {
    checkpoint_background *b; /* its child keeps the pipe open, as it would a lock */
    if (checkpoint_background_start(folder, &head, s->table, 3, &b) || !b) _exit(1);
    raise(SIGKILL);
  }
  close(ends[1]);
  assert_int_equal(waitpid(parent, &status, 0), parent);
  assert_true(WIFSIGNALED(status));
  char c;
  assert_int_equal(read(ends[0], &c, 1), 0); /* until both are gone */
  assert_int_not_equal(access(path, F_OK), 0);
  close(ends[0]);
  fixture_destroy(&s);
  folder_remove(folder);
  assert_no_leak();
}

static void free_space_is_checked(void **state)
{
  (void)state;
  assert_true(checkpoint_background_has_room(0));
  assert_true(checkpoint_background_has_room((int64_t)1 << 50));
  assert_false(checkpoint_background_has_room(1000));
}

TEST_MAIN(cmocka_unit_test(file_has_the_state_at_the_call), cmocka_unit_test(failures_are_reported),
          cmocka_unit_test(the_child_dies_with_its_parent), cmocka_unit_test(free_space_is_checked))
