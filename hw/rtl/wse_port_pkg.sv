// SPDX-License-Identifier: MIT
// Types of ports that several modules share. Signals that are valid in every cycle have at most 64
// bits, without addresses and data: a simulator keeps those in one word. The other types have their
// widest members last, at whole words.
package wse_port_pkg;
  // beside one word of a submission entry, on its way to the executor that will work on it
  typedef struct packed {
    logic        valid;
    logic [3:0]  idx;
  } ld_t;

  // the members of an entry that describe a command's host memory
  typedef struct packed {
    logic        direct, masked, mask_direct, linear;
    logic [2:0]  nfeat;
    logic [4:0]  pshift, mshift, color;
    logic [7:0]  etype;
    logic [15:0] kcol, cols, col0;
    logic [31:0] len, nline, lstride, cstride, rstride, mcstride;
    logic [63:0] buf_addr, off, mask, moff;
  } cmd_t;

  // beside the address of a request to read from host memory, and beside a word of the answer
  typedef struct packed {
    logic        valid;
    logic [5:0]  beats;
    logic [23:0] tag;
  } rreq_t;
  typedef struct packed {
    logic        valid, err;
    logic [23:0] tag;
  } rd_t;

  // one core, as START looks at it
  typedef struct packed {
    logic        held, done, faulted;
    logic [31:0] done_value;
    logic [31:0] fault_cause, fault_pc, fault_addr, fault_color, fault_value;
    logic [31:0] wait_cause, wait_color;
  } status_t;

  // all cores of START's rectangle together: some core is held, has not executed DONE, has faulted
  // or executed DONE with a value other than 0
  typedef struct packed {
    logic        held, open, bad;
  } any_t;
endpackage
