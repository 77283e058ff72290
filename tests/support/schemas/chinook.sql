create schema "Music Store";
create table "Music Store"."Artist" ("ArtistId" int primary key, "Name" text);
insert into "Music Store"."Artist" select i, 'Artist ' || i from generate_series(1, 1000) i;
create table "Music Store"."Album" ("AlbumId" int primary key, "Title" text, "ArtistId" int not null
    references "Music Store"."Artist" ("ArtistId"));
insert into "Music Store"."Album" select i, 'Album ' || i * 7919 % 8000, 1 + i % 1000 from generate_series(1, 8000) i;
create table "Music Store"."Track" ("TrackId" int primary key, "Name" text, "AlbumId" int
    references "Music Store"."Album" ("AlbumId"), "Genre" text, "Milliseconds" int, "Tags" jsonb);
insert into "Music Store"."Track" select i, 'Track ' || i * 31 % 60000, 1 + i % 8000, 'Genre ' || i % 25,
    i * 37 % 600000, jsonb_build_object('mood', 'm' || i % 800) from generate_series(1, 60000) i;
create table "Music Store"."Customer" ("CustomerId" int primary key, "Email" varchar(60) not null unique,
    "SupportRepId" int, "Country" text);
insert into "Music Store"."Customer" select i, 'Customer' || i || '@Example.org', i % 9, 'Country ' || i % 30
    from generate_series(1, 10000) i;
create table "Music Store"."Invoice" ("InvoiceId" int primary key, "CustomerId" int not null
    references "Music Store"."Customer" ("CustomerId"), "InvoiceDate" timestamp not null, "Total" numeric(10, 2));
insert into "Music Store"."Invoice" select i, 1 + i * 7919 % 10000, timestamp '2021-01-01' + i * interval '30 minutes',
    i * 37 % 3000 / 100.0 from generate_series(1, 60000) i;
create table "Music Store"."InvoiceLine" ("InvoiceLineId" int primary key, "InvoiceId" int not null
    references "Music Store"."Invoice" ("InvoiceId"), "TrackId" int not null, "Quantity" int);
insert into "Music Store"."InvoiceLine" select i, 1 + i / 2, 1 + i * 7919 % 60000, 1 from generate_series(1, 110000) i;
vacuum analyze;

-- name: who has this address
select "CustomerId" from "Music Store"."Customer" where lower("Email") = 'customer77@example.org';

-- name: invoices of a customer
-- :customer = 1..10000
select "InvoiceId", "Total" from "Music Store"."Invoice" i where i."CustomerId" = :customer
order by i."InvoiceDate" desc limit 5;

-- name: tracks of an artist
select t."Name", a."Title" from "Music Store"."Artist" r join "Music Store"."Album" a on a."ArtistId" = r."ArtistId"
join "Music Store"."Track" t on t."AlbumId" = a."AlbumId" where r."ArtistId" = 77 order by a."Title", t."Name";

-- name: lines of an invoice
-- :invoice = 1..50000
select l."InvoiceLineId", t."Name" from "Music Store"."InvoiceLine" l
join "Music Store"."Track" t using ("TrackId") where l."InvoiceId" = :invoice;

-- name: mood
select count(*) from "Music Store"."Track" where "Tags" @> '{"mood": "m77"}';

-- name: mood as text
select "Name" from "Music Store"."Track" where "Tags" ->> 'mood' = 'm78' limit 20;

-- name: sales of a day
select count(*), sum("Total") from "Music Store"."Invoice" where "InvoiceDate"::date = '2023-05-05';

-- name: latest of each customer
select distinct on ("CustomerId") "CustomerId", "InvoiceDate", "Total" from "Music Store"."Invoice"
where "CustomerId" between 50 and 90 order by "CustomerId", "InvoiceDate" desc;

-- name: by address
select * from "Music Store"."Customer" where "Email" = 'Customer78@Example.org';

-- name: never sold
select count(*) from "Music Store"."Track" t where t."Genre" = 'Genre 7' and t."TrackId" not in
(select l."TrackId" from "Music Store"."InvoiceLine" l where l."TrackId" is not null);
