/* The key tables of the sweep file. */
#include "app/sweep/sweep_keys.h"
#include <math.h>

/* clang-format off */
#define KEYS_END {.name = NULL}

static const key_spec range_keys[] = {
  {.name = "from", .type = KEY_REAL, .offset = offsetof(sweep_range, bounds.from), .help = "first value"},
  {.name = "to", .type = KEY_REAL, .offset = offsetof(sweep_range, bounds.to), .help = "last value; with step, the upper limit of the values"},
  {.name = "count", .type = KEY_INT, .offset = offsetof(sweep_range, count), .min = 2, .max = 100000, .is_optional = true,
   .help = "number of evenly spaced values; give count or step"},
  {.name = "step", .type = KEY_REAL, .offset = offsetof(sweep_range, step), .is_optional = true, .help = "distance between values; give step or count"},
  KEYS_END};
static const key_table range_table = {.name = "vary.NAME.range", .help = "Evenly spaced numbers, rounded to 15 significant digits.",
                                      .size = sizeof(sweep_range), .keys = range_keys};

static const key_spec log_keys[] = {
  {.name = "from", .type = KEY_REAL, .offset = offsetof(sweep_log, bounds.from), .min = 0, .max = INFINITY, .is_open = true, .help = "first value"},
  {.name = "to", .type = KEY_REAL, .offset = offsetof(sweep_log, bounds.to), .min = 0, .max = INFINITY, .is_open = true, .help = "last value"},
  {.name = "count", .type = KEY_INT, .offset = offsetof(sweep_log, count), .min = 2, .max = 100000, .help = "number of values"},
  KEYS_END};
static const key_table log_table = {.name = "vary.NAME.log", .help = "Numbers with a constant ratio between consecutive values, rounded to 15 significant digits.",
                                    .size = sizeof(sweep_log), .keys = log_keys};

static const key_spec interval_keys[] = {
  {.name = "from", .type = KEY_REAL, .offset = offsetof(sweep_interval, bounds.from), .help = "lower bound"},
  {.name = "to", .type = KEY_REAL, .offset = offsetof(sweep_interval, bounds.to), .help = "upper bound"},
  {.name = "log", .type = KEY_BOOL, .offset = offsetof(sweep_interval, is_log), .fallback = "false",
   .help = "sample the logarithm uniformly, not the number itself"},
  KEYS_END};
const key_table sweep_interval_table = {.name = "vary.NAME.of.NAME", .help = "The interval of one sampled number; short form: [from, to].",
                                        .size = sizeof(sweep_interval), .keys = interval_keys};

static const key_spec latin_keys[] = {
  {.name = "count", .type = KEY_INT, .offset = offsetof(sweep_samples, count), .min = 1, .max = 100000,
   .help = "number of samples; a different count gives different samples"},
  {.name = "seed", .type = KEY_INT, .offset = offsetof(sweep_samples, seed), .fallback = "1", .min = 0, .max = INFINITY, .help = "seed of the random numbers"},
  {.name = "of", .type = KEY_TREE, .offset = offsetof(sweep_samples, of), .table = &sweep_interval_table, .help = "intervals by parameter name: [from, to]"},
  KEYS_END};
static const key_table latin_table = {.name = "vary.NAME.latin_hypercube",
                                      .help = "Random samples of several numbers: each of `count` equal parts of an interval contains exactly one value of its number.",
                                      .size = sizeof(sweep_samples), .keys = latin_keys};
static const key_spec sobol_keys[] = {
  {.name = "count", .type = KEY_INT, .offset = offsetof(sweep_samples, count), .min = 1, .max = 100000,
   .help = "number of points, preferably a power of two; a larger count adds points to the existing ones"},
  {.name = "seed", .type = KEY_INT, .offset = offsetof(sweep_samples, seed), .is_optional = true, .min = 0, .max = INFINITY,
   .help = "seed of a random digital shift of all points, which keeps them evenly distributed; without it the first point is the lower corner"},
  {.name = "of", .type = KEY_TREE, .offset = offsetof(sweep_samples, of), .table = &sweep_interval_table, .help = "intervals by parameter name: [from, to]; up to 21 names"},
  KEYS_END};
static const key_table sobol_table = {.name = "vary.NAME.sobol", .help = "Points of Sobol's sequence: samples of several numbers, more evenly distributed than random samples.",
                                      .size = sizeof(sweep_samples), .keys = sobol_keys};

static const key_spec entry_keys[] = {
  {.name = "range", .type = KEY_TABLE, .offset = offsetof(sweep_entry, range), .table = &range_table, .help = "evenly spaced numbers"},
  {.name = "log", .type = KEY_TABLE, .offset = offsetof(sweep_entry, log), .table = &log_table, .help = "numbers with a constant ratio"},
  {.name = "zip", .type = KEY_TREE, .offset = offsetof(sweep_entry, zip),
   .help = "names with lists of equal length; entries with the same position are used together"},
  {.name = "latin_hypercube", .type = KEY_TABLE, .offset = offsetof(sweep_entry, latin_hypercube), .table = &latin_table, .help = "stratified random samples"},
  {.name = "sobol", .type = KEY_TABLE, .offset = offsetof(sweep_entry, sobol), .table = &sobol_table, .help = "evenly distributed points"},
  KEYS_END};
const key_table sweep_entry_table = {.name = "vary.NAME", .is_one_of = true, .size = sizeof(sweep_entry), .keys = entry_keys,
  .help = "One dimension of the sweep. A list gives the values directly: numbers, words, lists or mappings."};

static const key_spec repeat_keys[] = {
  {.name = "count", .type = KEY_INT, .offset = offsetof(sweep_repeat, count), .min = 1, .max = 100000, .help = "number of repetitions of each case"},
  {.name = "first", .type = KEY_INT, .offset = offsetof(sweep_repeat, first), .fallback = "1", .min = 0, .max = 1000000000000, .help = "first value of the parameter `repeat`, which counts the repetitions"},
  {.name = "seed", .type = KEY_STRING, .offset = offsetof(sweep_repeat, seed), .is_optional = true, .help = "job key that is set to the value of `repeat`"},
  KEYS_END};
static const key_table repeat_table = {.name = "repeat", .help = "Repetitions of each case with different seeds; the last dimension, with the parameter `repeat`.",
                                       .size = sizeof(sweep_repeat), .keys = repeat_keys};

static const key_spec resource_keys[] = {
  {.name = "cores", .type = KEY_INT, .offset = offsetof(sweep_resources, cores), .fallback = "0", .min = 0, .max = 4096, .help = "threads per case; 0: one in a job array; on this machine the number of CPUs divided by the number of simultaneous cases"},
  {.name = "concurrent", .type = KEY_INT, .offset = offsetof(sweep_resources, concurrent), .fallback = "0", .min = 0, .max = 100000,
   .help = "number of simultaneous cases; 0: limited by the number of CPUs"},
  {.name = "cases_per_task", .type = KEY_INT, .offset = offsetof(sweep_resources, cases_per_task), .fallback = "0", .min = 0, .max = 100000,
   .help = "cases that one task of a SLURM array runs in sequence; 0: 1, or more if the array would be too large"},
  {.name = "memory", .type = KEY_STRING, .offset = offsetof(sweep_resources, memory), .is_optional = true, .help = "memory per case in the format of sbatch --mem: 2G"},
  {.name = "time", .type = KEY_STRING, .offset = offsetof(sweep_resources, time), .is_optional = true,
   .help = "time limit per task in the format of sbatch --time: 1:00:00"},
  {.name = "partition", .type = KEY_STRING, .offset = offsetof(sweep_resources, partition), .is_optional = true, .help = "SLURM partition"},
  {.name = "account", .type = KEY_STRING, .offset = offsetof(sweep_resources, account), .is_optional = true, .help = "SLURM account"},
  {.name = "retries", .type = KEY_INT, .offset = offsetof(sweep_resources, retries), .fallback = "0", .min = 0, .max = 1000,
   .help = "number of automatic restarts of a case that was killed or reached its time limit"},
  KEYS_END};
static const key_table resource_table = {.name = "resources", .help = "Resources of a case, for local runs and for SLURM; options of the command have priority.",
                                         .size = sizeof(sweep_resources), .keys = resource_keys};

static const key_spec sweep_keys[] = {
  {.name = "sweep", .type = KEY_INT, .offset = offsetof(sweep_file, sweep), .min = SWEEP_FORMAT, .max = SWEEP_FORMAT, .help = "sweep format version: 1"},
  {.name = "name", .type = KEY_STRING, .offset = offsetof(sweep_file, name), .help = "name of the sweep; its folder is sweep/NAME, unless --out is given"},
  {.name = "description", .type = KEY_STRING, .offset = offsetof(sweep_file, description), .fallback = "\"\"", .help = "description for users"},
  {.name = "base", .type = KEY_PATH, .offset = offsetof(sweep_file, base), .is_optional = true, .help = "path of the base job that is varied; give base or job"},
  {.name = "job", .type = KEY_TREE, .offset = offsetof(sweep_file, job), .is_optional = true, .help = "the base job itself; give job or base"},
  {.name = "vary", .type = KEY_TREE, .offset = offsetof(sweep_file, vary), .is_optional = true, .table = &sweep_entry_table,
   .help = "varying parameters by name; each entry is one dimension. The cases are all combinations of the dimensions, the last one varying fastest. If the name is a job key, that key is set"},
  {.name = "let", .type = KEY_TREE, .offset = offsetof(sweep_file, let), .is_optional = true,
   .help = "derived parameters by name: expressions of other parameters"},
  {.name = "where", .type = KEY_STRINGS, .offset = offsetof(sweep_file, where), .is_optional = true,
   .help = "filters: a case is omitted if one of these expressions is 0 (false)"},
  {.name = "set", .type = KEY_TREE, .offset = offsetof(sweep_file, set), .is_optional = true,
   .help = "other settings by job key: the name of a parameter, an expression, a value, or a text that contains {parameters}"},
  {.name = "repeat", .type = KEY_TABLE, .offset = offsetof(sweep_file, repeat), .is_optional = true, .table = &repeat_table, .help = "repetitions of each case"},
  {.name = "resources", .type = KEY_TABLE, .offset = offsetof(sweep_file, resources), .fallback = "{}", .table = &resource_table, .help = "resources of a case"},
  KEYS_END};
/* clang-format on */
const key_table sweep_file_table = {.name = "sweep",
                                    .help = "A sweep file varies the parameters of a job; each combination of values is a case.",
                                    .size = sizeof(sweep_file),
                                    .keys = sweep_keys};
