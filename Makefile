# stickslip: build, run, test, bench, validate, install. `make help` lists the targets.
#   PROFILE=release|debug|asan|tsan    compiler profile, see config/profiles.mk
#   ARCH=native|x86-64-v3|...          release code is tuned for this machine; set ARCH for binaries that travel
PROFILE ?= release
ARCH    ?= native
PREFIX  ?= /usr/local
B       := build/$(PROFILE)
VERSION := 0.1.0

.DEFAULT_GOAL := all
include config/profiles.mk

SOURCES   := $(wildcard src/*/*.c src/*/*/*.c)
OBJECTS   := $(SOURCES:%.c=$(B)/%.o)
LIB_OBJ   := $(filter-out $(B)/src/sim/main.o,$(OBJECTS))
UNIT_SRC  := $(wildcard tests/unit/test_*.c)
UNIT_BIN  := $(UNIT_SRC:tests/unit/%.c=$(B)/unit/%)
STATIC    := $(B)/libstickslip.a
SHARED    := $(B)/libstickslip.so.$(VERSION)

.PHONY: all run test bench validate install clean help check-layers format lint unit setup-build setup-test shared
all: $(B)/stickslip
	@mkdir -p build && ln -sfn $(PROFILE)/stickslip build/stickslip

$(B)/%.o: %.c Makefile config/profiles.mk
	@mkdir -p $(@D)
	@echo "  CC   $<"; $(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -MMD -MP -c $< -o $@
$(STATIC): $(LIB_OBJ)
	@rm -f $@; ar rcs $@ $^
$(SHARED): $(LIB_OBJ)
	$(CC) $(CFLAGS) -shared -Wl,-soname,libstickslip.so.0 -o $@ $^ $(LIBS)
shared: $(SHARED)
$(B)/stickslip: $(B)/src/sim/main.o $(STATIC)
	@echo "  LINK $@"; $(CC) $(CFLAGS) -o $@ $^ $(LIBS)
$(B)/unit/%: tests/unit/%.c $(STATIC)
	@mkdir -p $(@D)
	@echo "  TEST $@"; $(CC) $(CPPFLAGS) $(CFLAGS) -Itests/unit -MMD -MP -o $@ $< $(STATIC) -lcmocka $(LIBS)
unit: $(UNIT_BIN)

-include $(OBJECTS:.o=.d) $(UNIT_BIN:=.d)

clean:
	rm -rf build
