"""An echo server and its client, over TCP: python3 echo.py serve; python3 echo.py HOST."""

import socket
import sys
import time

if sys.argv[1] == "serve":
    listener = socket.create_server(("", 7007))
    while True:
        connection, _ = listener.accept()
        while message := connection.recv(4096):
            connection.sendall(message)

connection = socket.create_connection((sys.argv[1], 7007))
times = []
for _ in range(200):
    asked = time.perf_counter()
    connection.sendall(b"Are you there?")
    connection.recv(4096)
    times.append(time.perf_counter() - asked)
    time.sleep(0.05)
times.sort()
print(f"{len(times)} answers, median {times[100] * 1e3:.1f} ms, p95 {times[190] * 1e3:.1f} ms")
