create table customer (
    id integer primary key,
    name text not null,
    email text,
    city varchar(40),
    joined date,
    credit numeric(10, 2),
    active boolean not null default true,
    data jsonb,
    tags text[]
);
insert into customer
select i, 'Customer ' || i, case when i % 7 > 0 then 'c' || i || '@example.com' end,
    (array['Bern', 'Oslo', 'Zürich', 'Turin', 'Łódź'])[i % 5 + 1], date '2020-01-01' + i * 3, i * 1.5 - 40, i % 4 > 0,
    jsonb_build_object('level', i % 10, 'tags', jsonb_build_array('a' || i % 3, 'b'), 'address', jsonb_build_object('zip', 8000 + i % 20)),
    array['t' || i % 4, 'all']
from generate_series(1, 200) i;
create index customer_data on customer using gin (data);

create table item (id integer primary key, name text, price numeric(8, 2), weight real, kind char(3), added timestamp);
insert into item
select i, 'item ' || i, i * 0.99, i / 7.0, (array['box', 'bag', 'can'])[i % 3 + 1], timestamp '2021-06-01 12:00' + i * interval '7 hours'
from generate_series(1, 60) i;

create table orders (
    id integer primary key,
    customer integer references customer,
    placed timestamptz not null,
    state text,
    note text
);
insert into orders
select i, i % 200 + 1, timestamptz '2023-01-01 00:00+00' + i * interval '5 hours', (array['open', 'sent', 'paid'])[i % 3 + 1],
    case when i % 9 = 0 then 'n' || i end
from generate_series(1, 500) i;
create index orders_placed on orders (placed);

create table line (orders integer references orders, item integer references item, pieces integer, primary key (orders, item));
insert into line select i % 500 + 1, i % 60 + 1, i % 5 + 1 from generate_series(1, 700) i on conflict do nothing;

create table employee (id integer primary key, name text, boss integer references employee, salary integer, dept text);
insert into employee
select i, 'E' || i, nullif(i / 3, 0), 3000 + i * 37 % 900, (array['sales', 'lab', 'office'])[i % 3 + 1] from generate_series(1, 40) i;

create table booking (room integer, during tsrange, days daterange, seats int4range, people int4multirange);
insert into booking
select i % 4, tsrange(timestamp '2024-01-01' + i * interval '1 hour', timestamp '2024-01-01' + (i + 2) * interval '1 hour'),
    daterange(date '2024-01-01' + i, date '2024-01-05' + i), int4range(i, i + 10), int4multirange(int4range(i, i + 3), int4range(i + 5, i + 8))
from generate_series(1, 30) i;

create table page (id integer primary key, title text, body text, words tsvector, markup xml);
insert into page
select i, 'Page ' || i, case i % 3 when 0 then 'The quick foxes jumped over lazy dogs' when 1 then 'Databases store rows and columns' else 'Slow trains run late' end,
    null, xmlparse(content '<page id="' || i || '"><b>bold</b></page>')
from generate_series(1, 20) i;
update page set words = to_tsvector('english', title || ' ' || body);

create table host (id integer, address inet, card macaddr, net cidr, flags bit(8), key uuid, raw bytea);
insert into host
select i, ('10.0.' || i % 3 || '.' || i)::inet, ('08:00:2b:01:02:' || lpad(to_hex(i), 2, '0'))::macaddr, '10.0.0.0/16', i::bit(8),
    ('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid, decode(lpad(to_hex(i), 4, '0'), 'hex')
from generate_series(1, 20) i;

create type mood as enum ('sad', 'ok', 'happy');
create type pair as (a integer, b text);
create table diary (day date primary key, mood mood, both_of pair, matrix integer[][]);
insert into diary select date '2024-02-01' + i, (array['sad', 'ok', 'happy'])[i % 3 + 1]::mood, row(i, 'b' || i)::pair, array[[i, i + 1], [i + 2, i + 3]]
from generate_series(1, 15) i;

create table reading (sensor integer, at timestamp, value double precision) partition by range (at);
create table reading_2023 partition of reading for values from ('2023-01-01') to ('2024-01-01');
create table reading_2024 partition of reading for values from ('2024-01-01') to ('2025-01-01');
insert into reading select i % 3, timestamp '2023-12-30' + i * interval '1 hour', sin(i) * 10 from generate_series(1, 100) i;

create table "Odd Names" ("select" integer, "with""quote" text, "Größe" integer, "naïve; column" text);
insert into "Odd Names" select i, 'w' || i, i * 2, ';' from generate_series(1, 5) i;

create view big_customers as select id, name, credit from customer where credit > 100;
create materialized view per_city as select city, count(*) as n from customer group by city;
create function twice(x integer) returns integer language sql immutable as 'select x * 2';
create schema side;
create table side.customer (id integer, remark text);
insert into side.customer values (1, 'in another schema');
analyze;
