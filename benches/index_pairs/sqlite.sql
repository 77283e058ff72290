create table customer (id integer primary key, name text not null, email text not null, country text, joined text);
create table "Order" (id integer primary key, customer int not null references customer (id), at text not null,
    status text not null, total real not null, note text);
create table "Order Details" ("Order ID" int not null, "Product ID" int not null, quantity int, price real,
    primary key ("Order ID", "Product ID"));
create table product (id integer primary key, title text, category int, price real, discontinued int);
create table event (id integer primary key, account int, kind text, at int, payload text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into customer select i, 'Name ' || (i * 7919 % 9000), 'User' || i || '@example.org',
    substr('DEFRUSPLIT', 1 + 2 * (i % 5), 2), date('2020-01-01', '+' || (i * 31 % 2000) || ' days') from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)
insert into "Order" select i, 1 + (i * 7919 % 20000), date('2024-01-01', '+' || (i * 17 % 900) || ' days'),
    case when i % 200 = 0 then 'open' else 'done' end, i * 37 % 5000 / 10.0, 'x' from n;
with recursive n(i) as (select 0 union all select i + 1 from n where i < 199999)
insert into "Order Details" select 1 + i / 2, 1 + (i * 31 + i / 2) % 5000, i % 9, i % 100 from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
insert into product select i, 'Product ' || i, i % 60, i * 13 % 1000 / 10.0, i % 50 = 0 from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 150000)
insert into event select i, i * 7919 % 3000, 'kind' || (i % 40), i * 31 % 86400, '{"k": ' || (i % 700) || '}' from n;

-- pair: equality
-- best: "Order" (customer)
select * from "Order" where customer = 77;
-- pair: equality and order
-- best: "Order" (customer, at)
select * from "Order" where customer = 77 order by at desc limit 3;
-- pair: order and limit
-- best: "Order" (total)
select id, total from "Order" order by total desc limit 5;
-- pair: two equalities
-- best: event (account, kind)
select * from event where account = 5 and kind = 'kind7';
-- pair: equality and range
-- best: event (kind, at)
select * from event where kind = 'kind7' and at between 100 and 300;
-- pair: range before equality in the text
-- best: event (account, at)
select * from event where at > 86000 and account = 9;
-- pair: collation
-- best: customer (email collate nocase)
select id from customer where email = 'user5@example.org' collate nocase;
-- pair: expression
-- best: customer (lower(email))
select id from customer where lower(email) = 'user5@example.org';
-- pair: json
-- best: event (payload ->> '$.k')
select count(*) from event where payload ->> '$.k' = 77;
-- pair: rare state
-- best: "Order" (status) where status = 'open'
select * from "Order" where status = 'open';
-- pair: frequent state
-- best: "Order" (status, total)
select sum(total) from "Order" where status = 'done';
-- pair: nearly all
-- best: "Order" (total desc, customer)
select id from "Order" where customer > 100 order by total desc limit 10;
-- pair: not exists
-- best: "Order Details" ("Product ID", quantity)
select count(*) from product p where p.id <= 50 and not exists (select 1 from "Order Details" d where d."Product ID" = p.id and d.quantity > 8);
-- pair: join to the detail
-- best: "Order Details" ("Product ID")
select sum(d.quantity) from product p join "Order Details" d on d."Product ID" = p.id where p.title = 'Product 77';
-- pair: left join with a constant
-- best: "Order" (customer, status)
select c.id, o.id from customer c left join "Order" o on o.customer = c.id and o.status = 'open'
where c.id between 5 and 300;
-- pair: group
-- best: "Order" (customer, total)
select customer, sum(total) s from "Order" group by customer order by s desc limit 5;
-- pair: distinct
-- best: event (kind)
select distinct kind from event;
-- pair: largest
-- best: event (account, at)
select max(at) from event where account = 7;
-- pair: or
-- best: "Order" (customer); "Order" (total)
select id from "Order" where customer = 5 or total = 77.7;
-- pair: primary key
-- best:
select * from "Order Details" where "Order ID" = 5 and "Product ID" = 9;
-- pair: alias
-- best: event (account)
select account, count(*) as at from event group by account order by at limit 3;
-- pair: prefix
-- best: customer (name)
select count(*) from customer where name >= 'Name 77' and name < 'Name 78';
-- pair: in
-- best: event (account, kind)
select * from event where account in (5, 9, 77) and kind = 'kind3';
-- pair: null
-- best: "Order" (note)
select count(*) from "Order" where note is null;
