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
-- sent: select id from customer order by id limit ?, ?
select id from customer order by id limit :m, :n;

-- :n = 5
-- :m = 2
-- sent: select id from customer order by id limit ? offset ?
select id from customer order by id limit :n offset :m;

-- :a = 7
-- sent: select ':a', ":a", ?
select ':a', ":a", :a;

-- :x = 1
-- sent: select 'it\'s :x', "say \":x\"", 'it''s :x', ?
select 'it\'s :x', "say \":x\"", 'it''s :x', :x;

-- :x = 1
-- sent: select ? # :x stays; in a comment
-- sent: , 2 -- :x too
-- sent: , 3 /* :x ? */
select :x # :x stays; in a comment
, 2 -- :x too
, 3 /* :x ? */;

-- :x = 1
-- sent: select 5--?, 5 - ?
select 5--:x, 5 - :x;

-- :x = 1
-- sent: select `x:y`, `a?b`, ? from `Odd Names` where `select` > ?
select `x:y`, `a?b`, :x from `Odd Names` where `select` > :x;

-- :a = 4
-- sent: select @a := ?, @a, @b:=?
select @a := :a, @a, @b:=:a;

-- :city = 'Bern'
-- sent: select id from customer force index (by_city) where city = ? and city <> ':city'
select id from customer force index (by_city) where city = :city and city <> ':city';

-- :city = 'Bern'
-- sent: select /*+ no_index(customer by_city) */ id from customer where city = ?
select /*+ no_index(customer by_city) */ id from customer where city = :city;

-- :city = 'Bern'
-- sent: select /*! sql_no_cache */ count(*) from customer where city = ?
select /*! sql_no_cache */ count(*) from customer where city = :city;

-- :name = 'Customer 1%'
-- sent: select name from customer where name like ? and name not like '%:name'
select name from customer where name like :name and name not like '%:name';

-- :re = '^Customer [12]$'
-- sent: select name from customer where name regexp ? and name not rlike 'x:re'
select name from customer where name regexp :re and name not rlike 'x:re';

-- :a = 1
-- :b = 10
-- sent: select count(*) from customer where id between ? and ?
select count(*) from customer where id between :a and :b;

-- :days = 3
-- sent: select count(*) from orders where placed > '2023-01-01 00:00:00' + interval ? day
select count(*) from orders where placed > '2023-01-01 00:00:00' + interval :days day;

-- :days = 3
-- sent: select date_add('2024-01-01', interval ? * 2 hour), date_sub('2024-01-01', interval ? month)
select date_add('2024-01-01', interval :days * 2 hour), date_sub('2024-01-01', interval :days month);

-- :fmt = '%Y-%m'
-- sent: select date_format(placed, ?), date_format(placed, '%H:%i:%s') from orders limit 2
select date_format(placed, :fmt), date_format(placed, '%H:%i:%s') from orders limit 2;

-- :path = '$.level'
-- sent: select json_extract(data, ?), json_extract(data, '$."a:path"') from customer limit 2
select json_extract(data, :path), json_extract(data, '$."a:path"') from customer limit 2;

-- :level = 3
-- sent: select count(*) from customer where json_extract(data, '$.level') = ?
select count(*) from customer where json_extract(data, '$.level') = :level;

-- only: mysql
-- :level = 3
-- sent: select count(*) from customer where data -> '$.level' = ? and data->>'$.address.zip' > ?
select count(*) from customer where data -> '$.level' = :level and data->>'$.address.zip' > :level;

-- :words = 'trains'
-- sent: select id from page where match (title, body) against (? in boolean mode)
select id from page where match (title, body) against (:words in boolean mode);

-- :a = 4
-- sent: select ? + 1, 0-?, 2*?, (?), 10 % ?, id-?, id div ? from item limit 1
select :a + 1, 0-:a, 2*:a, (:a), 10 % :a, id-:a, id div :a from item limit 1;

-- :a = 4
-- sent: select id from customer where id=? or id>? limit 2
select id from customer where id=:a or id>:a limit 2;

-- :a = 4
-- sent: select id from customer where id<=>? or id<>?
select id from customer where id<=>:a or id<>:a;

-- :city = 'Bern'
-- sent: select case when city = ? then ':city' else name end as ':city' from customer limit 2
select case when city = :city then ':city' else name end as ':city' from customer limit 2;

-- :city = 'Bern'
-- sent: select if(city = ?, "yes", 'no'), ifnull(email, ?), nullif(city, ?) from customer limit 2
select if(city = :city, "yes", 'no'), ifnull(email, :city), nullif(city, :city) from customer limit 2;

-- :a = 1
-- sent: with x as (select * from item where id > ?) select count(*) from x where id < 50 + ?
with x as (select * from item where id > :a) select count(*) from x where id < 50 + :a;

-- :n = 10
-- sent: with recursive t as (select 1 as n union all select n + 1 from t where n < ?) select sum(n) from t
with recursive t as (select 1 as n union all select n + 1 from t where n < :n) select sum(n) from t;

-- :lo = 5
-- sent: select state, count(*) as c from orders group by state having c > ? order by state
select state, count(*) as c from orders group by state having c > :lo order by state;

-- :d = '2023-02-01'
-- sent: select id from orders where placed >= ? and placed < ? + interval 1 day
select id from orders where placed >= :d and placed < :d + interval 1 day;

-- :d = '2023-02-01'
-- sent: select cast(? as date), convert(?, datetime), cast(? as char(4))
select cast(:d as date), convert(:d, datetime), cast(:d as char(4));

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

-- :a = 3
-- sent: select (?, 'b') = (3, 'b'), (1, ?) in ((1, 3), (2, 4)), row(?, 1) < row(4, 1)
select (:a, 'b') = (3, 'b'), (1, :a) in ((1, 3), (2, 4)), row(:a, 1) < row(4, 1);

-- :sep = 3
-- sent: select concat('?', ?, ':sep', "?"), concat_ws(?, 'a', 'b')
select concat('?', :sep, ':sep', "?"), concat_ws(:sep, 'a', 'b');

-- :a = 1
-- sent: select id from customer where id = ? union all select id from item where id = ? order by 1
select id from customer where id = :a union all select id from item where id = :a order by 1;

-- :a = 2
-- sent: select substring_index('a.b.c', '.', ?), elt(?, 'x', 'y'), lpad('7', ?, '0'), round(1.2345, ?)
select substring_index('a.b.c', '.', :a), elt(:a, 'x', 'y'), lpad('7', :a, '0'), round(1.2345, :a);

-- :a = 2
-- sent: select lag(id, 2) over (order by id), sum(id + ?) over (partition by kind order by id) from item where id < ? limit 2
select lag(id, 2) over (order by id), sum(id + :a) over (partition by kind order by id) from item where id < :a limit 2;

-- :a = 2
-- sent: select sql_no_cache ? from item limit 1
select sql_no_cache :a from item limit 1;

-- :a = 2
-- sent: select straight_join ?, i.id from item i limit 1
select straight_join :a, i.id from item i limit 1;

-- :a = 2
-- sent: select distinctrow ?, 7 mod ?, 7 div ?, binary ? from item limit 1
select distinctrow :a, 7 mod :a, 7 div :a, binary :a from item limit 1;

-- :c = 'C'
-- :n = 2
-- sent: select trim(leading ? from name), trim(both ? from name), trim(trailing ? from name), position(? in name), substring(name from ? for 3) from customer limit 1
select trim(leading :c from name), trim(both :c from name), trim(trailing :c from name), position(:c in name), substring(name from :n for 3) from customer limit 1;

-- :a = 2
-- sent: select id<?, id>?, id<=?, id<>?, id!=?, id%?, id-?, id<=>?, id||?, id&&?, !?, ~?, -? from customer limit 1
select id<:a, id>:a, id<=:a, id<>:a, id!=:a, id%:a, id-:a, id<=>:a, id||:a, id&&:a, !:a, ~:a, -:a from customer limit 1;

-- :a = 2
-- sent: select/**/?/**/,?/* :b */, ? # :c
select/**/:a/**/,:a/* :b */, :a # :c;

-- :a = 2
-- sent: select 'a\':x', "b\":y", 'c'':z', "d"":w", `x:y`, ? from `Odd Names`
select 'a\':x', "b\":y", 'c'':z', "d"":w", `x:y`, :a from `Odd Names`;
