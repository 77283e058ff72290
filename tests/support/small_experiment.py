"""The experiment of most tests of the command line, and replacements of parts of its text."""

# Small enough that a whole run takes a second or two, with every kind of step of the load in it.
SMALL = """
name = "small"
title = "A small table"
rounds = 2

[factors]
clients = [1, 2]

[tables.t]
rows = 2000

[tables.t.columns]
id = { type = "integer", primary_key = true, fill = { serial = 1 } }
v = { type = "integer", fill = { uniform = [0, 9] } }
s = { type = "varchar(200)", fill = { text = 200 } }

[load]
clients = "${clients}"
stop = { transactions = 500 }

[[transactions]]
name = "read"
weight = 3
steps = [{ execute = "select * from t where id = ?", params = [{ key = "t.id" }] }]

[[transactions]]
name = "count"
steps = [
    { set = "i", value = { uniform = [0, 9] } },
    { execute = "select count(*) from t where v = ?", params = [{ variable = "i" }], into = ["n"] },
]

[report]
x = "clients"
"""

# The small experiment's two transactions as MongoDB has them, on a table small enough to be read at each look-up.
LOOK = "select * from t where id = ?"
COUNT = "select count(*) from t where v = ?"
DOCUMENTS = (
    (f'"{LOOK}"', f"""{{ any = "{LOOK}", mongodb = '{{"find": "t", "filter": {{"_id": {{"$oid": "?"}}}}}}' }}"""),
    (f'"{COUNT}"', f"""{{ any = "{COUNT}", mongodb = '{{"count": "t", "query": {{"v": "?"}}}}' }}"""),
    ("rows = 2000", "rows = 100"),
)

WRITE = """
[[transactions]]
name = "write"
steps = [
    { begin = "deferred" },
    { execute = "update t set v = v + 1 where id = ?", params = [{ key = "t.id" }] },
    { execute = "insert into log (v) values (?)", params = [{ uniform = [0, 9] }] },
    { commit = true },
]
[tables.log]
rows = 5
[tables.log.columns]
id = { type = "integer", primary_key = true, autoincrement = true, fill = { serial = 1 } }
v = { type = "integer", fill = { uniform = [0, 9] } }
"""
ONE = ("clients = [1, 2]", "clients = [2]")
# Clients that wait between their transactions, where what they do is not what is tested.
READ = '[{ execute = "select * from t where id = ?"'
CALM = (READ, READ.replace("[", "[{ think = { uniform = [4, 6] } }, "))
