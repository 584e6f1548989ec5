/* SPDX-License-Identifier: MIT */
#ifndef WSE_TRAIN_TOKENS_H
#define WSE_TRAIN_TOKENS_H

/*
 * --tokenize: the text to a file of tokens, said on stdout; progress on a terminal. The exit status
 */
int tokenize_file(const char *text, const char *tokenizer, const char *out, int terminal);

#endif
