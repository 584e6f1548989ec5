// SPDX-License-Identifier: MIT
// A carry chain bit by bit, so that the search for loops sees that a carry depends on lower bits
// alone.
module CARRY4 (output [3:0] CO, O, input CI, CYINIT, input [3:0] DI, S);
  wire c0 = CI | CYINIT;
  assign CO[0] = S[0] ? c0 : DI[0];
  assign CO[1] = S[1] ? CO[0] : DI[1];
  assign CO[2] = S[2] ? CO[1] : DI[2];
  assign CO[3] = S[3] ? CO[2] : DI[3];
  assign O[0] = S[0] ^ c0;
  assign O[1] = S[1] ^ CO[0];
  assign O[2] = S[2] ^ CO[1];
  assign O[3] = S[3] ^ CO[2];
endmodule
