create type mood as enum ('sad', 'ok', 'happy');
create table customer as
select i::integer as id, 'Customer ' || i as name, case when i % 7 > 0 then 'c' || i || '@example.com' end as email,
    ['Bern', 'Oslo', 'Zürich', 'Turin', 'Łódź'][i % 5 + 1] as city, date '2020-01-01' + (i * 3)::integer as joined,
    (i * 1.5 - 40)::decimal(10, 2) as credit, i % 4 > 0 as active, ['t' || i % 4, 'all'] as tags,
    {'zip': 8000 + i % 20, 'street': 'S' || i} as address, map {'level': i % 10, 'rank': i} as attributes,
    json_object('level', i % 10, 'tags', json_array('a' || i % 3, 'b')) as data
from range(1, 201) t(i);
create table item as
select i::integer as id, 'item ' || i as name, (i * 0.99)::decimal(8, 2) as price, i / 7.0 as weight, ['box', 'bag', 'can'][i % 3 + 1] as kind,
    timestamp '2021-06-01 12:00' + to_hours(i * 7) as added, (['sad', 'ok', 'happy'][i % 3 + 1])::mood as mood
from range(1, 61) t(i);
create table orders as
select i::integer as id, (i % 200 + 1)::integer as customer, timestamptz '2023-01-01 00:00:00+00' + to_hours(i * 5) as placed,
    ['open', 'sent', 'paid'][i % 3 + 1] as state, case when i % 9 = 0 then 'n' || i end as note
from range(1, 501) t(i);
create table line as select distinct i % 500 + 1 as orders, i % 60 + 1 as item, i % 5 + 1 as pieces from range(1, 701) t(i);
create table employee as
select i::integer as id, 'E' || i as name, nullif(i // 3, 0)::integer as boss, 3000 + i * 37 % 900 as salary, ['sales', 'lab', 'office'][i % 3 + 1] as dept
from range(1, 41) t(i);
create table reading as
select i % 3 as sensor, timestamp '2023-12-30' + to_hours(i) as at, sin(i) * 10 as value from range(1, 101) t(i);
create table price_at as select timestamp '2023-12-30' + to_hours(i * 5) as at, i * 1.1 as price, i % 3 as sensor from range(0, 20) t(i);
create table host as
select i as id, ('00000000-0000-4000-8000-' || lpad(i::varchar, 12, '0'))::uuid as key, i::bit as flags, encode('b' || i) as raw from range(1, 11) t(i);
create table box as select i as id, [i, i + 1, i + 2] as numbers, [[i], [i + 1, i + 2]] as nested, array_value(i, i + 1.5, 2)::double[3] as point,
    union_value(n := i) as either from range(1, 11) t(i);
create table "Odd Names" ("select" integer, "with""quote" varchar, "Größe" integer, "semi; colon" varchar, "a?b" integer, "x:y" integer);
insert into "Odd Names" select i, 'w' || i, i * 2, ';', i, i from range(1, 6) t(i);
create view big_customers as select id, name, credit from customer where credit > 100;
create macro twice(x) as x * 2;
create macro up_to(n) as table select * from range(n) t(i);
create schema side;
create table side.customer as select 1 as id, 'in another schema' as remark;
create sequence counted;
