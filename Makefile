# stickslip: build, run, test, bench, validate, install. `make help` lists the targets.
#   PROFILE=release|debug|asan|tsan|coverage    compiler profile, see config/profiles.mk
#   ARCH=native|x86-64-v3|...       release code is tuned for this machine; set ARCH for binaries that travel, ARCH= to leave it to the compiler
PROFILE ?= release
ARCH    ?= native
PREFIX  ?= /usr/local
B       := build/$(PROFILE)$(if $(filter asan,$(PROFILE)),$(if $(COVERAGE),-coverage))
VERSION := 0.1.0
# Of this checkout itself, not of one that surrounds it; a tarball has none. REVISION=... sets it.
ifndef REVISION
REVISION := $(shell export GIT_OPTIONAL_LOCKS=0; [ "$$(git rev-parse --show-prefix 2>&1)" = "" ] && git describe --always --dirty 2>/dev/null)
endif

.DEFAULT_GOAL := all
include config/profiles.mk

SOURCES   := $(wildcard src/*/*.c src/*/*/*.c)
OBJECTS   := $(SOURCES:%.c=$(B)/%.o)
LIB_OBJ   := $(filter-out $(B)/src/app/main.o,$(OBJECTS))
# ONLY=contact: the unit tests of one folder, or what else has it in its path
UNIT_SRC  := $(foreach f,$(wildcard tests/unit/*/test_*.c),$(if $(or $(if $(ONLY),,all),$(findstring $(ONLY),$(f))),$(f)))
UNIT_BIN  := $(UNIT_SRC:tests/unit/%.c=$(B)/unit/%)
STATIC    := $(B)/libstickslip.a
SHARED    := $(B)/libstickslip.so.$(VERSION)

.PHONY: all run test bench bench-build bench-other bench-piles bench-ccd bench-friction bench-sap bench-box bench-assembly bench-convex check-format check-documents coverage validate validate-sweep matrix plots install uninstall clean help check-layers format lint unit integration setup-build setup-test shared
all: $(B)/stickslip build/compile_commands.json
	@mkdir -p build && ln -sfn $(notdir $(B))/stickslip build/stickslip
# How each file is compiled, for editors (clangd finds it in build/) and clang-tidy
build/compile_commands.json: Makefile config/profiles.mk $(sort $(dir $(SOURCES)))
	@mkdir -p build; printf '%s\n' $(SOURCES) | awk -v dir='$(CURDIR)' -v flags='$(CPPFLAGS) $(CFLAGS) $(shell mpicc --showme:compile 2>/dev/null)' \
	  'BEGIN { print "[" } { printf "%s{\"directory\": \"%s\", \"file\": \"%s\", \"command\": \"cc %s -c %s\"}", (NR > 1 ? ",\n" : ""), dir, $$0, flags, $$0 } END { print "\n]" }' >$@

$(B)/%.o: %.c Makefile config/profiles.mk
	@mkdir -p $(@D)
	@echo "  CC   $<"; $(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -MMD -MP -c $< -o $@
# What the program says of itself is in one object, compiled again when any of it changes and at no other time.
VERSION_OBJ   := $(B)/src/core/version.o
VERSION_STAMP := $(B)/version.stamp
VERSION_WORDS := $(VERSION) $(REVISION) $(PROFILE) $(ARCH)
$(VERSION_OBJ): CPPFLAGS += -DVERSION_NUMBER='"$(VERSION)"' -DVERSION_REVISION='"$(REVISION)"' -DVERSION_PROFILE='"$(PROFILE)"' \
  -DVERSION_ARCH='"$(ARCH)"' -DVERSION_FLAGS='"$(filter -O% -m% -f% -std% -D%,$(CFLAGS))"'
$(VERSION_OBJ): $(VERSION_STAMP)
$(VERSION_STAMP): always
	@mkdir -p $(@D); echo '$(VERSION_WORDS)' | cmp -s - $@ || echo '$(VERSION_WORDS)' > $@
.PHONY: always
$(STATIC): $(LIB_OBJ)
	@rm -f $@; ar rcs $@ $^
$(SHARED): $(LIB_OBJ)
	$(CC) $(CFLAGS) -shared -Wl,-soname,libstickslip.so.0 -o $@ $^ $(LIBS)
shared: $(SHARED)
$(B)/stickslip: $(B)/src/app/main.o $(STATIC)
	@echo "  LINK $@"; $(CC) $(CFLAGS) -o $@ $^ $(LIBS)
# Tests, benchmarks and `validate` are linked again when the code changes, not when only its revision does.
CODE := $(filter-out $(VERSION_OBJ),$(LIB_OBJ)) | $(STATIC)
# Unit tests of a layer link with the layers that the layer may use, each a thin archive, the uppermost first: the tests of core run
# before the upper layers are compiled. test_key_table (core) reads YAML; tests of sim, and READS_JOBS, read their scenes through app.
UNIT_core       := io core
UNIT_io         := io core
UNIT_geometry   := geometry core
UNIT_optim      := optim io core
UNIT_discretize := discretize optim geometry io core
UNIT_contact    := contact $(UNIT_discretize)
UNIT_sim        := app sim $(UNIT_contact)
UNIT_app        := $(UNIT_sim)
LAYERS          := core io geometry optim discretize contact sim app
READS_JOBS      := discretize/test_fem_body discretize/test_mac_body
# Tests themselves are not optimised: their own code takes little time, and compiling it took more than running it.
TEST_CFLAGS     := $(filter-out -O%,$(CFLAGS)) -O0 $(FAST_LINK)
# Except where a test repeats an expression of src and expects the same bits: only optimised code fuses multiplications and additions.
SAME_BITS       := $(addprefix $(B)/unit/contact/test_,impulses impulses_bodies penalty_mesh_relaxation_chains)
$(SAME_BITS): TEST_CFLAGS := $(CFLAGS) $(FAST_LINK)
link_test = @mkdir -p $(@D); echo "  TEST $@"; $(CC) $(CPPFLAGS) $(TEST_CFLAGS) -Itests/unit -MMD -MP -o $@ $< $(1) -lcmocka $(LIBS)
define layer_rules
$(B)/layer/lib$(1).a: $(filter $(B)/src/$(1)/%,$(LIB_OBJ))
	@mkdir -p $$(@D); rm -f $$@; ar rcsT $$@ $$^
$(B)/unit/$(1)/%: tests/unit/$(1)/%.c $(filter-out $(VERSION_OBJ),$(foreach l,$(UNIT_$(1)),$(filter $(B)/src/$(l)/%,$(LIB_OBJ)))) | $(UNIT_$(1):%=$(B)/layer/lib%.a)
	$$(call link_test,$(UNIT_$(1):%=$(B)/layer/lib%.a))
unit-$(1): $(filter-out $(READS_JOBS:%=$(B)/unit/%),$(filter $(B)/unit/$(1)/%,$(UNIT_BIN)))
endef
$(foreach l,$(LAYERS),$(eval $(call layer_rules,$(l))))
$(READS_JOBS:%=$(B)/unit/%) $(B)/unit/write_fclib: $(B)/unit/%: tests/unit/%.c $(CODE)
	$(call link_test,$(STATIC))
unit-app: $(filter $(READS_JOBS:%=$(B)/unit/%),$(UNIT_BIN))
unit: $(UNIT_BIN)
.PHONY: $(LAYERS:%=unit-%) tidy

-include $(OBJECTS:.o=.d) $(UNIT_BIN:=.d)

BENCH_SRC := $(wildcard validation/bench/bench_*.c)
BENCH_BIN := $(BENCH_SRC:validation/bench/%.c=$(B)/bench/%)
$(B)/bench/%: validation/bench/%.c $(CODE)
	@mkdir -p $(@D)
	@echo "  BENCH $@"; $(CC) $(CPPFLAGS) $(CFLAGS) $(FAST_LINK) -Ivalidation/bench -MMD -MP -o $@ $< $(STATIC) $(LIBS)
$(B)/validate: validation/validate.c $(CODE)
	@mkdir -p $(@D)
	@echo "  LINK $@"; $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -o $@ $< $(STATIC) $(LIBS)

# The set-up of `make run` and `make test` happens in a first, separate make: the compiler's flags come from pkg-config, which
# may not be there yet when this file is read.
setup-build:
	@sh config/setup.sh build
setup-test:
	@sh config/setup.sh build test report
	@sh config/setup.sh slurm || echo "Without these the tests that need SLURM are skipped."
run: setup-build
	@$(MAKE) --no-print-directory -j2 all
	build/stickslip run jobs/quickstart.yaml --force
	@echo; if [ -e run/quickstart/report.html ]; then echo "Open run/quickstart/report.html in a browser: plots, stills, times, job and machine."; \
	else echo "A report to open in a browser: sh config/setup.sh report && build/stickslip report run/quickstart"; fi
	@echo "Look at run/quickstart/still.png; open run/quickstart/frames.xmf in ParaView."
# By this name, so that `make -n test` runs no test
BUILD_TESTS := $(MAKE) --no-print-directory -j2
test: setup-test
	@B=$(B) BUILD='$(BUILD_TESTS)' LAST='$(READS_JOBS)' sh tests/run.sh
# Unit tests and programs linked with the shared library, so that a mutation compiles one file and links one library (validation/mutations.sh)
MUTATION_BIN := $(patsubst tests/unit/%.c,$(B)/mutation/%,$(foreach l,contact optim discretize,$(wildcard tests/unit/$(l)/test_*.c))) \
  $(B)/mutation/unit/write_fclib $(B)/mutation/validate $(B)/mutation/stickslip
link_mutation = @mkdir -p $(@D); echo "  LINK $@"; $(CC) $(CPPFLAGS) $(CFLAGS) -Itests/unit -MMD -MP -o $@ $< $(SHARED) -lcmocka $(LIBS)
$(B)/mutation/unit/%: tests/unit/%.c | $(SHARED)
	$(link_mutation)
$(B)/mutation/%: tests/unit/%.c | $(SHARED)
	$(link_mutation)
$(B)/mutation/validate: validation/validate.c | $(SHARED)
	$(link_mutation)
$(B)/mutation/stickslip: src/app/main.c | $(SHARED)
	$(link_mutation)
mutation-tests: $(MUTATION_BIN)
	@ln -sfn $(notdir $(SHARED)) $(B)/libstickslip.so.0
.PHONY: mutation-tests
-include $(MUTATION_BIN:=.d)
# What the integration tests run
integration: all $(B)/unit/write_fclib $(BENCH_BIN) $(B)/validate
bench: setup-build
	@$(MAKE) --no-print-directory -j2 bench-build
	@for b in $(BENCH_BIN); do echo "== $$(basename $$b)"; $$b || exit 1; done
	@$(MAKE) --no-print-directory bench-other
bench-build: all $(BENCH_BIN)
# The same scenes in other engines, those of them that are installed
bench-other: setup-build
	@$(MAKE) --no-print-directory $(B)/bench/other/stickslip
	@echo "== other engines"; B=$(B) sh validation/bench/other/run.sh
# Piles of rigid bodies here and in ODE, Bullet and MuJoCo, those of them that are installed; SIZES="5 10": edges of the cubes of bodies
bench-piles: setup-build
	@$(MAKE) --no-print-directory -j2 all
	@B=$(B) sh validation/bench/piles/run.sh
# DATA: a folder of queries with known results, in the format of the header of validation/bench/bench_ccd.c; a missed one fails
bench-ccd: setup-build
	@$(MAKE) --no-print-directory $(B)/bench/bench_ccd
	@$(if $(DATA),$(B)/bench/bench_ccd "$(DATA)",echo "make bench-ccd DATA=FOLDER"; exit 2)
# DATA: a folder of FCLIB files. Every solver of exact friction, and Siconos' beside them where libsiconos-numerics-dev is installed; LIMIT seconds a solve
FRICTION_BENCH := $(wildcard validation/bench/friction/bench_*.c)
$(B)/bench/friction/bench_friction: $(FRICTION_BENCH) validation/bench/friction/bench_friction.h $(CODE)
	@mkdir -p $(@D)
	@echo "  BENCH $@"; $(CC) $(CPPFLAGS) $(CFLAGS) -Ivalidation/bench/friction -o $@ $(FRICTION_BENCH) $(STATIC) $(LIBS)
bench-friction: setup-build
	@$(if $(DATA),,echo "make bench-friction DATA=FOLDER [LIMIT=20]"; exit 2)
	@$(MAKE) --no-print-directory -j2 all $(B)/bench/friction/bench_friction
	@B=$(B) sh validation/bench/friction/run.sh "$(DATA)" $(LIMIT)
# 10,000 random problems of convex contact: iterations, and how far from the minimum (OF: as many)
bench-sap: setup-build
	@$(MAKE) --no-print-directory -j2 $(B)/unit/optim/test_sap
	@SAP_PROBLEMS=$(or $(OF),10000) $(B)/unit/optim/test_sap
# Quadratic programs with bounds: our solvers, the published competitors, PETSc's; EDGE: cells of the largest box
$(B)/bench/box/bench_box: validation/bench/box/bench_box.c $(CODE)
	@mkdir -p $(@D)
	@echo "  BENCH $@"; $(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $< $(STATIC) $(LIBS)
bench-box: setup-build
	@$(MAKE) --no-print-directory $(B)/bench/box/bench_box
	@$(B)/bench/box/bench_box $(EDGE)
# Table I of [ZongJiangHan2024]: jobs/convex at full size on one and two threads, what was run before is kept; minutes to an hour
bench-convex: all
	@PROGRAM=$(B)/stickslip sh validation/convex.sh run; PROGRAM=$(B)/stickslip sh validation/convex.sh table
# Friction solvers against nu on random assemblies of fibres, every model of rods; an hour or so
bench-assembly: all
	@B=$(B) sh validation/bench/assembly/run.sh
# CLASS=short: what CI runs; CASES="A01 A10": these alone. As many cases at a time as there are processors, or JOBS. Their rows in validation/ACCEPTANCE.md are replaced.
validate: setup-build
	@$(MAKE) --no-print-directory -j2 all $(B)/validate
	@$(B)/validate --program $(B)/stickslip --cases validation/cases --out build/validation --jobs $(or $(JOBS),$(shell env -u OMP_NUM_THREADS nproc)) $(if $(CLASS),--class $(CLASS)) $(CASES); \
	status=$$?; [ $$status != 2 ] || exit 2; sh validation/acceptance.sh build/validation/table.md && exit $$status
# 64 columns of sand, here and through a SLURM of one node that is killed half way: every case once, with the same bits; runout against experiments
validate-sweep: setup-build
	@$(MAKE) --no-print-directory -j2 all
	@PROGRAM=$(B)/stickslip bash validation/sweep_columns.sh build/validation/sweep-columns
# What falls on what under which formulation: validation/matrix.csv, and from it the table of the README
matrix: setup-build
	@$(MAKE) --no-print-directory -j2 all
	@mkdir -p build/validation; PROGRAM=$(B)/stickslip sh validation/matrix.sh run build/validation/matrix >build/validation/matrix.csv && cp build/validation/matrix.csv validation/matrix.csv
	@sh validation/matrix.sh readme README.md <validation/matrix.csv
# Figures of the cases that have a plot.sh, in their folders below build/validation; CASES: these alone
PLOTS = $(patsubst validation/cases/%/plot.sh,%,$(wildcard validation/cases/*/plot.sh))
plots: setup-test
	@$(MAKE) --no-print-directory validate CASES="$(or $(CASES),$(PLOTS))"
	@for c in $(or $(CASES),$(PLOTS)); do sh validation/cases/$$c/plot.sh build/validation/$$c || exit 1; done

# Binaries for other machines than this one: make install ARCH=x86-64-v3
INSTALL = B='$(B)' VERSION='$(VERSION)' PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' HDF5='$(HDF5)' sh config/install.sh
install: all shared
	@$(INSTALL) install
uninstall:
	@$(INSTALL) uninstall

# Dependencies between files and folders: config/layers
check-layers: all
	@sh config/check_layers.sh $(B)
FORMATTED = $$(git ls-files 'src/*.[ch]' 'src/*.inc' 'tests/*.[ch]' 'validation/*.[ch]')
format:
	clang-format -i $(FORMATTED)
check-format:
	clang-format --dry-run --Werror $(FORMATTED)
# Links, files, sections and keys that documents name
check-documents: all
	@sh config/check_documents.sh build/stickslip
# Share of the lines of each folder of src that the unit tests execute (gcov); a build of its own
coverage: setup-test
	@$(MAKE) --no-print-directory -j2 PROFILE=coverage unit
	@find build/coverage -name '*.gcda' -delete; B=build/coverage ONLY=build/coverage/unit/ sh tests/run.sh; status=$$?; sh config/coverage.sh build/coverage; exit $$status
# Widths of vectors and single precision matter in src/discretize/mpm only, which is checked with all of them.
CPPCHECK = cppcheck -j $$(nproc) $$(grep -v '^\#' config/cppcheck.cfg) -Isrc $(shell pkg-config --cflags-only-I $(PKG) 2>/dev/null | sed 's/-I/--suppress=*:/g')
lint: check-layers
	@sh config/check_references.sh
	@sh config/check_language.sh
	@mkdir -p build/cppcheck build/cppcheck-mpm
	$(CPPCHECK) --cppcheck-build-dir=build/cppcheck -UMPM_SINGLE -U__AVX__ -U__AVX512F__ -U__AVX512DQ__ -i src/discretize/mpm/mpm_single.c src
	$(CPPCHECK) --cppcheck-build-dir=build/cppcheck-mpm src/discretize/mpm
	@$(MAKE) --no-print-directory -k -j$$(nproc) tidy
# clang-tidy of every file, again when the file, a header that it includes or the list of checks changes. QUICK=1: without the static
# analyzer, which takes 15 of 16 parts of the time; so does CI
TIDY := tidy$(if $(QUICK),-quick)
tidy: $(SOURCES:%.c=$(B)/%.$(TIDY))
$(B)/%.$(TIDY): $(B)/%.o .clang-tidy | build/compile_commands.json
	@echo "  TIDY $*.c"; clang-tidy --quiet $(if $(QUICK),--checks=-clang-analyzer-*) --extra-arg=-Wno-unknown-pragmas --extra-arg=-Wno-string-concatenation -p build $*.c >$@.log 2>&1 && touch $@ || { cat $@.log; exit 1; }

clean:
	rm -rf build
help:
	@echo "make            the program, build/stickslip (PROFILE=$(PROFILE), ARCH=$(ARCH))"
	@echo "make run        set up, build, run jobs/quickstart.yaml"
	@echo "make test       set up, build, run all tests"
	@echo "make bench      speed against this machine's limits"
	@echo "make bench-other  stacks and a slope in stickslip and in ODE, Bullet, MuJoCo and Siconos, where installed"
	@echo "make bench-ccd  DATA=FOLDER: continuous collision detection on queries with known results"
	@echo "make bench-convex   scenes of Table I of the convex paper: seconds a step, contacts (an hour)"
	@echo "make bench-assembly   time and failures of friction solvers against nu, for every model of rods"
	@echo "make bench-box  quadratic programs with bounds, as pressure brings them, beside PETSc's solvers (minutes)"
	@echo "make bench-piles  piles of balls and cubes in stickslip and in ODE, Bullet and MuJoCo, where installed"
	@echo "make bench-friction  DATA=FOLDER: solvers of exact friction on FCLIB files, beside those of Siconos where installed"
	@echo "make validate   cases with known results; CLASS=short or CASES=\"A01 ...\" for fewer"
	@echo "make validate-sweep  64 columns of sand, here and through SLURM, against experiments (ten minutes)"
	@echo "make matrix     what falls on what under which formulation; writes the table of the README (minutes)"
	@echo "make plots      figures of cases, with gnuplot: the slides of the penalty paper's Fig. 13"
	@echo "make install, make uninstall   PREFIX=$(PREFIX) DESTDIR=$(DESTDIR); ARCH=x86-64-v3 for machines unlike this one"
	@echo "make coverage   share of the lines of each folder that the unit tests execute"
	@echo "make lint       layers, references, language counts, cppcheck, clang-tidy; QUICK=1: without the static analyzer"
	@echo "make format, make check-format, make check-layers, make check-documents, make clean"
