create table number (n integer primary key);
insert into number with recursive t(n) as (select 1 union all select n + 1 from t where n < 600) select n from t;

create table customer (
    id integer primary key,
    name varchar(60) not null,
    email varchar(80),
    city varchar(40),
    joined date,
    credit decimal(10, 2),
    active boolean not null default true,
    data json,
    index by_city (city),
    index by_credit (credit)
) default charset utf8mb4;
insert into customer
select n, concat('Customer ', n), if(n % 7 > 0, concat('c', n, '@example.com'), null), elt(n % 5 + 1, 'Bern', 'Oslo', 'Zürich', 'Turin', 'Łódź'),
    date_add('2020-01-01', interval n * 3 day), n * 1.5 - 40, n % 4 > 0,
    json_object('level', n % 10, 'tags', json_array(concat('a', n % 3), 'b'), 'address', json_object('zip', 8000 + n % 20))
from number where n <= 200;

create table item (id integer primary key, name varchar(40), price decimal(8, 2), weight float, kind enum('box', 'bag', 'can'), options set('red', 'big', 'new'), added datetime);
insert into item
select n, concat('item ', n), n * 0.99, n / 7, n % 3 + 1, n % 8, date_add('2021-06-01 12:00:00', interval n * 7 hour) from number where n <= 60;

create table orders (
    id integer primary key,
    customer integer references customer (id),
    placed datetime(3) not null,
    state varchar(10),
    note varchar(40),
    index by_customer (customer),
    index by_placed (placed)
);
insert into orders
select n, n % 200 + 1, date_add('2023-01-01', interval n * 5 hour), elt(n % 3 + 1, 'open', 'sent', 'paid'), if(n % 9 = 0, concat('n', n), null)
from number where n <= 500;

create table line (orders integer, item integer, pieces integer, primary key (orders, item));
insert ignore into line select n % 500 + 1, n % 60 + 1, n % 5 + 1 from number;

create table employee (id integer primary key, name varchar(20), boss integer, salary integer, dept varchar(10));
insert into employee select n, concat('E', n), nullif(n div 3, 0), 3000 + n * 37 % 900, elt(n % 3 + 1, 'sales', 'lab', 'office') from number where n <= 40;

create table page (id integer primary key, title varchar(40), body text, fulltext index by_words (title, body));
insert into page
select n, concat('Page ', n), elt(n % 3 + 1, 'The quick foxes jumped over lazy dogs', 'Databases store rows and columns', 'Slow trains run late')
from number where n <= 20;

create table reading (sensor integer, at datetime, value double) partition by range (year(at)) (
    partition p2023 values less than (2024), partition p2024 values less than maxvalue
);
insert into reading select n % 3, date_add('2023-12-30', interval n hour), sin(n) * 10 from number where n <= 100;

create table place (id integer primary key, spot point not null, spatial index (spot));
insert into place select n, point(n, n % 7) from number where n <= 20;

create table `Odd Names` (`select` integer, `with``tick` varchar(10), `Größe` integer, `semi; colon` varchar(10), `a?b` integer, `x:y` integer);
insert into `Odd Names` select n, concat('w', n), n * 2, ';', n, n from number where n <= 5;

create view big_customers as select id, name, credit from customer where credit > 100;
