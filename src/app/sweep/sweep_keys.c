#include "app/sweep/sweep_keys.h"
#include <math.h>

#define KEYS_END {.name = NULL}

static const key_spec range_keys[] = {
  {.name = "from", .type = KEY_REAL, .offset = offsetof(sweep_range, bounds.from), .help = "the first value"},
  {.name = "to", .type = KEY_REAL, .offset = offsetof(sweep_range, bounds.to), .help = "the last value; with step, the last that is not beyond it"},
  {.name = "count", .type = KEY_INT, .offset = offsetof(sweep_range, count), .min = 2, .max = 100000, .is_optional = true,
   .help = "how many values, evenly spaced; this or step"},
  {.name = "step", .type = KEY_REAL, .offset = offsetof(sweep_range, step), .is_optional = true, .help = "from one value to the next; this or count"},
  KEYS_END};
static const key_table range_table = {.name = "vary.NAME.range", .help = "Evenly spaced numbers, rounded to 15 significant digits.",
                                      .size = sizeof(sweep_range), .keys = range_keys};

static const key_spec log_keys[] = {
  {.name = "from", .type = KEY_REAL, .offset = offsetof(sweep_log, bounds.from), .min = 0, .max = INFINITY, .is_open = true, .help = "the first value"},
  {.name = "to", .type = KEY_REAL, .offset = offsetof(sweep_log, bounds.to), .min = 0, .max = INFINITY, .is_open = true, .help = "the last value"},
  {.name = "count", .type = KEY_INT, .offset = offsetof(sweep_log, count), .min = 2, .max = 100000, .help = "how many values"},
  KEYS_END};
static const key_table log_table = {.name = "vary.NAME.log", .help = "Numbers with a constant ratio between neighbours, rounded to 15 significant digits.",
                                    .size = sizeof(sweep_log), .keys = log_keys};

static const key_spec interval_keys[] = {
  {.name = "from", .type = KEY_REAL, .offset = offsetof(sweep_interval, bounds.from), .help = "lower bound"},
  {.name = "to", .type = KEY_REAL, .offset = offsetof(sweep_interval, bounds.to), .help = "upper bound"},
  {.name = "log", .type = KEY_BOOL, .offset = offsetof(sweep_interval, is_log), .fallback = "false",
   .help = "whether the logarithm is sampled evenly, and not the number itself"},
  KEYS_END};
const key_table sweep_interval_table = {.name = "vary.NAME.of.NAME", .help = "What one sampled number ranges over; [from, to] is short for it.",
                                        .size = sizeof(sweep_interval), .keys = interval_keys};

static const key_spec latin_keys[] = {
  {.name = "count", .type = KEY_INT, .offset = offsetof(sweep_samples, count), .min = 1, .max = 100000,
   .help = "how many samples; another count is another sample, not an extension"},
  {.name = "seed", .type = KEY_INT, .offset = offsetof(sweep_samples, seed), .fallback = "1", .min = 0, .max = INFINITY, .help = "of the random numbers"},
  {.name = "of", .type = KEY_TREE, .offset = offsetof(sweep_samples, of), .table = &sweep_interval_table, .help = "what is sampled, by name: [from, to]"},
  KEYS_END};
static const key_table latin_table = {.name = "vary.NAME.latin_hypercube",
                                      .help = "Random samples of several numbers at once, each of which meets each of `count` equal parts of its interval once.",
                                      .size = sizeof(sweep_samples), .keys = latin_keys};
static const key_spec sobol_keys[] = {
  {.name = "count", .type = KEY_INT, .offset = offsetof(sweep_samples, count), .min = 1, .max = 100000,
   .help = "how many points, best a power of two; a larger count adds points to those that were there"},
  {.name = "seed", .type = KEY_INT, .offset = offsetof(sweep_samples, seed), .is_optional = true, .min = 0, .max = INFINITY,
   .help = "of a random shift of all points (digits are flipped, their even spread stays); without it the first point is the lower corner"},
  {.name = "of", .type = KEY_TREE, .offset = offsetof(sweep_samples, of), .table = &sweep_interval_table, .help = "what is sampled, by name: [from, to]; up to 21 names"},
  KEYS_END};
static const key_table sobol_table = {.name = "vary.NAME.sobol", .help = "Points of Sobol's sequence: several numbers at once, spread more evenly than random ones.",
                                      .size = sizeof(sweep_samples), .keys = sobol_keys};

static const key_spec entry_keys[] = {
  {.name = "range", .type = KEY_TABLE, .offset = offsetof(sweep_entry, range), .table = &range_table, .help = "evenly spaced numbers"},
  {.name = "log", .type = KEY_TABLE, .offset = offsetof(sweep_entry, log), .table = &log_table, .help = "numbers with a constant ratio"},
  {.name = "zip", .type = KEY_TREE, .offset = offsetof(sweep_entry, zip),
   .help = "names with a list each, all of the same length, whose entries go together: the first of each, the second of each"},
  {.name = "latin_hypercube", .type = KEY_TABLE, .offset = offsetof(sweep_entry, latin_hypercube), .table = &latin_table, .help = "random samples that fill every part of each interval"},
  {.name = "sobol", .type = KEY_TABLE, .offset = offsetof(sweep_entry, sobol), .table = &sobol_table, .help = "evenly spread points"},
  KEYS_END};
const key_table sweep_entry_table = {.name = "vary.NAME", .is_one_of = true, .size = sizeof(sweep_entry), .keys = entry_keys,
  .help = "One dimension of the sweep. A bare list gives its values as they stand: numbers, words, or whole lists and mappings."};

static const key_spec repeat_keys[] = {
  {.name = "count", .type = KEY_INT, .offset = offsetof(sweep_repeat, count), .min = 1, .max = 100000, .help = "how often each case is there"},
  {.name = "first", .type = KEY_INT, .offset = offsetof(sweep_repeat, first), .fallback = "1", .min = 0, .max = 1000000000000, .help = "the first value of the parameter `repeat`, which counts up"},
  {.name = "seed", .type = KEY_STRING, .offset = offsetof(sweep_repeat, seed), .is_optional = true, .help = "key of the job that gets the value of `repeat`"},
  KEYS_END};
static const key_table repeat_table = {.name = "repeat", .help = "The same case several times, with other seeds: the last dimension, the parameter `repeat`.",
                                       .size = sizeof(sweep_repeat), .keys = repeat_keys};

static const key_spec resource_keys[] = {
  {.name = "cores", .type = KEY_INT, .offset = offsetof(sweep_resources, cores), .fallback = "0", .min = 0, .max = 4096, .help = "threads of a case; 0: one in a job array, on this machine the CPUs divided by the cases at a time"},
  {.name = "concurrent", .type = KEY_INT, .offset = offsetof(sweep_resources, concurrent), .fallback = "0", .min = 0, .max = 100000,
   .help = "cases that may run at a time; 0: as many as there is room for"},
  {.name = "cases_per_task", .type = KEY_INT, .offset = offsetof(sweep_resources, cases_per_task), .fallback = "0", .min = 0, .max = 100000,
   .help = "cases that one task of a SLURM array runs one after the other; 0: 1, or more where an array would be too large"},
  {.name = "memory", .type = KEY_STRING, .offset = offsetof(sweep_resources, memory), .is_optional = true, .help = "of a case, as sbatch --mem takes it: 2G"},
  {.name = "time", .type = KEY_STRING, .offset = offsetof(sweep_resources, time), .is_optional = true,
   .help = "limit of a task, as sbatch --time takes it: 1:00:00"},
  {.name = "partition", .type = KEY_STRING, .offset = offsetof(sweep_resources, partition), .is_optional = true, .help = "of SLURM"},
  {.name = "account", .type = KEY_STRING, .offset = offsetof(sweep_resources, account), .is_optional = true, .help = "of SLURM"},
  {.name = "retries", .type = KEY_INT, .offset = offsetof(sweep_resources, retries), .fallback = "0", .min = 0, .max = 1000,
   .help = "how often a case that was killed or ran out of time is taken up again by itself"},
  KEYS_END};
static const key_table resource_table = {.name = "resources", .help = "What a case may use, and how SLURM is to be asked for it; flags of the command win.",
                                         .size = sizeof(sweep_resources), .keys = resource_keys};

static const key_spec sweep_keys[] = {
  {.name = "sweep", .type = KEY_INT, .offset = offsetof(sweep_file, sweep), .min = SWEEP_FORMAT, .max = SWEEP_FORMAT, .help = "sweep format version: 1"},
  {.name = "name", .type = KEY_STRING, .offset = offsetof(sweep_file, name), .help = "of the sweep; its folder is sweep/NAME unless --out says otherwise"},
  {.name = "description", .type = KEY_STRING, .offset = offsetof(sweep_file, description), .fallback = "\"\"", .help = "for people"},
  {.name = "base", .type = KEY_PATH, .offset = offsetof(sweep_file, base), .is_optional = true, .help = "the job that every case is a variation of; this or job"},
  {.name = "job", .type = KEY_TREE, .offset = offsetof(sweep_file, job), .is_optional = true, .help = "the same, written here; this or base"},
  {.name = "vary", .type = KEY_TREE, .offset = offsetof(sweep_file, vary), .is_optional = true, .table = &sweep_entry_table,
   .help = "what varies, by name: each entry is one dimension, and every value of one meets every value of the others, the last varying fastest; a job key as name sets that key"},
  {.name = "let", .type = KEY_TREE, .offset = offsetof(sweep_file, let), .is_optional = true,
   .help = "derived parameters, by name: expressions in other parameters"},
  {.name = "where", .type = KEY_STRINGS, .offset = offsetof(sweep_file, where), .is_optional = true,
   .help = "expressions; a case is left out if one of them is 0, that is, not true"},
  {.name = "set", .type = KEY_TREE, .offset = offsetof(sweep_file, set), .is_optional = true,
   .help = "what else is set, by job key: the name of a parameter, an expression, a value as it stands, or a text with {parameters} in it"},
  {.name = "repeat", .type = KEY_TABLE, .offset = offsetof(sweep_file, repeat), .is_optional = true, .table = &repeat_table, .help = "the same case several times"},
  {.name = "resources", .type = KEY_TABLE, .offset = offsetof(sweep_file, resources), .fallback = "{}", .table = &resource_table, .help = "what a case may use"},
  KEYS_END};
const key_table sweep_file_table = {.name = "sweep", .help = "A sweep file varies a job: it says what varies, and each combination is a case.",
                                    .size = sizeof(sweep_file), .keys = sweep_keys};
