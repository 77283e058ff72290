"""Code shared by all server engines, for servers that dbdyno starts and for servers that already run.

    installation = find_installations("postgresql")[0]
    create_data(installation, data)
    with start_server(installation, data, work, {"shared_buffers": "1GB"}) as server:
        ...

A server runs under a small supervisor process. The supervisor stops the server and removes its files, however dbdyno
ends, and the server ends if the supervisor is killed. The server listens only on a Unix socket in a private directory,
so it needs no password.
"""
