"""What servers share: those that dbdyno starts and stops itself, and those that run already.

    installation = find_installations("postgresql")[0]
    create_data(installation, data)
    with start_server(installation, data, work, {"shared_buffers": "1GB"}) as server:
        ...

A server runs under a small process, its keeper, which ends it and removes its files whatever ends dbdyno, and with
which it ends in turn. It listens on a Unix socket in a directory of its own only, so that it needs no password.
"""
