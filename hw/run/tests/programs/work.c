// SPDX-License-Identifier: MIT
/* Multiplies, divides, sorts and prints nothing: 0 when all of it came out right. */
static unsigned int next(unsigned int *s)
{
	*s = *s * 1664525u + 1013904223u;
	return *s;
}

int main(void)
{
	static unsigned int v[200];
	static signed char bytes[64];
	unsigned int seed = 1, sum = 0, check = 0;
	int i, j;

	for (i = 0; i < 200; i++) {
		v[i] = next(&seed) >> 4;
		sum += v[i];
	}
	for (i = 1; i < 200; i++) {
		unsigned int x = v[i];

		for (j = i; j > 0 && v[j - 1] > x; j--)
			v[j] = v[j - 1];
		v[j] = x;
	}
	for (i = 0; i < 200; i++) {
		if (i && v[i - 1] > v[i])
			return 1;
		check += v[i];
	}
	if (check != sum)
		return 2;
	for (i = 0; i < 64; i++)
		bytes[i] = (signed char)(i * 7 - 100);
	for (i = 0; i < 64; i++) {
		if ((int)bytes[i] != (signed char)(i * 7 - 100))
			return 3;
	}
	for (i = 1; i < 100; i++) {
		int a = (int)v[i], q = a / i, r = a % i;

		if (q * i + r != a || r >= i)
			return 4;
		if (-a / i != -q)
			return 5;
	}
	if ((unsigned int)(((unsigned long long)sum * seed) >> 32) ==
		    (unsigned int)((unsigned long long)sum * seed) &&
	    sum)
		return 6;
	return 0;
}
