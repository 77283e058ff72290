create table "Customers" ("Customer ID" text primary key, "Company Name" text not null, "Contact's Name" text,
    "Country" text collate nocase);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
insert into "Customers" select printf('C%04d', i), 'Company ' || (i * 7919 % 2999), 'Contact ' || i,
    substr('GermanyFrance SpainItaly', 1 + i % 4 * 7 - (i % 4 = 3), 6 + (i % 4 = 0)) from n;
create table "Employees" ("Employee ID" integer primary key, "Last Name" text, "Reports To" int
    references "Employees" ("Employee ID"));
with recursive n(i) as (select 1 union all select i + 1 from n where i < 8000)
insert into "Employees" select i, 'Name ' || i, nullif(i / 4, 0) from n;
create table "Products" ("Product ID" integer primary key, "Product Name" text not null unique, "Category ID" int,
    "Unit Price" real, "Discontinued" int not null default 0);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
insert into "Products" select i, 'Product ' || i, i % 8, i * 13 % 900 / 10.0, i % 40 = 0 from n;
create table "Orders" ("Order ID" integer primary key, "Customer ID" text references "Customers" ("Customer ID"),
    "Employee ID" int, "Order Date" text not null, "Shipped Date" text, "Freight" real, "Ship to" text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 40000)
insert into "Orders" select i, printf('C%04d', 1 + i * 7919 % 3000), 1 + i % 9,
    date('2020-01-01', '+' || (i / 25) || ' days'), case when i < 39900 then date('2020-01-05', '+' || (i / 25) || ' days') end,
    i * 37 % 1000 / 10.0, 'Street ' || i from n;
create table "Order Details" ("Order ID" int not null references "Orders" ("Order ID") on delete cascade,
    "Product ID" int not null, "Unit Price" real, "Quantity" int, "Discount" real, primary key ("Order ID", "Product ID"));
with recursive n(i) as (select 0 union all select i + 1 from n where i < 79999)
insert into "Order Details" select 1 + i / 2, 1 + (i * 31 + i / 2) % 2000, i % 90, i % 50, i % 3 / 10.0 from n;

-- name: orders of a customer
-- :customer = @"Customer ID" of "Orders"
select * from "Orders" where "Customer ID" = :customer order by "Order Date" desc limit 10;

-- name: not shipped yet
select "Order ID", "Order Date", "Ship to" from "Orders" where "Shipped Date" is null order by "Order Date";

-- name: sales of a product
select sum(d."Unit Price" * d."Quantity") from "Products" p join "Order Details" d on d."Product ID" = p."Product ID"
where p."Product Name" = 'Product 77';

-- name: everyone below
with recursive below(id) as (select 77 union all
select e."Employee ID" from "Employees" e join below on e."Reports To" = below.id) select count(*) from below;

-- name: customers without an order this year
select c."Contact's Name" from "Customers" c where c."Country" = 'spain' and not exists
(select 1 from "Orders" o where o."Customer ID" = c."Customer ID" and o."Order Date" >= '2024-04-01');

-- name: one line
select * from "Order Details" where "Order ID" = 77 and "Product ID" = 5;

-- name: discontinued
select p."Product Name", sum(d."Quantity") from "Products" p left join "Order Details" d
on d."Product ID" = p."Product ID" and d."Discount" > 0.15 where p."Discontinued" = 1 group by p."Product ID";
