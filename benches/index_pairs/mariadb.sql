create table customer (id int primary key, name varchar(60) not null, email varchar(80) collate utf8mb4_bin not null,
    code varchar(20) not null unique, country char(2), joined date) default charset utf8mb4 collate utf8mb4_general_ci;
insert into customer select seq, concat('Name ', seq * 7919 % 9000), concat('User', seq, '@example.org'),
    concat('C', seq), elt(1 + seq % 5, 'DE', 'FR', 'US', 'PL', 'IT'), '2020-01-01' + interval seq * 31 % 2000 day
    from seq_1_to_20000;
create table invoice (id int primary key, customer int not null, at datetime not null, status varchar(10) not null,
    total decimal(9, 2) not null, note varchar(100) not null);
insert into invoice select seq, 1 + seq * 7919 % 20000, '2022-01-01' + interval seq * 17 minute,
    if(seq % 200 = 0, 'open', 'done'), seq * 37 % 5000 / 10.0, repeat('x', 60) from seq_1_to_100000;
create table `order details` (`order id` int not null, `product id` int not null, quantity int, price double,
    primary key (`order id`, `product id`));
insert into `order details` select 1 + seq div 2, 1 + (seq * 31 + seq div 2) % 5000, seq % 9, seq % 100
    from seq_0_to_119999;
create table product (id int primary key, title varchar(40), category int, price double);
insert into product select seq, concat('Product ', seq), seq % 60, seq * 13 % 1000 / 10.0 from seq_1_to_5000;
create table event (id int primary key, account int, kind varchar(20), at datetime, deleted datetime, payload json,
    body varchar(60));
insert into event select seq, seq * 7919 % 3000, concat('kind', seq % 40), '2024-01-01' + interval seq * 5 minute,
    if(seq % 100 <> 0, '2024-12-31', null), json_object('k', seq % 700), repeat('y', 40) from seq_1_to_100000;
create table parent (id int primary key, name varchar(20));
insert into parent select seq, concat('p', seq) from seq_1_to_2000;
create table child (id int primary key, parent int, note varchar(80), foreign key (parent) references parent (id)
    on delete cascade);
insert into child select seq, 1 + seq % 2000, repeat('z', 60) from seq_1_to_40000;
create table grandchild (id int primary key, child int, note varchar(80));
insert into grandchild select seq, 1 + seq % 40000, repeat('z', 60) from seq_1_to_60000;
analyze table customer, invoice, `order details`, product, event, parent, child, grandchild;

-- pair: equality without regard to case
-- best: customer (name)
select id, joined from customer where name = 'NAME 77';
-- pair: another collation than the column's
-- best:
select id, joined from customer where email collate utf8mb4_general_ci = 'user77@EXAMPLE.org';
-- pair: function of a column
-- best:
select count(*), max(body) from event where date_format(at, '%Y-%m-%d') = '2024-03-05';
-- pair: day of a time
-- best:
select count(*), max(body) from event where date(at) = '2024-03-05';
-- pair: left join with a constant
-- best: invoice (customer, status)
-- best: invoice (customer)
select c.id, i.id from customer c left join invoice i on i.customer = c.id and i.status = 'open'
where c.id between 5 and 30;
-- pair: wide range with a limit
-- best: invoice (total)
-- best: invoice (total, customer)
select id, note from invoice where customer > 100 order by total desc limit 10;
-- pair: frequent state
-- best:
select sum(length(note)), sum(total), max(at), max(customer) from invoice where status = 'done';
-- pair: not exists
-- best: `order details` (`product id`, quantity)
-- best: `order details` (`product id`)
-- best: `order details` (quantity, `product id`)
select count(*) from product p where p.id <= 50 and not exists
(select 1 from `order details` d where d.`product id` = p.id and d.quantity > 7);
-- pair: not in
-- best: `order details` (quantity, `product id`)
-- best: `order details` (`product id`, quantity)
-- best: `order details` (quantity)
select count(*) from product where id not in (select `product id` from `order details` where quantity is null);
-- pair: exists
-- best: invoice (customer, total)
-- best: invoice (customer)
select count(*) from customer c where c.id < 200 and exists
(select 1 from invoice i where i.customer = c.id and i.total > 480);
-- pair: alias of an aggregate
-- best: event (account)
select account, count(*) as at from event group by account order by at desc, account limit 3;
-- pair: primary key
-- best:
select * from `order details` where `order id` = 5 and `product id` > 0;
-- pair: unique constraint
-- best:
select * from customer where code = 'C77' and country = 'US';
-- pair: equality, range and order
-- best: event (kind, at)
-- best: event (kind, at, account)
-- best: event (kind, account)
select * from event where kind = 'kind7' and account between 5 and 2000 order by at desc limit 5;
-- pair: order by two columns
-- best: invoice (status, total)
-- best: invoice (status, total, id)
select status, total, id, note from invoice order by status desc, total desc limit 10;
-- pair: few nulls
-- best: event (deleted, kind)
-- best: event (kind, deleted)
-- best: event (kind, deleted, at)
select id, at, body from event where deleted is null and kind = 'kind20' order by at limit 20;
-- pair: group
-- best: invoice (customer, total)
select customer, sum(total) s from invoice group by customer order by s desc limit 5;
-- pair: join to the detail
-- best: `order details` (`product id`, quantity)
-- best: `order details` (`product id`)
-- best: product (title); `order details` (`product id`, quantity)
-- best: product (title); `order details` (`product id`)
select count(*) from product p join `order details` d on d.`product id` = p.id where p.title = 'Product 77' and
d.quantity = 5;
-- pair: window
-- best: invoice (customer, at)
-- best: invoice (customer)
select * from (select id, total, row_number() over (partition by customer order by at desc) as r from invoice
where customer in (7, 77, 777)) latest where r = 1;
-- pair: common table
-- best: invoice (at)
-- best: invoice (at, customer, total)
with recent as (select customer, total from invoice where at >= '2025-03-20')
select c.name, sum(r.total) from recent r join customer c on c.id = r.customer group by c.name;
-- pair: union
-- best: customer (name); product (title)
select name from customer where name = 'Name 77' union all select title from product where title = 'Product 77';
-- pair: update
-- best: invoice (at)
update invoice set note = 'old' where at < '2022-01-02';
-- pair: list
-- best: event (account, kind)
-- best: event (kind, account)
select * from event where account in (5, 9, 77) and kind = 'kind3';
-- pair: or
-- best: invoice (customer); invoice (total)
select id from invoice where customer = 5 or total = 77.7;
-- pair: beginning
-- best: customer (name)
-- best: customer (name, email)
select id, email from customer where name like 'name 77%';
-- pair: number compared with a string
-- best:
select id, email from customer where name = 77;
-- pair: delete that cascades
-- best:
-- :id = 1..900
-- value: 1500
delete from parent where id = :id;
-- pair: delete by a join
-- best: grandchild (child)
-- :id = 901..1400
-- value: 1500
delete g from grandchild g join child c on c.id = g.child where c.parent = :id;
