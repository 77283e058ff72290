"""dbdyno's web application: `web_login.py prepare|run postgresql://…`. The variable DBDYNO_WEBAPP names the program."""

import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time

import psycopg

command, url = sys.argv[1:]
USERS, CODES = 20_000, 50_000
TABLES = f"""
create table users (id bigint primary key, user_name varchar(16) not null, password varchar(16) not null,
    logins bigint not null default 0, last_login bigint not null default 0);
create table login_log (id bigserial primary key, user_name varchar(16) not null, ip_address varchar(45) not null,
    logged_at bigint not null);
create table postal_codes (code varchar(10) primary key, place varchar(40) not null);
insert into users select i, 'user' || i, 'secret' || i from generate_series(1, {USERS}) i;
insert into postal_codes select (100000 + i)::text, md5(i::text) from generate_series(1, {CODES}) i;
create index users_user_name on users (user_name);
"""
finished: list[int] = []


def log_in(seed: int, port: int) -> None:
    chooser, connection = random.Random(seed), http.client.HTTPConnection("127.0.0.1", port)
    end, done = time.monotonic() + 15, 0
    while time.monotonic() < end:
        number = min(int(chooser.expovariate(1 / 2000)), USERS - 1) + 1
        asked = f"/login?user_name=user{number}&password=secret{number}"
        if chooser.random() < 0.3:
            asked += "&update=1"
        if chooser.random() < 0.4:
            asked += f"&prefix={chooser.randrange(10_000, 15_000)}"
        connection.request("GET", asked)
        response = connection.getresponse()
        response.read()
        assert response.status == 200
        time.sleep(0.005)
        done += 1
    finished.append(done)


if command == "prepare":
    with psycopg.connect(url) as connection:
        connection.execute(TABLES)
else:
    options = ["--database", url, "--listen", "127.0.0.1:0", "--with-parent"]
    program = subprocess.Popen(
        [os.environ["DBDYNO_WEBAPP"], *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )
    assert program.stdout is not None
    port = int(json.loads(program.stdout.readline())["listening"].rsplit(":", 1)[1])
    threads = [threading.Thread(target=log_in, args=(seed, port)) for seed in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    program.terminate()
    program.wait()
    print("transactions:", sum(finished))
