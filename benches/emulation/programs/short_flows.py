"""Open TCP connections in turn: `short_flows.py serve` answers, `short_flows.py COUNT` opens."""

import socket
import sys

PORT = 5000

if sys.argv[1] == "serve":
    address, family = ("", PORT), socket.AF_INET6
    with socket.create_server(address, family=family, dualstack_ipv6=True, backlog=128) as server:
        while True:
            connection, _ = server.accept()
            with connection:
                connection.sendall(connection.recv(64))
else:
    for number in range(int(sys.argv[1])):
        with socket.create_connection(("server", PORT), timeout=10) as connection:
            word = str(number).encode()
            connection.sendall(word)
            if connection.recv(64) != word:
                sys.exit(f"connection {number}: the answer is not what was sent")
