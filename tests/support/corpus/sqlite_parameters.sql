-- :a = 3
-- sent: select * from customer where id = ?
select * from customer where id = :a;

-- :a = 1
-- :b = 2
-- sent: select id from customer where id in (?, ?)
select id from customer where id in (:a, :b);

-- :a = 1
-- sent: select id from customer where id in(?,?,?)
select id from customer where id in(:a,:a,:a);

-- :n = 5
-- sent: select id from customer order by id limit ?
select id from customer order by id limit :n;

-- :n = 5
-- :m = 2
-- sent: select id from customer order by id limit ? offset ?
select id from customer order by id limit :n offset :m;

-- :a = 7
-- sent: select ':a', ?, ':a;'
select ':a', :a, ':a;';

-- :x = 1
-- sent: select 'it''s :x', "x:y", [x:y], `x:y`, [a?b], ? from "Odd Names"
select 'it''s :x', "x:y", [x:y], `x:y`, [a?b], :x from "Odd Names";

-- :x = 1
-- sent: select ? -- :x stays
-- sent: , 2 /* :x ? too; */
select :x -- :x stays
, 2 /* :x ? too; */;

-- :x = 1
-- sent: select 5 - ?, 5-?, 5 - -?, -?, +?, ~?
select 5 - :x, 5-:x, 5 - -:x, -:x, +:x, ~:x;

-- :city = 'Bern'
-- sent: select id from customer indexed by by_city where city = ? and city <> ':city'
select id from customer indexed by by_city where city = :city and city <> ':city';

-- :name = 'Customer 1%'
-- sent: select name from customer where name like ? and name not like '%:name' escape '\'
select name from customer where name like :name and name not like '%:name' escape '\';

-- :re = 'Customer [12]'
-- sent: select name from customer where name glob ? and name not glob 'x:re?'
select name from customer where name glob :re and name not glob 'x:re?';

-- :a = 1
-- :b = 10
-- sent: select count(*) from customer where id between ? and ?
select count(*) from customer where id between :a and :b;

-- :days = 3
-- sent: select count(*) from orders where placed > date('2023-01-01', '+' || ? || ' days')
select count(*) from orders where placed > date('2023-01-01', '+' || :days || ' days');

-- :fmt = '%Y-%m'
-- sent: select strftime(?, placed), strftime('%H:%M:%S', placed) from orders limit 2
select strftime(:fmt, placed), strftime('%H:%M:%S', placed) from orders limit 2;

-- :path = '$.level'
-- sent: select data -> ?, data->>?, data ->> '$.a:path' from customer limit 2
select data -> :path, data->>:path, data ->> '$.a:path' from customer limit 2;

-- :path = '$.tags'
-- sent: select value from customer c, json_each(c.data, ?) where c.id = 1
select value from customer c, json_each(c.data, :path) where c.id = 1;

-- :words = 'trains OR fox*'
-- sent: select title from page where page match ? order by rank
select title from page where page match :words order by rank;

-- :words = 'trains'
-- sent: select title from page(?) where title <> ':words'
select title from page(:words) where title <> ':words';

-- :a = 4
-- sent: select ? + 1, 0-?, 2*?, (?), 10 % ?, id-?, id/? from item limit 1
select :a + 1, 0-:a, 2*:a, (:a), 10 % :a, id-:a, id/:a from item limit 1;

-- :a = 4
-- sent: select id from customer where id=? or id==? or id>? or id is ? limit 2
select id from customer where id=:a or id==:a or id>:a or id is :a limit 2;

-- :a = 4
-- sent: select id from customer where id is distinct from ? and id is not ? limit 2
select id from customer where id is distinct from :a and id is not :a limit 2;

-- :city = 'Bern'
-- sent: select case when city = ? then ':city' else name end as ":city" from customer limit 2
select case when city = :city then ':city' else name end as ":city" from customer limit 2;

-- :city = 'Bern'
-- sent: select iif(city = ?, 'yes', 'no'), ifnull(email, ?), nullif(city, ?) from customer limit 2
select iif(city = :city, 'yes', 'no'), ifnull(email, :city), nullif(city, :city) from customer limit 2;

-- :city = 'bern'
-- sent: select id from customer where city = ? collate nocase and lower(city)=? limit 2
select id from customer where city = :city collate nocase and lower(city)=:city limit 2;

-- :a = 1
-- sent: with x as (select * from item where id > ?) select count(*) from x where id < 50 + ?
with x as (select * from item where id > :a) select count(*) from x where id < 50 + :a;

-- :n = 10
-- sent: with recursive t(n) as (select 1 union all select n + 1 from t where n < ?) select sum(n) from t
with recursive t(n) as (select 1 union all select n + 1 from t where n < :n) select sum(n) from t;

-- :a = 1
-- :b = 'x;y'
-- sent: select * from (values (?, ?), (2, ':b'))
select * from (values (:a, :b), (2, ':b'));

-- :lo = 5
-- sent: select state, count(*) as c from orders group by state having c > ? order by state
select state, count(*) as c from orders group by state having c > :lo order by state;

-- :a = 3
-- sent: select cast(? as text), typeof(?), quote(?), ? || 'x:a'
select cast(:a as text), typeof(:a), quote(:a), :a || 'x:a';

-- :a = 3
-- sent: select (?, 'b') = (3, 'b'), (1, ?) in (values (1, 3), (2, 4)), (?, 1) < (4, 1)
select (:a, 'b') = (3, 'b'), (1, :a) in (values (1, 3), (2, 4)), (:a, 1) < (4, 1);

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
-- sent: select id from customer where id = ? union all select id from item where id = ? order by 1
select id from customer where id = :a union all select id from item where id = :a order by 1;

-- :a = 2
-- sent: select sum(id) filter (where id > ?) over (order by id rows ? preceding) from item limit 2
select sum(id) filter (where id > :a) over (order by id rows :a preceding) from item limit 2;

-- :table = 'customer'
-- sent: select name from pragma_table_info(?) where name <> ':table'
select name from pragma_table_info(:table) where name <> ':table';

-- :x = 5
-- sent: select id from area where min_x <= ? and max_x >= ?
select id from area where min_x <= :x and max_x >= :x;

-- :a = 2
-- sent: select printf('%d:%s:a', ?, ':a'), substr('abcde', ?, ?), replace('a:a', ':a', ?)
select printf('%d:%s:a', :a, ':a'), substr('abcde', :a, :a), replace('a:a', ':a', :a);

-- :a = 2
-- sent: select x'3a61', x'3f', ?, 0x1F + ?
select x'3a61', x'3f', :a, 0x1F + :a;

-- :a = 2
-- sent: select (select count(*) from orders o where o.customer = c.id and o.id > ?) from customer c where exists (select 1 from item where id = ?) limit 2
select (select count(*) from orders o where o.customer = c.id and o.id > :a) from customer c where exists (select 1 from item where id = :a) limit 2;

-- :a = 2
-- sent: select distinct city from customer order by length(city) > ? desc, city limit ?
select distinct city from customer order by length(city) > :a desc, city limit :a;

-- :a = 2
-- sent: select id<?, id>?, id<=?, id<>?, id!=?, id==?, id%?, id-?, id||?, id<<?, id&?, not ?, -? from customer limit 1
select id<:a, id>:a, id<=:a, id<>:a, id!=:a, id==:a, id%:a, id-:a, id||:a, id<<:a, id&:a, not :a, -:a from customer limit 1;

-- :a = 2
-- sent: select/**/?/**/,?/* :b */, ? --:c
select/**/:a/**/,:a/* :b */, :a --:c;

-- :k = 'level'
-- sent: select data->?, data->>?, data -> 'tags' ->> ?, data->'$.a:k' from customer limit 1
select data->:k, data->>:k, data -> 'tags' ->> :k, data->'$.a:k' from customer limit 1;

-- :a = 2
-- sent: select distinct ?, id from customer group by id having count(*) < ? or ? is null order by ? limit ?
select distinct :a, id from customer group by id having count(*) < :a or :a is null order by :a limit :a;
