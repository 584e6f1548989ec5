# SPDX-License-Identifier: MIT
# wse-emu (device server for QEMU) and wse-run (one program on one core).

, := ,
EMU_SERVER := main emu vfio_user vu_socket dma_map pci_config log
EMU_RUN := wse_run elf32
EMU_OBJS := $(patsubst %,$(B)/hw/emu/%.o,$(EMU_SERVER) $(EMU_RUN))
EMU_HDRS := $(wildcard hw/emu/*.h) hw/model.h hw/regs/gen/wse_regs.h

# What a program that runs models links. `make MODELS=func` leaves the RTL and its minutes of compiling out.
# -u: wse_model_find() asks for the RTL weakly, which alone pulls nothing out of an archive.
MODELS ?= func rtl
MODEL_LIBS := $(B)/hw/libwse_func.a $(if $(filter rtl,$(MODELS)),$(B)/rtl/libwse_rtl.a)
MODEL_LINK := -Wl,-u,wse_model_find $(if $(filter rtl,$(MODELS)),-Wl$(,)-u$(,)wse_model_rtl) \
	-Wl,--start-group $(MODEL_LIBS) -Wl,--end-group $(if $(filter rtl,$(MODELS)),$(RTL_LIBS),-lm)

$(EMU_OBJS): $(B)/hw/emu/%.o: hw/emu/%.c $(EMU_HDRS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -pthread $(CPPFLAGS) -c -o $@ $<

$(B)/wse-emu: $(EMU_SERVER:%=$(B)/hw/emu/%.o) $(MODEL_LIBS)
	$(CC) $(CFLAGS) -pthread -o $@ $(filter %.o,$^) $(MODEL_LINK)

$(B)/wse-run: $(EMU_RUN:%=$(B)/hw/emu/%.o) $(MODEL_LIBS)
	$(CC) $(CFLAGS) -pthread -o $@ $(filter %.o,$^) $(MODEL_LINK)

# the server with the twin under sanitizers, for its test
EMU_ASAN_OBJS := $(EMU_SERVER:%=$(B)/asan/hw/emu/%.o)

$(EMU_ASAN_OBJS): $(B)/asan/hw/emu/%.o: hw/emu/%.c $(EMU_HDRS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ASAN) -pthread $(CPPFLAGS) -c -o $@ $<

$(B)/asan/wse-emu: $(EMU_ASAN_OBJS) $(FUNC_ASAN_OBJS)
	$(CC) $(CFLAGS) $(ASAN) -pthread -o $@ $^ -lm

ALL += $(B)/wse-emu $(B)/wse-run
