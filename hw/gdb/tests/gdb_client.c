// SPDX-License-Identifier: MIT
/* A debugger of tests: packets of gdb's remote protocol on a socket. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gdb_client.h"

const char *gdb_hear(int fd)
{
	static char body[4096];
	size_t n = 0;
	bool in = false;
	char c;

	while (n + 1 < sizeof(body) && read(fd, &c, 1) == 1) {
		if (c == '#' && in)
			break;
		if (in)
			body[n++] = c;
		in |= c == '$';
	}
	body[n] = 0;
	return body;
}

void gdb_send_packet(int fd, const char *body)
{
	char packet[256];
	uint8_t sum = 0;

	for (const char *p = body; *p; p++)
		sum += (uint8_t)*p;
	snprintf(packet, sizeof(packet), "+$%s#%02x", body, sum);
	if (write(fd, packet, strlen(packet)) < 0)
		printf("# the debugger's connection is lost\n");
}

const char *gdb_ask(int fd, const char *body)
{
	gdb_send_packet(fd, body);
	return gdb_hear(fd);
}

int gdb_dial(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct timeval limit = {10, 0};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(a.sun_path, path);
	for (int i = 0; i < 500 && connect(fd, (struct sockaddr *)&a, sizeof(a)); i++)
		usleep(10000);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}
