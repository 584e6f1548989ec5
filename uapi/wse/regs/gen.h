/* SPDX-License-Identifier: MIT */
/*
 * What the files of regs-gen share: the line that is read, the output that is written, and a line
 * of it for each kind of number.
 */
#ifndef REGS_GEN_H
#define REGS_GEN_H

enum out { OUT_C, OUT_SV, OUT_MD };

extern enum out out;
extern char group[64]; /* enum, bits or reg prefix that val/field lines belong to */
extern int table;      /* MD: a table is open */

/* regs-gen.c */
_Noreturn void die(const char *what); /* with the number of the line */
unsigned long number(const char *s);
char *word(char **p);		  /* splits one word off *p; the rest of the line stays in *p */
const char *lower(const char *s); /* until the next call */
const char *upper(const char *s);
void thead(const char *cols, const char *rule); /* MD: unless a table is open */
void define(const char *name, unsigned long v, const char *doc);
void mask(const char *name, unsigned int hi, unsigned int lo, const char *doc);

/* counters.c: a line of the source, and the tables when all are known */
void counter(char *p);
int have_counters(void);
void end_counters(void);

/* vops.c: the same of vector operations */
void vop(char *p);
void end_vops(void);

#endif /* REGS_GEN_H */
