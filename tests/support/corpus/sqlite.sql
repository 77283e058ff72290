-- Strings and literals
select 'plain', 'it''s', '', 'two words';

select 'a;b', ';', 'c;', '; -- ;';

select ':name is no parameter', '::text', ':1', 'at 12:30:45';

select '%s and %d and %% and %(name)s', '100%';

select '? ?1 $1 @name #tag {x} {{y}}', '?';

select 'back\slash', '\', '\n stays two characters', '\\';

select '-- no comment', '/* nor this */', '*/', '--', '#';

select 'emoji 😀 and 漢字 and Ελληνικά', length('😀');

select 'a
b', 'tab	inside';

select x'', x'41', X'DEADbeef', hex(x'00ff'), typeof(x'41'), quote(x'4142');

select 42, 3.5, 4., .001, 5e2, 1.925e-3, 1E+3, -1, +1, - -1, 1 - -1, 2-1;

select 9223372036854775807, -9223372036854775808, 9223372036854775808, 0x1F, 0XffFF, 0x7fffffffffffffff, -0x1;

select 1_000_000, 0x00_FF, 3.141_592;

select true, false, null, TRUE, 1 is true, 0 is not false, 2 is true;

select current_date > '2000', length(current_time), current_timestamp is not null;

select '"', '''', '""', '`', '[', ']';

select '$$', '$tag$ text $tag$', 'E''x''', '#', '@', 'x''41''';

select '' || '' as e, '' is null, length('') = 0, 'a' || 'b'   ||	'c';

-- Comments
select 1 -- to the end of the line
;

select 1 /* a comment; */ + /* another */ 2 /**/;

/* before everything */ select 1;

select/**/1/**/as/**/x;

select 5 --3
;

select 1 -- it's "open; /*
, 2;

select 1 /* it's "open; -- */ , 2;

select 1 /* outer /* not nested */ + 1;

select 7 -- 漢字 😀
  , 8 -- last;

select 1 --
, 2 --;
, 3;

-- Names
select "select", "with""quote", [in brackets], `back``tick`, "Größe", "semi; colon", "a?b", "x:y" from "Odd Names";

select [Odd Names].[select], `o`.`select`, "o"."Größe" from [Odd Names], `Odd Names` as "o" limit 1;

select 1 as "two words", 2 as [three words], 3 as `four words`, 4 as 'five', 5 six, 6 as "semi;colon", 7 as "q""d";

select 1 as größe, 2 as ñandú, 3 as 漢字, 4 as a$b, 5 as _u, 6 as "😀";

SELECT Name FROM Customer WHERE ID=5;

SeLeCt id FrOm customer WhErE id In (1,2);

select main.customer.id, c.name from main.customer, customer as c limit 2;

select customer.* from customer where customer.id = 3;

select "name", 'name', [name], `name` from customer limit 1;

select id as "#hash", name as "--dash", city as "/*star*/", 1 as ":x", 2 as "?" from customer limit 1;

select [x:y], [a?b], "x:y" + [a?b] as [a]
from [Odd Names] where [a?b] > 1;

select 1 as abort, 2 as replace, 3 as key, 4 as row, 5 as end_;

-- White space
select
	id,
	name
from	customer
where	id	=	4;

  select   1   ;

select 1
  ,    2   	
  ,3;

select(1),(select(2));

select id from customer where id=(1)and name is not null;

select count(*),max(id)from customer where id=1 or(id>5);

select-1,+1,-(1),~0,not 0;

select
id
from
item
where
id
in
(
1
,
2
)
;

-- Operators
select 7 + 2, 7 - 2, 7 * 2, 7 / 2, 7 % 2, 7.0 / 2, -7 % 3, 10%4, '3' + '4', 5 / 0;

select 91 & 15, 32 | 3, ~1, 1 << 4, 8 >> 2, 'a' || 'b', 1 || 2;

select 2 <> 3, 2 != 3, 2 <= 3, 2 >= 3, 2 < 3, 2 > 3, 2 = 2, 2 == 2;

select not 1, 1 and 0, 1 or 0, null and 0, null or 1, not null is null;

select null is null, 1 is not null, 1 isnull, 1 notnull, 1 not null, 1 is 1, 'a' is 'a', null is 1, 1 is not 2;

select 1 is distinct from null, null is not distinct from null, 1 is not distinct from 1;

select 5 between 1 and 10, 5 not between 6 and 7, 3 in (1, 2, 3), 4 not in (1, 2), 1 in ();

select (1, 2) = (1, 2), (1, 2) < (1, 3), (1, 2) is (1, 2), (id, city) = (1, 'Oslo'), (id, city) in (values (1, 'Oslo'), (2, 'x')) from customer limit 1;

select 2 * (3 + 4), (((1))), -(2 + 2), - - 1, ~~1, 1 - 1 - 1, 2 + 3 * 4;

select 'abc' < 'abd', 'a' < 'B', 1 < 'a', x'41' > 'z', null < 1, 'a' = 'A' collate nocase;

select 'x' collate nocase = 'X', 'a ' = 'a' collate rtrim, 'b' collate binary < 'B';

select id from item where kind = 'BAG' and name collate nocase = 'ITEM 1' or kind in ('CAN') limit 2;

select id, id=id, id<>5, id!=5, id<5, id>=5, id%10, id*-1, id- -1 from customer where id<>3 limit 2;

-- Casts and types
select cast('5' as integer), cast('5.5x' as real), cast(3.7 as int), cast('abc' as blob), cast(x'616263' as text), cast('12' as numeric), cast(null as text);

select typeof(1), typeof(1.5), typeof('x'), typeof(null), typeof(x'00'), typeof(price), typeof(weight) from item limit 1;

select cast(id as varchar(10)), cast(price as decimal(8, 2)), cast('0x1f' as integer), cast('1e3' as integer) from item limit 1;

-- Conditions
select case when id < 3 then 'low' when id < 5 then 'mid' else 'high' end from customer where id < 7;

select case id % 2 when 0 then 'even' when 1 then 'odd' end from customer limit 3;

select coalesce(email, name), ifnull(email, 'none'), nullif(city, 'Bern'), iif(credit > 0, 'plus', 'minus'), if(active, 1, 0) from customer limit 8;

select id from customer where active and not (id > 20) or id = 150;

select id from customer where credit > 100 and active = 1 order by credit limit 3;

-- Patterns
select name from customer where name like 'Customer 1_' order by name;

select name from customer where name not like '%9%' and city like 'b%';

select 'a%b' like 'a!%b' escape '!', 'a_b' like 'a\_b' escape '\', 'A' like 'a', 'Ä' like 'ä';

select name from customer where name glob 'Customer 1[0-4]' or name glob 'C*er ?';

select 'abc' not glob 'A*', 'x?' glob 'x[?]', 'a]b' glob 'a[]]b', glob('a*', 'abc'), like('a%', 'ABC'), like('a!%', 'a%', '!');

-- String functions
select upper('abc'), lower('ÄÖX'), length('four'), length(x'0102'), octet_length('ß'), unicode('€'), char(8364, 33), hex('abc'), unhex('4142'), quote('it''s');

select trim('  x '), trim('xyx', 'x'), ltrim(' a'), rtrim('a..', '.'), substr('abcde', 2, 3), substring('abcde', -2), instr('banana', 'n'), replace('abc', 'b', 'x');

select concat('a', null, 1), concat_ws('-', 'a', null, 'b'), soundex('Robert'), zeroblob(3), quote(null), typeof(randomblob(2)), abs(-3), sign(-2.5);

select printf('%d %s %05.2f %x %q %%', 42, 'x', 3.14159, 255, 'it''s'), format('%,d|%-5s|%w', 1234567, 'a', 'q"d');

select round(2.5), round(1.2345, 2), max(1, 5, 3), min(4, 2), abs(random()) >= 0, likelihood(1, 0.5), likely(1), unlikely(0), total_changes() >= 0, changes() >= 0;

select last_insert_rowid() >= 0, sqlite_version() > '3', sqlite_source_id() is not null, sqlite_compileoption_used('ENABLE_FTS5'), nullif(1, 1), unistr('\u00e9;');

select group_concat(name, '; '), string_agg(city, ', ' order by city desc), group_concat(distinct city), count(distinct city) from customer where id < 6;

-- Dates and times
select date('2024-01-31', '+1 month'), time('12:30'), datetime('2024-01-01 10:00', '-2 hours', '+30 minutes'), julianday('2024-01-01'), unixepoch('2024-01-01'), strftime('%Y-%m-%d %H:%M:%S', '2024-01-02 13:04:05');

select strftime('%j %w %W %s %% %f', '2024-05-06 07:08:09.123'), date('2024-05-15', 'start of month', '+1 month', '-1 day'), datetime(0, 'unixepoch'), date('now') >= '2020', datetime('2024-01-01', 'weekday 0'), timediff('2024-03-01', '2024-02-01');

select date(1700000000, 'auto'), time('10:00', '+00:30'), datetime('2024-01-01T10:00:00Z'), datetime('2024-01-01 10:00:00+05:30', 'subsec'), date('2024-02-30'), date('2024-01-31', '+1 month', 'floor');

select * from orders where placed >= '2023-02-01' and placed < date('2023-02-01', '+2 days');

select strftime('%Y-%m', placed) as month, count(*) from orders group by month order by month;

-- JSON
select data -> '$.level', data ->> '$.level', data -> 'tags', data -> 'tags' -> 0, data ->> '$.tags[1]', data->'address'->>'zip', data -> '$.tags[#-1]' from customer limit 1;

select data->>'level' from customer where data->>'$.level'=3 limit 2;

select json_extract(data, '$.level', '$.tags'), json_type(data, '$.tags'), json_valid(data), json_valid('{a:1}', 2), json_array_length(data, '$.tags') from customer limit 1;

select json_object('a', 1, 'b', 'x;y', 'c', json(':z')) from (select 1) where 0;

select json_object('a', 1, 'b', 'x;y', 'c', ':z', 'd', '?'), json_array(1, 'a', null, 2.5), json_quote('say "x"'), json(' { "a" : [ 1 ] } '), json_error_position('{"a":}');

select json_set('{"a": 1}', '$.b', 2), json_insert('[1, 2]', '$[#]', 3), json_replace('{"a": 1}', '$.a', 9), json_remove('[1, 2]', '$[0]'), json_patch('{"a": 1}', '{"b": 2}'), json_pretty('[1]');

select json_group_array(id), json_group_object(id, city) from customer where id < 4;

select key, value, type, atom, fullkey, path from json_each('{"a": 1, "b": [true, null]}');

select fullkey, atom from json_tree('{"a": {"b": [1, 2]}}') where atom is not null;

select c.id, t.value from customer c, json_each(c.data, '$.tags') as t where c.id < 3;

select c.id from customer c where exists (select 1 from json_each(c.data -> 'tags') where value = 'a2') limit 3;

select hex(jsonb('[1]')), json(jsonb_object('a', 1)), json(jsonb_extract('{"a": [1]}', '$.a')), typeof(jsonb_array(1));

select json_extract('{"a b": {"c": 1}, "x.y": 2}', '$."a b".c', '$."x.y"'), '{"a:b": 1}' ->> 'a:b', '{"?": 1}' ->> '?';

select json('{unquoted: ''single'', hex: 0x1F, trailing: [1, 2,], }'), json_extract('[1,{"k":":v;"}]', '$[1].k');

-- Full text
select rowid, title from page where page match 'fox*';

select title from page where page match 'title : trains OR body : (rows AND columns)';

select title from page('databases') order by rank;

select title from page where page = 'late' or rowid = 1;

select highlight(page, 1, '<b>', '</b>'), snippet(page, 1, '[', ']', '…', 4), bm25(page, 10.0, 1.0) from page where page match 'trains' order by bm25(page);

select rowid from page where body match '"store rows"' union select rowid from page where title match '^mixed';

select title from page where page match 'NEAR(slow run, 3) NOT foxes';

select docid, title, snippet(old_page), offsets(old_page) from old_page where old_page match 'fox* -trains';

select title from old_page where old_page match 'title:trains body:late';

select hex(matchinfo(old_page, 'x')) is not null from old_page where old_page match 'foxes OR trains';

-- R-tree
select id from area where min_x >= 0 and max_x <= 15 and min_y >= 0 and max_y <= 15;

select a.id, b.id from area a, area b where a.max_x > b.min_x and a.min_x < b.max_x and a.id < b.id;

-- Subqueries
select name, (select count(*) from orders o where o.customer = c.id) as n from customer c where id < 4;

select id from customer where id in (select customer from orders where state = 'open') and id not in (1, 4) limit 5;

select id from customer c where exists (select 1 from orders where customer = c.id) and not exists (select 1 from orders o where o.customer = c.id and o.note = 'n9') limit 4;

select id from item where price = (select max(price) from item) or id in (select id from item limit 2);

select * from (select id, name from customer where id < 3) as s, (select 1 as a) t;

select id from orders where (customer, state) = (5, 'open') or (customer, state) in (select id, 'sent' from customer where id < 4);

select id from customer where id in (select value from json_each('[1, 2, "3", ":x"]')) limit 3;

select 3 in (select id from item), 'x' in (select kind from item), 'bag' in (select kind from item);

-- Joins
select o.id, c.name from orders o, customer c where o.customer = c.id and o.id < 4;

select o.id, c.name from orders as o inner join customer as c on c.id = o.customer where o.id < 4;

select c.id, o.id from customer c left outer join orders o on o.customer = c.id and o.state = 'paid' where c.id < 6;

select o.id, c.id from orders o right join customer c on o.customer = c.id and o.note > 'n4' where c.id < 9;

select a.id, b.id from (select 1 as id union select 2) a full outer join (select 2 as id union select 3) b using (id);

select * from (select 1 as id, 'a' as x) a natural join (select 1 as id, 'b' as y) b natural left join (select 1 as id) d;

select count(*) from item a cross join item b;

select c.id from orders o cross join customer c on c.id = o.customer where o.id < 3;

select e.name, b.name as boss from employee e left join employee b on e.boss = b.id order by e.id limit 5;

select c.id from customer c join (orders o join line l on l.orders = o.id) on o.customer = c.id where l.pieces > 4 limit 3;

select a.id, a.x, b.y from (select 1 as id, 'l' as x) a join (select 1 as id, 'r' as y) b using (id);

-- Index choices
select * from customer indexed by by_city where city = 'Bern' limit 2;

select * from customer not indexed where city = 'Bern' limit 2;

select o.id from orders as o indexed by by_customer where o.customer = 5;

select id from customer where lower(name) = 'customer 7';

select id from customer where +city = 'Bern' and unlikely(id > 100) limit 2;

select id from customer where likelihood(city = 'Oslo', 0.2) and credit > 0 limit 2;

-- Grouping
select city, count(*), sum(credit), avg(credit), total(credit), min(name), max(joined) from customer group by city having count(*) > 10 order by city;

select count(*), count(email), count(distinct city), count(*) filter (where active), sum(id) filter (where id % 2 = 0) from customer;

select 1 + id % 2 as k, count(*) from customer group by k order by k desc;

select count(*) from customer having count(*) > 100;

select city, name, max(credit) from customer group by city;

select strftime('%Y', joined) as year, active, count(*) from customer group by 1, 2 order by 1, 2;

select group_concat(id order by id desc) from customer where id < 5 group by active;

-- Windows
select id, row_number() over (order by credit desc), rank() over (order by city), dense_rank() over (partition by active order by city) from customer limit 4;

select id, sum(salary) over w, avg(salary) over (w rows between 1 preceding and 1 following) from employee window w as (partition by dept order by id) limit 5;

select id, sum(id) over (order by id rows between unbounded preceding and current row), sum(id) over (order by id rows 2 preceding), sum(id) over (rows between current row and unbounded following) from item limit 4;

select id, count(*) over (order by id range between 2 preceding and 2 following), count(*) over (order by kind groups between 1 preceding and 1 following) from item limit 4;

select id, sum(id) over (order by id rows between 1 preceding and 1 following exclude current row), sum(id) over (order by kind rows between unbounded preceding and unbounded following exclude group), count(*) over (order by kind groups 1 preceding exclude ties), count(*) over (order by id rows 1 preceding exclude no others) from item limit 4;

select id, lag(id) over w, lead(id, 2, -1) over w, first_value(id) over w, last_value(id) over w, nth_value(id, 2) over w from item window w as (order by id) limit 4;

select id, ntile(4) over (order by id), percent_rank() over (order by id), cume_dist() over (order by id) from item limit 3;

select dept, sum(salary) filter (where id > 10) over (partition by dept) from employee limit 3;

select * from (select id, row_number() over (partition by customer order by placed desc) as n from orders) where n = 1 limit 3;

select id, group_concat(id, '-') over (order by id rows 2 preceding) from item limit 3;

select count(*) over w1, sum(id) over w2 from item window w1 as (partition by kind), w2 as (w1 order by id) limit 2;

-- Common table expressions
with big as (select * from customer where credit > 200) select count(*) from big;

with a(x) as (values (1), (2)), b as materialized (select x * 2 as y from a), c as not materialized (select * from b) select * from c, a;

with recursive t(n) as (select 1 union all select n + 1 from t where n < 10) select sum(n) from t;

with recursive t(n) as (values (1) union all select n + 1 from t limit 5) select n from t;

with recursive tree as (select id, name, 0 as depth from employee where boss is null union all select e.id, e.name, t.depth + 1 from employee e join tree t on e.boss = t.id order by 3 desc) select depth, count(*) from tree group by depth;

with recursive fib(a, b) as (values (0, 1) union all select b, a + b from fib where b < 100) select group_concat(a) from fib;

with recursive under(id, level) as (values (1, 0) union all select e.id, u.level + 1 from employee e join under u on e.boss = u.id order by 2 limit 20) select substr('..........', 1, level * 2) || id from under;

-- Compound selects and VALUES
select 1 union select 2 union all select 2 order by 1;

select id from customer where id < 9 intersect select id from item where id > 3;

select id from customer where id < 9 except select id from item where id > 3 order by id desc limit 2;

values (1, 'one'), (2, 'two'), (3, null);

select * from (values (1, 'a'), (2, 'b'));

select column1, column2 from (values (1, 'a'), (2, 'b')) where column1 > 1;

select 1 union all values (2), (3);

-- Order, limit, distinct
select id, credit from customer order by credit desc nulls last, id asc nulls first limit 5;

select id from customer order by 1 limit 5 offset 10;

select id from customer order by id limit 10, 5;

select id from customer order by city collate nocase desc, -credit limit 3;

select id from customer order by id limit (select 2) offset 1 + 1;

select id from customer limit -1 offset 197;

select distinct city, active from customer order by city;

select all city from customer limit 2;

select id from item order by case kind when 'can' then 0 else 1 end, random() limit 0;

-- rowid, generated columns, views, WITHOUT ROWID
select rowid, _rowid_, oid, id from customer where rowid = 5;

select rowid, sensor, doubled from reading where doubled > 10 limit 2;

select orders, item from line where orders = 5 and item > 2;

select name from big_customers order by id limit 3;

select max(rowid), min(_rowid_) from orders;

-- Schema and PRAGMA functions
select type, name, tbl_name from sqlite_master where type = 'table' order by name limit 3;

select name from sqlite_schema where type = 'index' and sql is not null order by name;

select name, type, "notnull", dflt_value, pk from pragma_table_info('customer');

select cid, name, hidden from pragma_table_xinfo('reading') order by cid;

select name, "unique", origin from pragma_index_list('customer') order by name;

select seqno, cid, name, coll from pragma_index_xinfo('by_city');

select m.name, i.name from sqlite_schema m, pragma_index_list(m.name) i where m.type = 'table' order by 1, 2 limit 3;

select "table", "from", "to" from pragma_foreign_key_list('orders');

select name from pragma_database_list;

select count(*) > 10 from pragma_compile_options;

select name, narg from pragma_function_list where name = 'lower';

select page_size, page_count from pragma_page_size, pragma_page_count;

select schema, name, type, strict, wr from pragma_table_list where name in ('line', 'reading') order by name;

select tbl, idx, stat from sqlite_stat1 where tbl = 'customer' order by idx;

select name, sum(pgsize) > 0 from dbstat where name = 'customer' group by name;

select name, path from dbstat where aggregate = true and name = 'item';

select t.name from pragma_table_list as t where t.name like 'c%' escape '\' order by 1;

select seq, name from pragma_collation_list order by name;

-- Everyday reports
select c.name, count(o.id) as orders, sum(l.pieces * i.price) as total from customer c join orders o on o.customer = c.id join line l on l.orders = o.id join item i on i.id = l.item group by c.id having total > 100 order by total desc limit 10;

select state, count(*) filter (where placed < '2023-03-01') as before, round(100.0 * count(*) / sum(count(*)) over (), 1) || '%' as share from orders group by state order by state;

select strftime('%Y-%m', placed) as month, count(*) as n, lag(count(*)) over (order by strftime('%Y-%m', placed)) as previous from orders group by month order by month;

select id, name from customer where lower(name) = lower('CUSTOMER 9') or email = 'c9@example.com' or city in ('Łódź', 'Zürich') and id < 10;

select *, id * 2 as double from customer where joined >= '2021-01-01' and credit is not null order by joined, id limit 3 offset 2;

select o.* from orders o where (o.placed, o.id) > ('2023-02-01', 10) order by o.placed, o.id limit 5;

select
    -- the customer
    c.id,
    c.name, /* and what was
    bought; in pieces */ sum(l.pieces) as pieces
from customer c -- everyone
    join orders o on o.customer = c.id
    join line l on l.orders = o.id
where c.name <> ';' -- never
group by
    c.id,
    c.name
order by pieces desc,
    c.id
limit 3;

select 'x' as ":a", id as "c:d", [name] as [e:f] from customer where name <> ':e' and city <> '?' limit 1;

select substr(email, 1, instr(email, '@') - 1) as user, length(email) - instr(email, '@') from customer where email is not null limit 3;

select sum(case when state = 'paid' then 1 else 0 end) as paid, total(state = 'open') as open, count(nullif(state, 'sent')) from orders;

-- More of everything
select '''' as q, '''''' as qq, 'a''b''c', '''a', 'a''';

select "a?b" + 1, "x:y" || ':' || "a?b" from "Odd Names" where "x:y" > 4;

select id from customer where name = 'a'' or 1=1 -- ' or id = 3;

select [name] || '[x]' || "id" || `city` from customer where [id] = 2;

select id from customer where id in(1,2,3)and name like'C%'or id=7;

select'a','b'as[c],'d'e;

select 1 as a -- a comment; with 'quotes' and "more"
union all select 2 /* another; comment */
union all select 3 order by a;

select date('2024-01-01','+'||id||' days') from customer where id<3;

select id, 'c' || printf('%03d', id) as code from customer limit 2;

select count(*) as count, max(id) as max from item where kind = 'can' collate binary;

select a.id, b.id from item a join item b on b.id between a.id and a.id + 1 and b.kind <> a.kind where a.id < 4;

select name from employee where salary > (select avg(salary) from employee x where x.dept = employee.dept) order by id limit 3;

select (select max(id) from customer) - (select min(id) from customer) as span, (select group_concat(id) from item where id < 4) as ids;

select json_group_array(json_object('id', id, 'name', name)) from (select id, name from customer order by id limit 2);

select value ->> 'a' as a from json_each('[{"a": 1}, {"a": "x;y"}]') where a is not null;

select count(*) from customer where data ->> '$.level' between 2 and 4 and data -> '$.tags' like '%a1%';

select c.city, j.value, count(*) from customer c join json_each(c.data, '$.tags') j group by 1, 2 order by 3 desc, 1, 2 limit 4;

select hex(cast(12 as blob)), quote(1.5), quote('x'), quote(x'00'), typeof(1 + 1.0), typeof('1' + 1);

select max(a, b), min(a, b) from (select 1 as a, 2 as b);

select total(credit), sum(credit) / count(*), avg(distinct id) from customer where credit not between 0 and 10;

select distinct substr(name, 1, 1) || '…' as first from customer;

select id from item where added glob '2021-06-0[1-9]*' and name not in ('item 3', 'item 4') and price is not null;

select sensor, avg(value) over (partition by sensor order by at range between 7200 preceding and current row) from reading limit 3;

select sensor, min(at), datetime(max(at), 'unixepoch') from reading group by sensor having count(*) > 3;

select id from orders where note is not null and placed like '2023-0%' and state >= 'open' limit 2;

select iif(1, 'a'), iif(0, 'a', 1, 'b', 'c'), coalesce(null, null, 3), nullif('a', 'b');

select 1 where 1 = 1;

select 1 from customer where id = 1 and 1 group by 1 having 1 order by 1 limit 1 offset 0;

select exists (select 1 from customer where id = 0), not exists (select 1), exists (values (1));

select 10 in (select id from item), (1, 2) in (select id, id + 1 from item), 5 not in (select id from customer);

select c.id from customer c left join orders o on o.customer = c.id where o.id is null or o.id < 3 order by c.id limit 3;

select * from json_tree('[1, [2, 3]]') where type = 'integer' and fullkey like '$[1]%';

select row_number() over () as n, value from json_each('["a", "b;c", ":d", "?"]');

select sum(value) from (with recursive s(value) as (select 1 union all select value + 1 from s where value < 100) select value from s);

select (with x(a) as (values (5)) select a * 2 from x) as ten;

select length(replace('a;b;c', ';', '')), instr('a:b', ':'), substr('a?b', 2, 1), trim('''x''', '''');

select 1.0 = 1, '1' = 1, 1 = cast('1' as integer), 'a' > 1, null = null, null is not 1;

select id, name, city from customer where city >= 'B' and city < 'C' and name > 'Customer 1' order by 2, 1 limit 2;

select unixepoch('2024-01-01 00:00:00', 'utc') is not null, strftime('%s', '2024-01-01') + 0, julianday('2024-01-02') - julianday('2024-01-01'), date('2024-W01-1') is null;

select strftime('%H:%M', '10:20:30'), strftime('%d/%m/%Y;%H', '2024-01-02 03:04'), strftime('%p %I %e %k %G %V %u %R %T', '2024-01-02 13:04:05');

select dept, count(*) as n, group_concat(name, ' > ' order by salary desc, name) as ranking from employee group by dept order by n, dept;

select a.name, b.name from employee a, employee b where a.boss is b.id and a.id is not b.id limit 2;

select id, case when lag(state) over (order by id) is state then 'same' else 'other' end from orders limit 4;

select max(credit) filter (where city = 'Bern') - min(credit) filter (where city = 'Bern') as spread from customer;

select cast(substr(name, 10) as integer) as n from customer where n % 50 = 0 order by n;

select o.id, o.placed from orders o indexed by by_placed where o.placed > '2023-04-01' order by o.placed limit 2;

select '😀' as "smile 😀", 'Ünï' as [ü], "Größe" from "Odd Names" where "Größe" <> 0;

select json_extract(data, '$.tags[0]') as tag, count(*), round(avg(credit), 2) from customer group by tag having avg(credit) > 0 order by tag;

select subtype(json('1')), typeof(id) || ';' from customer limit 1;

select *, rowid from "Odd Names" order by "select" desc, [with"quote];

select abs(credit) as c, c_ from (select credit, 1 as c_ from customer) where c > 3 limit 1;

select title, rank from page where page match 'title: foxes' order by rank limit 1;

select id from customer where id = 1 or id = 2 or id in (3, 4) or id between 7 and 8 or id is 9;

select count(*) from orders o join customer c on c.id = o.customer and c.active where o.state <> 'open' and c.city || o.state <> 'x';

select sum(pieces) as s, item % 3 as m from line group by m having s > 10 order by s desc;

select id, name from customer where rowid in (select customer from orders order by placed desc limit 3) order by rowid;

select x.a + y.b as "a+b" from (select 1 as a) as x join (select 2 as b) as y;

select (id) from (customer) where ((id)) = ((3));

select id from (select id from (select id from customer where id < 5) where id > 1) order by id;

-- Table-valued functions as tables
select key, value from json_tree('{"a": [1, {"b;": ":c"}]}', '$.a');

select e.value from json_each as e where e.json = '[1, 2, "x;y"]';

select c.id, j.key from customer as c, json_each(c.data) as j where j.key in ('level', 'tags') and c.id < 3 order by 1, 2;

select name from pragma_table_info where arg = 'item' order by cid desc;

select group_concat(name, ', ') from pragma_table_info('Odd Names');

select a.name, b.name from pragma_table_info('customer') a join pragma_table_info('item') b using (name) order by 1;

-- More joins and conditions
select o.id, coalesce(c.name, '?') from orders o left join customer c on c.id = o.customer and c.city = 'Bern' where o.id between 1 and 5;

select count(*) from customer a, customer b where a.id < b.id and a.city = b.city and a.id + b.id = 100;

select c.id, (select o.placed from orders o where o.customer = c.id order by o.placed desc limit 1) as last from customer c where c.id <= 3;

select c.city, sum(o.state == 'paid') as paid from customer c join orders o on o.customer == c.id group by c.city order by paid desc;

select id from item where (kind, price) > ('box', 20) and (kind, price) < ('can', 50) order by kind, price limit 3;

select case when email is null then 'none' when email like '%@%' then substr(email, instr(email, '@')) end as host, count(*) from customer group by host;

select name from customer where not name like 'Customer 1%' and not id between 20 and 190;

select name from customer where name not glob '*[0-8]' and name >= 'Customer 1' limit 3;

select * from customer where city is 'Bern' and email is not null and active is true and credit is not 3.5 limit 2;

select id from customer where (active and credit > 0) is not (city = 'Oslo') limit 3;

select id from orders where note in ('n9', 'n18', ';') or note = ':n' or note is 'n27';

select id from customer where "name" = 'Customer 5' and 'name' <> "city" and [city] != `email`;

-- More text that is easily misread
select '/*', '*/', '--', '; select 1;', 'begin', 'commit';

select "semi; colon" as [a;b], 'c;d' as "e;f", `semi; colon` as `g;h` from [Odd Names];

select 1 /* ' */, '/*' /* " */, "x:y" /* ; */ from "Odd Names";

select 1 -- '
, '--' -- "
, 2 -- ;
;

select ':a' || ':b', '$1' || '@c', '?2' || '?', '#' || ':', '@', '$', 'a:b' as "a:b";

select 'a', -- first; column
  'b' /* second; column */
  , 'c'--third
from (select 1);

select x'41' || 'x', x'3b' as semicolon, cast(x'3a61' as text) as colon, char(59, 58, 63, 36, 64);

select 5-3, 5 -3, 5- 3, 5 - - 3, -5, - 5, +-+5, 2*-3, 2--3
;

select id as "id -- ;", name as "na'me", city as 'ci"ty', email as [e`mail] from customer limit 1;

select		1	as	tab,
 2 as newline , 3
 as "carriage"   ;

select 'Zürich' = city, 'ÜÑÍ' || 'ß', length('日本語'), substr('日本語', 2, 1), instr('naïve', 'ï') from customer where id = 2;

-- More queries
select strftime('%w', placed) as day, count(*) as n from orders group by day having n > 70 order by n desc, day;

select id, sum(price) over (order by id rows between 1 following and 3 following) as next, max(price) over (partition by lower(kind)) as best from item limit 3;

select id, row_number() over win as n, count(*) filter (where price > 5) over win as m from item window win as (partition by kind order by price desc) order by id limit 3;

select id, avg(price) over (order by price range between 1.5 preceding and 0.5 following) from item limit 3;

select * from (select city, count(*) as n from customer group by city) where n > (select avg(n) from (select count(*) as n from customer group by city)) - 1;

select name, salary, salary - avg(salary) over (partition by dept) as above from employee order by above desc, name limit 3;

with recursive days(d) as (select '2024-01-30' union all select date(d, '+1 day') from days where d < '2024-02-02') select d, strftime('%j', d) from days;

with recursive split(word, rest) as (select '', 'a,b;c,d' || ',' union all select substr(rest, 1, instr(rest, ',') - 1), substr(rest, instr(rest, ',') + 1) from split where rest <> '') select word from split where word <> '';

with paid as (select customer, count(*) as n from orders where state = 'paid' group by customer), top as (select * from paid order by n desc, customer limit 3) select c.name, top.n from top join customer c on c.id = top.customer;

select count(*) from (select distinct customer from orders except select id from customer where active union all select 1 intersect select 1);

select printf('%-10s|%6.2f|%+d|%c|%%|%i', name, credit, id, 'x', 5) from customer where id in (1, 2);

select min(id), max(id), count(*), count(*) * 1.0 / (select count(*) from orders) as share from orders where placed between '2023-01-10' and '2023-01-20';

select json_object('name', name, 'orders', (select json_group_array(o.id) from orders o where o.customer = c.id)) from customer c where id < 3;

select a.city, b.city from (select distinct city from customer) a, (select distinct city from customer) b where a.city < b.city order by a.city, b.city limit 4;

select nth_value(name, 2) over (order by id rows between unbounded preceding and unbounded following) as second from item limit 1;
