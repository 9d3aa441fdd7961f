/* Messages of failed HDF5 calls: the cause at the bottom of the error stack determines error code and advice. */
#include "io/h5.h"
#include <string.h>
#include "core/process.h"
#include "test.h"

static char message[1000];

static PetscErrorCode keep_message(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code,
                                   PetscErrorType type, const char *text, void *context)
{
  (void)comm, (void)line, (void)function, (void)file, (void)context;
  if (type == PETSC_ERROR_INITIAL) snprintf(message, sizeof message, "%s", text);
  return code;
}

/* The code of h5_failed for an error stack of a cause and the call that failed because of it. */
static PetscErrorCode fail_with(hid_t major, hid_t minor, const char *cause)
{
  PetscErrorCode code;
  H5Eclear2(H5E_DEFAULT);
  H5Epush2(H5E_DEFAULT, "H5Z.c", "filter", 1, H5E_ERR_CLS, major, minor, "%s", cause);
  H5Epush2(H5E_DEFAULT, "H5D.c", "H5Dwrite", 1, H5E_ERR_CLS, H5E_DATASET, H5E_WRITEERROR, "can't write data");
  assert_ok(PetscPushErrorHandler(keep_message, NULL));
  code = h5_failed("run/a.h5", "H5Dwrite(set, type)");
  assert_ok(PetscPopErrorHandler());
  return code;
}

static void test_memory(void **state)
{
  (void)state;
  assert_ok(h5_start());
  const hid_t minor[] = {H5E_NOSPACE, H5E_CANTALLOC};
  for (int k = 0; k < 2; ++k) {
    assert_int_equal(fail_with(H5E_RESOURCE, minor[k], "unable to allocate Fletcher32 checksum destination buffer"), PETSC_ERR_MEM);
    assert_string_equal(message,
                        "out of memory: HDF5 could not allocate memory in H5Dwrite, for run/a.h5; use a smaller scene or a larger machine");
  }
  assert_no_leak();
}

static void test_system(void **state)
{
  (void)state;
  assert_ok(h5_start());
  assert_int_equal(fail_with(H5E_IO, H5E_WRITEERROR, "file write failed: time = 1, error message = 'No space left on device', buf = 0"),
                   PETSC_ERR_FILE_WRITE);
  assert_non_null(strstr(message, "cannot write run/a.h5 (HDF5 failed in H5Dwrite): No space left on device"));
  /* An error of the system is the cause also where HDF5 files it under its resources. */
  assert_int_equal(fail_with(H5E_RESOURCE, H5E_NOSPACE, "extend failed: error message = 'No space left on device'"), PETSC_ERR_FILE_WRITE);
  assert_int_equal(fail_with(H5E_FILE, H5E_CANTALLOC, "a file without free space"), PETSC_ERR_FILE_WRITE);
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_memory), cmocka_unit_test(test_system))
