-- :a = 3
-- sent: select * from customer where id = ?
select * from customer where id = :a;

-- :a = 1
-- :b = 2
-- sent: select id from customer where id in (?, ?)
select id from customer where id in (:a, :b);

-- :a = 1
-- :b = 2
-- sent: select id from customer where id in [?, ?] or id in(?,?)
select id from customer where id in [:a, :b] or id in(:a,:b);

-- :n = 5
-- sent: select id from customer order by id limit ?
select id from customer order by id limit :n;

-- :n = 5
-- :m = 2
-- sent: select id from customer order by id limit ? offset ?
select id from customer order by id limit :n offset :m;

-- :a = 7
-- sent: select ':a', ?::int, ':a;'
select ':a', :a::int, ':a;';

-- :a = 7
-- sent: select ?::int::varchar || '::a'
select :a::int::varchar || '::a';

-- :x = 1
-- sent: select 'it''s :x', ?::int, E'\':x', $$:x ?$$, $t$ :x; $t$, "x:y", "a?b" from "Odd Names"
select 'it''s :x', :x::int, E'\':x', $$:x ?$$, $t$ :x; $t$, "x:y", "a?b" from "Odd Names";

-- :x = 1
-- sent: select ?::int -- :x stays
-- sent: , 2 /* :x ? too; */
select :x::int -- :x stays
, 2 /* :x ? too; */;

-- :path = '$.level'
-- sent: select data -> ?, data->>?, data ->> '$.a:path' from customer limit 2
select data -> :path, data->>:path, data ->> '$.a:path' from customer limit 2;

-- :days = 3
-- sent: select count(*) from orders where placed > timestamptz '2023-01-01 00:00:00+00' + to_days(?::int)
select count(*) from orders where placed > timestamptz '2023-01-01 00:00:00+00' + to_days(:days::int);

-- :span = '2 days'
-- sent: select date '2024-01-01' + ?::interval, cast(? as interval)
select date '2024-01-01' + :span::interval, cast(:span as interval);

-- :a = 2
-- sent: select ([10, 20, 30])[?], [1, 2, 3][1:2], list_slice([1, 2, 3], ?, 3)
select ([10, 20, 30])[:a], [1, 2, 3][1:2], list_slice([1, 2, 3], :a, 3);

-- :a = 2
-- sent: select ([10, 20, 30])[1 : ?], tags[?::int] from customer limit 1
select ([10, 20, 30])[1 : :a], tags[:a::int] from customer limit 1;

-- :a = 2
-- sent: select {'k': ?::int, 'x:a': 'v'}, map {'k': ?::int}
select {'k': :a::int, 'x:a': 'v'}, map {'k': :a::int};

-- :a = 2
-- sent: select list_transform([1, 2, 3], lambda x: x + ?), list_filter(tags, lambda t: t <> ':a') from customer limit 1
select list_transform([1, 2, 3], lambda x: x + :a), list_filter(tags, lambda t: t <> ':a') from customer limit 1;

-- :a = 2
-- sent: select [x * ? for x in [1, 2, 3] if x > ?]
select [x * :a for x in [1, 2, 3] if x > :a];

-- :a = 2
-- sent: select a: ? + 1, b: 'x' from customer limit 1
select a: :a + 1, b: 'x' from customer limit 1;

-- :name = 'Customer 1%'
-- sent: select name from customer where name like ? and name not ilike '%:name' escape '\'
select name from customer where name like :name and name not ilike '%:name' escape '\';

-- :re = 'Customer [12]'
-- sent: select name from customer where name ~ ? and regexp_matches(name, ?) and name not similar to 'x:re?'
select name from customer where name ~ :re and regexp_matches(name, :re) and name not similar to 'x:re?';

-- :a = 1
-- :b = 10
-- sent: select count(*) from customer where id between ? and ?
select count(*) from customer where id between :a and :b;

-- :a = 4
-- sent: select ? + 1, 0-?, 2*?, (?), 10 % ?, id-?, id//?, id** ? from item limit 1
select :a + 1, 0-:a, 2*:a, (:a), 10 % :a, id-:a, id//:a, id** :a from item limit 1;

-- :a = 4
-- sent: select id from customer where id=? or id>? or id==? limit 2
select id from customer where id=:a or id>:a or id==:a limit 2;

-- :city = 'Bern'
-- sent: select case when city = ? then ':city' else name end as ":city" from customer limit 2
select case when city = :city then ':city' else name end as ":city" from customer limit 2;

-- :city = 'Bern'
-- sent: from customer select name where city = ? limit 2
from customer select name where city = :city limit 2;

-- :city = 'Bern'
-- sent: select * exclude (data) from customer where city = ? qualify row_number() over (order by id) < 3
select * exclude (data) from customer where city = :city qualify row_number() over (order by id) < 3;

-- :a = 1
-- sent: with x as (select * from item where id > ?) select count(*) from x where id < 50 + ?
with x as (select * from item where id > :a) select count(*) from x where id < 50 + :a;

-- :n = 10
-- sent: with recursive t(n) as (select 1 union all select n + 1 from t where n < ?) select sum(n) from t
with recursive t(n) as (select 1 union all select n + 1 from t where n < :n) select sum(n) from t;

-- :a = 1
-- :b = 'x;y'
-- sent: select * from (values (?::int, ?), (2, ':b')) v(n, s)
select * from (values (:a::int, :b), (2, ':b')) v(n, s);

-- :lo = 5
-- sent: select state, count(*) as c from orders group by all having c > ? order by all
select state, count(*) as c from orders group by all having c > :lo order by all;

-- :d = '2023-02-01'
-- sent: select id from orders where placed >= ?::timestamptz and strftime(placed, '%H:%M:%S') <> '00:mi:ss' limit 3
select id from orders where placed >= :d::timestamptz and strftime(placed, '%H:%M:%S') <> '00:mi:ss' limit 3;

-- :d = '2023-02-01'
-- sent: select cast(? as date) + 1, date_trunc('month', cast(? as timestamp)), try_cast(? as date)
select cast(:d as date) + 1, date_trunc('month', cast(:d as timestamp)), try_cast(:d as date);

-- :first_name = 'Customer 4'
-- :_x1 = 4
-- sent: select id from customer where name = ? and id = ?
select id from customer where name = :first_name and id = :_x1;

-- :a = 5
-- sent: select id
-- sent:   from customer
-- sent:  where id > ?
-- sent:    and name <> ';'
select id
  from customer
 where id > :a
   and name <> ';';

-- :a = 1
-- sent: select id from customer where id = ? union all by name select id from item where id = ? order by 1
select id from customer where id = :a union all by name select id from item where id = :a order by 1;

-- :a = 2
-- sent: select sum(id) filter (where id > ?) over (order by id rows 2 preceding), lag(id, 1, ?) over (order by id) from item limit 2
select sum(id) filter (where id > :a) over (order by id rows 2 preceding), lag(id, 1, :a) over (order by id) from item limit 2;

-- :tag = 't1'
-- sent: select id from customer where ? = any(tags) or list_contains(tags, ?) limit 4
select id from customer where :tag = any(tags) or list_contains(tags, :tag) limit 4;

-- :n = 3
-- sent: select i from range(?) t(i), generate_series(1, ?) s(j) where j < ?
select i from range(:n) t(i), generate_series(1, :n) s(j) where j < :n;

-- :a = 3
-- sent: select (?::int, 'b') = (3, 'b'), row(?::int, 1) < row(4, 1), coalesce(null, ?), greatest(?, 1)
select (:a::int, 'b') = (3, 'b'), row(:a::int, 1) < row(4, 1), coalesce(null, :a), greatest(:a, 1);

-- :a = 2
-- sent: select c.id, x.id from customer c left join lateral (select id from orders o where o.customer = c.id and o.id > ? limit 2) x on true where c.id < ? + 1
select c.id, x.id from customer c left join lateral (select id from orders o where o.customer = c.id and o.id > :a limit 2) x on true where c.id < :a + 1;

-- :p = 0.5
-- sent: select quantile_cont(credit, 0.5), count(*) filter (credit > ?) from customer
select quantile_cont(credit, 0.5), count(*) filter (credit > :p) from customer;

-- :a = 2
-- sent: select id<?, id>?, id<=?, id<>?, id!=?, id==?, id%?, id-?, id||?, not ? = 1, -? from customer limit 1
select id<:a, id>:a, id<=:a, id<>:a, id!=:a, id==:a, id%:a, id-:a, id||:a, not :a = 1, -:a from customer limit 1;

-- :k = 'level'
-- sent: select data->?, data->>?, data -> 'tags' ->> ?, data->'$.a:k' from customer limit 1
select data->:k, data->>:k, data -> 'tags' ->> :k, data->'$.a:k' from customer limit 1;

-- :a = 2
-- sent: select {'k':id, 'v': ?::int}, [1, 2, 3][id:id], map {'k':id}, "a":id, b:name, c: ?::int from (select 1 as id, 'x' as name)
select {'k':id, 'v': :a::int}, [1, 2, 3][id:id], map {'k':id}, "a":id, b:name, c: :a::int from (select 1 as id, 'x' as name);

-- :a = 2
-- sent: select id from customer where id > 1 qualify row_number() over (order by id) < ? + 1
select id from customer where id > 1 qualify row_number() over (order by id) < :a + 1;

-- :c = 'C'
-- sent: select trim(leading ? from name), position(? in name), substring(name from 2 for 3) from customer limit 1
select trim(leading :c from name), position(:c in name), substring(name from 2 for 3) from customer limit 1;

-- :n = 3
-- sent: select id from customer order by id offset ? rows fetch first ? rows only
select id from customer order by id offset :n rows fetch first :n rows only;
