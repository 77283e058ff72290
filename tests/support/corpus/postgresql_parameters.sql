-- :a = 3
-- sent: select * from customer where id = $1
select * from customer where id = :a;

-- :a = 1
-- :b = 2
-- sent: select id from customer where id in ($1, $2)
select id from customer where id in (:a, :b);

-- :n = 5
-- sent: select id from customer order by id limit $1
select id from customer order by id limit :n;

-- :n = 5
-- :m = 2
-- sent: select id from customer order by id limit $1 offset $2
select id from customer order by id limit :n offset :m;

-- :a = 7
-- sent: select ':a', $1::int
select ':a', :a::int;

-- :a = 7
-- sent: select $1::int::text || '::a'
select :a::int::text || '::a';

-- :x = 1
-- sent: select 'it''s :x', $1::int, E'\':x', $$:x$$, $t$ :x; $t$
select 'it''s :x', :x::int, E'\':x', $$:x$$, $t$ :x; $t$;

-- :x = 1
-- sent: select $1::int -- :x stays
-- sent: , 2 /* :x too; */
select :x::int -- :x stays
, 2 /* :x too; */;

-- :k = 'level'
-- sent: select count(*) from customer where data ? $1
select count(*) from customer where data ? :k;

-- :k = 'level'
-- sent: select data->>$1, data -> $2 from customer limit 3
select data->>:k, data -> :k from customer limit 3;

-- :k = 'level'
-- :j = 'tags'
-- sent: select count(*) from customer where data ?| array[$1, $2] and data ?& array['level', $3]
select count(*) from customer where data ?| array[:k, :j] and data ?& array['level', :j];

-- :doc = '{"level": 3}'
-- sent: select count(*) from customer where data @> $1::jsonb
select count(*) from customer where data @> :doc::jsonb;

-- :path = '$.tags[*] ? (@ == "a2")'
-- sent: select count(*) from customer where data @? $1::jsonpath
select count(*) from customer where data @? :path::jsonpath;

-- :days = 3
-- sent: select count(*) from orders where placed > timestamptz '2023-01-01 00:00:00+00' + $1 * interval '1 day'
select count(*) from orders where placed > timestamptz '2023-01-01 00:00:00+00' + :days * interval '1 day';

-- :span = '2 days'
-- sent: select date '2024-01-01' + $1::interval
select date '2024-01-01' + :span::interval;

-- :ids = '{1,2,3}'
-- sent: select id from customer where id = any($1::int[])
select id from customer where id = any(:ids::int[]);

-- :a = 1
-- :b = 2
-- sent: select (array[10, 20, 30])[$1 : $2], (array[10, 20, 30])[1:2]
select (array[10, 20, 30])[:a : :b], (array[10, 20, 30])[1:2];

-- :a = 2
-- sent: select (array[10, 20, 30])[$1], tags[$2] from customer limit 1
select (array[10, 20, 30])[:a], tags[:a] from customer limit 1;

-- :name = 'Customer 1%'
-- sent: select name from customer where name like $1 and name not like '%:name'
select name from customer where name like :name and name not like '%:name';

-- :re = '^Customer [12]$'
-- sent: select name from customer where name ~ $1 and name !~* 'x:re'
select name from customer where name ~ :re and name !~* 'x:re';

-- :a = 1
-- :b = 10
-- sent: select count(*) from customer where id between $1 and $2
select count(*) from customer where id between :a and :b;

-- :a = 4
-- sent: select $1 + 1, 0-$2, 2*$3, ($4), 10 % $5, id-$6 from item limit 1
select :a + 1, 0-:a, 2*:a, (:a), 10 % :a, id-:a from item limit 1;

-- :a = 4
-- sent: select id from customer where id=$1 or id>$2 limit 2
select id from customer where id=:a or id>:a limit 2;

-- :city = 'Bern'
-- sent: select case when city = $1 then ':city' else "name" end as ":city" from customer limit 2
select case when city = :city then ':city' else "name" end as ":city" from customer limit 2;

-- :q = 'fox & !cat'
-- sent: select title from page where words @@ to_tsquery('english', $1)
select title from page where words @@ to_tsquery('english', :q);

-- :a = 1
-- sent: with x as (select * from item where id > $1) select count(*) from x where id < 50 + $2
with x as (select * from item where id > :a) select count(*) from x where id < 50 + :a;

-- :n = 10
-- sent: with recursive t(n) as (select 1 union all select n + 1 from t where n < $1) select sum(n) from t
with recursive t(n) as (select 1 union all select n + 1 from t where n < :n) select sum(n) from t;

-- :a = 2
-- sent: select c.id, l.id from customer c left join lateral (select id from orders o where o.customer = c.id limit $1) l on true where c.id < $2 + 1
select c.id, l.id from customer c left join lateral (select id from orders o where o.customer = c.id limit :a) l on true where c.id < :a + 1;

-- :a = 1
-- :b = 'x'
-- sent: select * from (values ($1::int, $2)) v(n, s)
select * from (values (:a::int, :b)) v(n, s);

-- :lo = 5
-- sent: select state, count(*) from orders group by state having count(*) > $1 order by state
select state, count(*) from orders group by state having count(*) > :lo order by state;

-- :p = 0.5
-- sent: select percentile_cont($1) within group (order by credit) filter (where id > 3) from customer
select percentile_cont(:p) within group (order by credit) filter (where id > 3) from customer;

-- :d = '2023-02-01'
-- sent: select id from orders where placed >= $1::timestamptz and to_char(placed, 'HH24:MI:SS') <> '00:mi:ss' limit 3
select id from orders where placed >= :d::timestamptz and to_char(placed, 'HH24:MI:SS') <> '00:mi:ss' limit 3;

-- :d = '2023-02-01'
-- sent: select cast($1 as date) + 1, date_trunc('month', cast($2 as timestamp))
select cast(:d as date) + 1, date_trunc('month', cast(:d as timestamp));

-- :x = 15
-- sent: select room from booking where seats @> $1::int and seats && int4range($2, $3 + 2, '[]')
select room from booking where seats @> :x::int and seats && int4range(:x, :x + 2, '[]');

-- :tz = 'Europe/Zurich'
-- sent: select placed at time zone $1 from orders limit 1
select placed at time zone :tz from orders limit 1;

-- :first_name = 'Customer 4'
-- :_x1 = 4
-- sent: select id from customer where name = $1 and id = $2
select id from customer where name = :first_name and id = :_x1;

-- :a = 5
-- sent: select id
-- sent:   from customer
-- sent:  where id > $1
-- sent:    and name <> ';'
select id
  from customer
 where id > :a
   and name <> ';';

-- :a = 5
-- sent: /*+ SeqScan(customer) */ select count(*) from customer where id <> $1
/*+ SeqScan(customer) */ select count(*) from customer where id <> :a;

-- :a = 2
-- sent: select sum(id) over (order by id rows between $1 preceding and current row), lag(id, $2) over (order by id) from item limit 2
select sum(id) over (order by id rows between :a preceding and current row), lag(id, :a) over (order by id) from item limit 2;

-- :a = 3
-- sent: select coalesce(nullif($1::int, 3), $2::int), greatest($3, 1), twice(x => $4)
select coalesce(nullif(:a::int, 3), :a::int), greatest(:a, 1), twice(x => :a);

-- :a = 3
-- sent: select row($1::int, 'b')::pair, ($2::int, 4) = (3, 4), (1, $3) in ((1, 3))
select row(:a::int, 'b')::pair, (:a::int, 4) = (3, 4), (1, :a) in ((1, 3));

-- :tag = 't1'
-- sent: select id from customer where $1 = any(tags) and tags @> array[$2] limit 4
select id from customer where :tag = any(tags) and tags @> array[:tag] limit 4;

-- :n = 3
-- sent: select g from generate_series(1, $1) as g
select g from generate_series(1, :n) as g;

-- :a = 1
-- sent: select id from customer where id = $1 union all select id from item where id = $2 order by 1
select id from customer where id = :a union all select id from item where id = :a order by 1;

-- :n = 3
-- sent: select id from customer order by id offset $1 rows fetch first $2 rows only
select id from customer order by id offset :n rows fetch first :n rows only;

-- :n = 3
-- sent: select id from customer order by id fetch next $1 rows only
select id from customer order by id fetch next :n rows only;

-- :c = 'C'
-- sent: select trim(leading $1 from name), trim(both $2 from name), trim(trailing $3 from name), position($4 in name), substring(name from 2 for 3) from customer limit 1
select trim(leading :c from name), trim(both :c from name), trim(trailing :c from name), position(:c in name), substring(name from 2 for 3) from customer limit 1;

-- :a = 2
-- sent: select 1 operator(pg_catalog.+) ($1), overlay(name placing 'x' from $2 for 1) from customer limit 1
select 1 operator(pg_catalog.+) (:a), overlay(name placing 'x' from :a for 1) from customer limit 1;

-- :k = 'level'
-- :t = '{t1,all}'
-- sent: select data?$1, data->$2, data->>$3, tags&&$4::text[], tags@>$5::text[] from customer limit 1
select data?:k, data->:k, data->>:k, tags&&:t::text[], tags@>:t::text[] from customer limit 1;

-- :p = '{address,zip}'
-- :d = '{"level": 3}'
-- sent: select data#>$1::text[], data#>>$2::text[], data@>$3::jsonb, data||$4::jsonb, data?|$5::text[], data?&$6::text[] from customer limit 1
select data#>:p::text[], data#>>:p::text[], data@>:d::jsonb, data||:d::jsonb, data?|:p::text[], data?&:p::text[] from customer limit 1;

-- :path = '$.level ? (@ > 5)'
-- sent: select data@?$1::jsonpath, data @@'$.level > 8', data @?$2::jsonpath from customer limit 1
select data@?:path::jsonpath, data @@'$.level > 8', data @?:path::jsonpath from customer limit 1;

-- :re = '^C'
-- :a = 2
-- sent: select name~$1, name!~*$2, name~~$3, id<$4, id>$5, id<=$6, id<>$7, id!=$8, id%$9, id-$10, 'x'||$11 from customer limit 1
select name~:re, name!~*:re, name~~:re, id<:a, id>:a, id<=:a, id<>:a, id!=:a, id%:a, id-:a, 'x'||:re from customer limit 1;

-- :a = 2
-- sent: select (array[1, 2, 3])[1: $1], (array[1, 2, 3])[$2:3], (array[1, 2, 3])[id : $3] from customer limit 1
select (array[1, 2, 3])[1: :a], (array[1, 2, 3])[:a:3], (array[1, 2, 3])[id : :a] from customer limit 1;

-- :a = 2
-- sent: select distinct on (city) id from customer where (id > $1) is true or not $2 = id order by city, id + $3 limit 1
select distinct on (city) id from customer where (id > :a) is true or not :a = id order by city, id + :a limit 1;
