create table customer (
    id integer primary key,
    name text not null,
    email text,
    city text,
    joined text,
    credit real,
    active integer not null default 1,
    data text
);
with recursive t(i) as (select 1 union all select i + 1 from t where i < 200)
insert into customer
select i, 'Customer ' || i, case when i % 7 > 0 then 'c' || i || '@example.com' end,
    case i % 5 when 0 then 'Bern' when 1 then 'Oslo' when 2 then 'Zürich' when 3 then 'Turin' else 'Łódź' end,
    date('2020-01-01', '+' || (i * 3) || ' days'), i * 1.5 - 40, i % 4 > 0,
    json_object('level', i % 10, 'tags', json_array('a' || i % 3, 'b'), 'address', json_object('zip', 8000 + i % 20))
from t;
create index by_city on customer (city);
create index by_lower_name on customer (lower(name));
create index actives on customer (credit) where active = 1;

create table item (id integer primary key, name text, price numeric, weight real, kind text collate nocase, added text);
with recursive t(i) as (select 1 union all select i + 1 from t where i < 60)
insert into item
select i, 'item ' || i, i * 0.99, i / 7.0, case i % 3 when 0 then 'box' when 1 then 'Bag' else 'can' end, datetime('2021-06-01 12:00', '+' || (i * 7) || ' hours')
from t;

create table orders (id integer primary key, customer integer references customer, placed text not null, state text, note text);
with recursive t(i) as (select 1 union all select i + 1 from t where i < 500)
insert into orders
select i, i % 200 + 1, datetime('2023-01-01', '+' || (i * 5) || ' hours'), case i % 3 when 0 then 'open' when 1 then 'sent' else 'paid' end,
    case when i % 9 = 0 then 'n' || i end
from t;
create index by_customer on orders (customer);
create index by_placed on orders (placed);

create table line (orders integer, item integer, pieces integer, primary key (orders, item)) without rowid;
with recursive t(i) as (select 1 union all select i + 1 from t where i < 700)
insert or ignore into line select i % 500 + 1, i % 60 + 1, i % 5 + 1 from t;

create table employee (id integer primary key, name text, boss integer, salary integer, dept text);
with recursive t(i) as (select 1 union all select i + 1 from t where i < 40)
insert into employee
select i, 'E' || i, nullif(i / 3, 0), 3000 + i * 37 % 900, case i % 3 when 0 then 'sales' when 1 then 'lab' else 'office' end from t;

create table reading (sensor integer, at integer, value real, doubled real generated always as (value * 2) virtual) strict;
with recursive t(i) as (select 1 union all select i + 1 from t where i < 100)
insert into reading (sensor, at, value) select i % 3, 1700000000 + i * 3600, (i * 37 % 100) / 10.0 from t;

create virtual table page using fts5 (title, body);
insert into page (rowid, title, body)
values (1, 'Foxes', 'The quick foxes jumped over lazy dogs'), (2, 'Databases', 'Databases store rows and columns'),
    (3, 'Trains', 'Slow trains run late'), (4, 'Mixed', 'A database of trains and foxes');

create virtual table old_page using fts4 (title, body);
insert into old_page (title, body) values ('Foxes', 'The quick foxes jumped'), ('Trains', 'Slow trains run late');

create virtual table area using rtree (id, min_x, max_x, min_y, max_y);
insert into area values (1, 0, 10, 0, 10), (2, 5, 15, 5, 15), (3, 20, 30, 20, 30);

create table "Odd Names" ("select" integer, "with""quote" text, [in brackets] text, `back``tick` integer, "Größe" integer, "semi; colon" text, "a?b" integer, "x:y" integer);
insert into "Odd Names" values (1, 'w', 'b', 2, 3, ';', 4, 5), (2, 'w2', 'b2', 4, 6, ';', 8, 10);

create view big_customers as select id, name, credit from customer where credit > 100;
analyze;
