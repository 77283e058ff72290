create schema sales;
create table customer (id int primary key, name text not null, email text not null, code text not null unique,
    country text, joined date);
insert into customer select i, 'Name ' || (i * 7919 % 9000), 'User' || i || '@example.org', 'C' || i,
    (array['DE', 'FR', 'US', 'PL', 'IT'])[1 + i % 5], date '2020-01-01' + i * 31 % 2000 from generate_series(1, 20000) i;
create table sales.invoice (id int primary key, customer int not null references customer (id) on delete cascade,
    at timestamp not null, status text not null, total numeric not null, note text not null);
insert into sales.invoice select i, 1 + i * 7919 % 20000, timestamp '2022-01-01' + i * 17 * interval '1 minute',
    case when i % 200 = 0 then 'open' else 'done' end, i * 37 % 5000 / 10.0, repeat('x', 60)
    from generate_series(1, 100000) i;
create table "Order Details" ("Order ID" int not null, "Product ID" int not null, quantity int, price float8,
    primary key ("Order ID", "Product ID"));
insert into "Order Details" select 1 + i / 2, 1 + (i * 31 + i / 2) % 5000, i % 9, i % 100
    from generate_series(0, 119999) i;
create table product (id int primary key, title text, category int, price float8);
insert into product select i, 'Product ' || i, i % 60, i * 13 % 1000 / 10.0 from generate_series(1, 5000) i;
create table event (id int primary key, account int, kind text, at timestamp, deleted timestamp, payload jsonb,
    body text);
insert into event select i, i * 7919 % 3000, 'kind' || i % 40, timestamp '2024-01-01' + i * interval '5 minutes',
    case when i % 100 <> 0 then timestamp '2024-12-31' end, jsonb_build_object('k', i % 700, 'tag', 't' || i % 900),
    repeat('y', 40) from generate_series(1, 100000) i;
vacuum analyze;

-- pair: lower
-- best: customer (lower(email))
select id from customer where lower(email) = 'user5@example.org';
-- pair: day of a time
-- best: event ((at::date))
select count(*), max(body) from event where at::date = '2024-03-05';
-- pair: text of a document
-- best: event ((payload ->> 'tag'))
select id, body from event where payload ->> 'tag' = 't77';
-- pair: part of a document
-- best: event using gin (payload jsonb_path_ops)
-- best: event using gin (payload)
select id, body from event where payload @> '{"k": 77}';
-- pair: left join with a constant
-- best: sales.invoice (customer, status)
-- best: sales.invoice (customer) where status = 'open'
-- best: sales.invoice (customer)
select c.id, i.id from customer c left join sales.invoice i on i.customer = c.id and i.status = 'open'
where c.id between 5 and 30;
-- pair: wide range with a limit
-- best: sales.invoice (total)
-- best: sales.invoice (total desc, customer)
select id, note from sales.invoice where customer > 100 order by total desc limit 10;
-- pair: frequent state
-- best:
select sum(length(note)), sum(total), max(at), max(customer) from sales.invoice where status = 'done';
-- pair: not exists
-- best: "Order Details" ("Product ID", quantity)
-- best: "Order Details" ("Product ID")
-- best: "Order Details" (quantity, "Product ID")
select count(*) from product p where p.id <= 50 and not exists
(select 1 from "Order Details" d where d."Product ID" = p.id and d.quantity > 7);
-- pair: not in
-- best: "Order Details" (quantity, "Product ID")
-- best: "Order Details" (quantity)
-- best: "Order Details" ("Product ID") where quantity is null
select count(*) from product where id not in (select "Product ID" from "Order Details" where quantity is null);
-- pair: exists
-- best: sales.invoice (customer, total)
-- best: sales.invoice (customer)
select count(*) from customer c where c.id < 200 and exists
(select 1 from sales.invoice i where i.customer = c.id and i.total > 480);
-- pair: alias of an aggregate
-- best: event (account)
-- best:
select account, count(*) as at from event group by account order by at desc, account limit 3;
-- pair: primary key
-- best:
select * from "Order Details" where "Order ID" = 5 and "Product ID" > 0;
-- pair: unique constraint
-- best:
select * from customer where code = 'C77' and country = 'US';
-- pair: equality, range and order
-- best: event (kind, at)
-- best: event (kind, at, account)
-- best: event (kind, account)
select * from event where kind = 'kind7' and account between 5 and 2000 order by at desc limit 5;
-- pair: order in both directions
-- best: sales.invoice (status, total desc)
-- best: sales.invoice (status, total desc, id)
select status, total, id, note from sales.invoice order by status, total desc limit 10;
-- pair: rows that are not deleted
-- best: event (kind) where deleted is null
-- best: event (at) where deleted is null
-- best: event (kind, at) where deleted is null
select id, at, body from event where deleted is null and kind = 'kind20' order by at limit 20;
-- pair: group
-- best: sales.invoice (customer, total)
-- best: sales.invoice (customer) include (total)
-- best:
select customer, sum(total) s from sales.invoice group by customer order by s desc limit 5;
-- pair: both sides of a join
-- best: product (category); "Order Details" ("Product ID")
-- best: "Order Details" ("Product ID", quantity)
-- best: "Order Details" (quantity, "Product ID")
-- best: product (category); "Order Details" ("Product ID", quantity)
-- best: product (category); "Order Details" ("Product ID") include (quantity)
select count(*) from product p join "Order Details" d on d."Product ID" = p.id where p.title = 'Product 77' and
d.quantity = 5;
-- pair: window
-- best: sales.invoice (customer, at desc)
-- best: sales.invoice (customer, at)
-- best: sales.invoice (customer)
select * from (select id, total, row_number() over (partition by customer order by at desc) as r from sales.invoice
where customer in (7, 77, 777)) latest where r = 1;
-- pair: common table
-- best: sales.invoice (at)
-- best: sales.invoice (at) include (customer, total)
with recent as (select customer, total from sales.invoice where at >= '2025-03-20')
select c.name, sum(r.total) from recent r join customer c on c.id = r.customer group by c.name;
-- pair: union
-- best: customer (name); product (title)
select name from customer where name = 'Name 77' union all select title from product where title = 'Product 77';
-- pair: update
-- best: sales.invoice (at)
update sales.invoice set note = 'old' where at < '2022-01-02';
-- pair: list and or
-- best: event (account); customer (name)
-- best: event (account, kind)
-- best: event (account)
select * from event where account in (5, 9, 77) and kind = 'kind3';
-- pair: or
-- best: sales.invoice (customer); sales.invoice (total)
select id from sales.invoice where customer = 5 or total = 77.7;
-- pair: beginning
-- best: customer (name text_pattern_ops)
select id, email from customer where name like 'Name 77%';
-- pair: order by another collation
-- best: customer (name collate "C")
select name, id from customer order by name collate "C" limit 5;
-- pair: delete that cascades
-- best: sales.invoice (customer)
-- :id = 1..9000
-- value: 15000
delete from customer where id = :id;
