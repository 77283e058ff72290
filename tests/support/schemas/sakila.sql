create table film (film_id int primary key, title varchar(128) not null, description text, language_id int,
    rating enum('G', 'PG', 'R'), `special features` varchar(60)) default charset utf8mb4 collate utf8mb4_general_ci;
insert into film select seq, concat('FILM ', seq * 31 % 5000), repeat('d', 90), 1 + seq % 6, 1 + seq % 3, 'Trailers'
    from seq_1_to_5000;
create table film_actor (actor_id int, film_id int, primary key (actor_id, film_id));
insert ignore into film_actor select 1 + seq % 300, 1 + seq * 7919 % 4999 from seq_1_to_30000;
create table inventory (inventory_id int primary key, film_id int not null, store_id int not null);
insert into inventory select seq, 1 + seq * 13 % 5000, 1 + seq % 2 from seq_1_to_20000;
create table customer (customer_id int primary key, store_id int, `first name` varchar(45), `last name` varchar(45),
    email varchar(50), active boolean not null) default charset utf8mb4 collate utf8mb4_general_ci;
insert into customer select seq, 1 + seq % 2, concat('First', seq % 700), concat('LAST', seq * 7 % 5000),
    concat('c', seq, '@sakila.org'), seq % 50 <> 0 from seq_1_to_8000;
create table rental (rental_id int primary key, rental_date datetime not null, inventory_id int not null,
    customer_id int not null, return_date datetime, staff_id int);
insert into rental select seq, '2024-01-01' + interval seq * 7 minute, 1 + seq * 31 % 20000, 1 + seq * 7919 % 8000,
    if(seq < 79800, '2024-01-05' + interval seq * 7 minute, null), 1 + seq % 2 from seq_1_to_80000;
create table payment (payment_id int primary key, customer_id int not null, rental_id int, amount decimal(5, 2),
    payment_date datetime);
insert into payment select seq, 1 + seq * 7919 % 8000, seq, seq % 12, '2024-01-01' + interval seq * 7 minute
    from seq_1_to_80000;
analyze table film, film_actor, inventory, customer, rental, payment;

-- name: overdue
select r.rental_id, c.email from rental r join customer c using (customer_id)
where r.return_date is null and r.rental_date < '2025-01-23';

-- name: payments of a customer
-- :customer = 1..8000
select * from payment where customer_id = :customer order by payment_date desc limit 5;

-- name: films of an actor
select f.title from film_actor a join film f using (film_id) where a.actor_id = 77 order by f.title;

-- name: actors of a film
select a.actor_id from film f join film_actor a on a.film_id = f.film_id where f.title = 'film 77';

-- name: in stock
select count(*) from inventory i left join rental r on r.inventory_id = i.inventory_id and r.return_date is null
where i.film_id = 77 and i.store_id = 1 and r.rental_id is null;

-- name: by name
select * from customer where `last name` = 'last77' and `first name` like 'first%';

-- name: inactive
select customer_id, email from customer where active = 0 and store_id = 1;

-- name: active
select max(`last name`), max(email), sum(customer_id), min(`first name`), max(store_id) from customer where active = 1;

-- name: spent
select customer_id, sum(amount) as total from payment where payment_date >= '2025-01-20' group by customer_id
order by total desc limit 10;

-- name: one film
select * from film where film_id = 77;
