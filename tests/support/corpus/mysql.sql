-- Strings
select 'plain', 'it''s', '', 'two words';

select 'it\'s', 'a\\b', 'line\nbreak', 'tab\there', 'percent\%', 'under\_score', '\x', '\0' = char(0);

select "a string", "it's", "say ""yes""", "back\"slash", 'say "no"';

select 'first part '
  'and its continuation', "more" ' of ' "it";

select 'a;b', ';', "c;", `semi; colon` from `Odd Names` limit 1;

select ':name is no parameter', "::text", ':1', 'at 12:30:45';

select '%s and %d and %% and %(name)s', "100%";

select '? ?1 $1 @name #tag {x} {{y}}', "?";

select '-- no comment', '/* nor this */', "# nor this", '*/', '#', '--';

select 'emoji 😀 and 漢字 and Ελληνικά', char_length('😀'), length('😀');

select '\\', '\\\\', 'ends with \\', '\'', "\"", '\\\'';

select 'a
b', 'c\
d';

select x'41', X'4d7953514C', 0x41, b'1010', B'1', 0b11, hex(0xff), x'41' + 0;

select _utf8mb4'x', _latin1'abc', _binary'a', _utf8mb4 x'c3a9', N'national', n'text', _utf8mb4'é' collate utf8mb4_bin;

select '', "", '''', """", '`', "`", '"', "'";

select 'semi;' "colon;" as `a;b`, ';#' as "c;d";

select 'a' 'b' "c", 'x''y''z', 'x\'y\'z';

select "select", "from", "it is -- not", "a comment /* either */";

select 'C:\\temp\\new', '\Z' = char(26), '\b' = char(8), '\r\n';

select '$$', '$tag$ text $tag$', "$$;$$", 'E\'x';

-- Comments
select 1 # to the end of the line
;

select 1 -- to the end of the line
;

select 5--3;

select 5--3, 5 --3, 5---3, 4 - -1;

select 10--1 as `eleven`, 3--`select` from `Odd Names` limit 1;

select 1 /* a comment */ + /* another; */ 2 /**/;

/* before everything */ select 1;

select 1 /*! + 1 */ as two;

select /*!40000 sql_no_cache */ count(*) from customer;

-- sent: select 1 /* 99999999 + this is not run */ + 1
select 1 /*!99999999 + this is not run */ + 1;

select /*!50000 1, */ 2 /*!32302 , 3 */;

-- only: mariadb
select 1 /*M! + 1 */ as two, 2 /*M!100100 + 1 */ as three;

select 1 # it's "open; `name` /* not
, 2 # :x
;

select 1 -- it's "open; /*
, 2 --	after a tab
, 3 --
, 4;

select/**/1/**/as/**/x;

select 1 /* # -- ' " ` */ , 2;

select 7 # 漢字 😀
  , 8 -- last;

-- Numbers
select 42, 3.5, 4., .001, 5e2, 1.925e-3, 1E+3, -1, +1, - -1, 1 - -1, 2-1;

select 18446744073709551615, 9223372036854775807 + 0, 0.10, 1.000, 1e308, 12345678901234567890123;

select 1.2e3, 1.e2, 0012, 0x1F + 1, 0b101 + 0, 1e0;

select true, false, TRUE + 1, null;

-- only: mariadb
select \N, \N is null;

-- Names
select `select`, `with``tick`, `Größe`, `semi; colon`, `a?b`, `x:y` from `Odd Names`;

select o.`Größe` as `größer?`, o.`select` as ':x', `o`.`a?b` "alias" from `Odd Names` as o;

select 1 as `two words`, 2 as "double", 3 as 'single', 4 four, 5 `semi;colon`, 6 as `q``t`;

select 1 as größe, 2 as ñandú, 3 as 漢字, 4 as a$b, 5 as $x, 6 as _u;

select 1 as 1a, 2 as 3b from (select 1 as 0c) 4d;

SELECT Name FROM customer WHERE ID=5;

SeLeCt id FrOm customer WhErE id In (1,2);

select c.id, c . name, c.`city` from customer c where c.id < 3;

select customer.* from customer where customer.id = 3;

select database() = schema(), `customer`.`id` from `customer` limit 2;

select id as `#hash`, name as `--dash`, city as `/*star*/` from customer limit 1;

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

select count(*),max(id)from customer where id=1 or(id>5);

-- Operators
select 7 + 2, 7 - 2, 7 * 2, 7 / 2, 7 div 2, 7 mod 2, 7 % 2, 10%4, -7 % 3, 7.5 div 2;

select 91 & 15, 32 | 3, 17 ^ 5, ~1, 1 << 4, 8 >> 2, 5 & ~1;

select 2 <> 3, 2 != 3, 2 <= 3, 2 >= 3, 2 < 3, 2 > 3, 2 = 2, null <=> null, 1 <=> null, null <=> 1;

select not true, ! 0, !1, true and false, true && 1, 0 or 1, 1 || 0, true xor true, 1 xor 0;

select 5 between 1 and 10, 5 not between 6 and 7, 3 in (1, 2, 3), 4 not in (1, 2), null is null, 1 is not null;

select 1 is true, 0 is not false, null is unknown, null is not unknown, isnull(null);

select binary 'a' = 'A', cast('a' as binary) = 'a', 'a' = 'A', 'a' = 'a ', 'a' < 'b';

select interval(23, 1, 15, 17, 30), coalesce(null, 3), greatest(1, 5, 3), least(4, 2), nullif(1, 1), ifnull(null, 'x');

select (1, 2) = (1, 2), row(1, 2) < row(1, 3), (1, 2) <=> (1, null), (id, city) in ((1, 'Oslo'), (2, 'x')) from customer limit 1;

select -(2 + 3) * 4, 2 + 3 * 4, (((1))), - - 1, ~~1, !(1 = 2);

select 1 + '1', '3 apples' + 0, 'a' + 0, concat(1, 'a'), '10' > 9, 'abc' = 0;

select 4 % 3 as `mod`, id%10, id %2, id% 3 from customer limit 3;

-- Variables
select @a := 1;

select @a := @a + 1, @b := 5;

select @a := 1, @`quoted var` := 2, @'single' := 3, @"double" := 4, @a.b := 5, @a + @`quoted var`;

select @row := @row + 1 as n, id from customer, (select @row := 0) init limit 5;

select @@version, @@global.max_connections > 0, @@session.sql_mode, @@character_set_client, @@autocommit;

select @@version like '%.%', @@`version` = @@version, @@local.autocommit;

select id, @previous as previous, @previous := id from customer order by id limit 3;

select if(@c is null, 'unset', @c), @c := 'a;b :x', @c;

-- Casts
select cast('5' as unsigned), convert('5', signed), convert('x' using utf8mb4), cast(3.7 as decimal(5, 1)), cast('2024-01-01' as date), cast('12:30' as time), cast('2024-01-01 10:00:00.5' as datetime(1));

select cast(5 as char), cast('abc' as char(2)), cast('é' as char character set latin1), cast('a' as binary(2)), cast('1.5' as double), cast(1 as float);

-- only: mysql
select cast('[1, 2]' as json), json_type('{"a": 1}');

-- only: mysql
select json_extract(cast('[1, 2]' as json), '$[1]'), cast(2024 as year), json_array(1) = cast('[1]' as json);

select convert('2024-02-03', date), convert(12.345, decimal(4, 1)), binary 'abc', convert('abc', char(2)), cast(-1 as unsigned);

select date '2024-02-29', time '12:30:00', timestamp '2024-01-01 10:00:00', {d '2024-01-01'}, {t '10:00:00'}, {ts '2024-01-01 10:00:00'};

-- Control flow
select case when id < 3 then 'low' when id < 5 then 'mid' else 'high' end from customer where id < 7;

select case id % 2 when 0 then 'even' when 1 then 'odd' end from customer limit 3;

select if(credit > 0, 'plus', 'minus'), ifnull(email, 'none'), nullif(city, 'Bern') from customer limit 6;

-- Patterns
select name from customer where name like 'Customer 1_' order by name;

select name from customer where name not like '%9%' and city like 'b%';

select 'a%b' like 'a\%b', 'a%b' like 'a!%b' escape '!', 'a_b' like 'a|_b' escape '|', 'x' like binary 'X';

select name from customer where name regexp '^Customer 1[0-4]$' and name rlike '1' and name not regexp 'x';

select 'abc' regexp 'b|d', 'a.b' regexp 'a\\.b', 'x?' rlike 'x\\?', 'ab' regexp '^[[:alpha:]]+$', 'a1' regexp '\\d';

select regexp_replace('abc123', '[0-9]+', '#'), regexp_substr('abc123', '[a-z]+'), regexp_instr('abc123', '[0-9]');

-- only: mysql
select regexp_like('Hello', 'h', 'i'), regexp_replace('a b c', ' ', '-', 1, 2), regexp_instr('dog cat dog', 'dog', 2), regexp_substr('abc def', '[a-z]+', 1, 2);

select 'Straße' like 'straSSe', 'é' = 'e', 'a' like 'A', 'smith' sounds like 'smyth', soundex('smith'), strcmp('a', 'b');

-- String functions
select upper('abc'), ucase('a'), lower('ÄÖ'), lcase('A'), length('ß'), char_length('ß'), character_length('a'), bit_length('a'), octet_length('ß');

select trim('  x '), trim(both 'x' from 'xax'), trim(leading '0' from '007'), trim(trailing '.' from 'a..'), ltrim(' a'), rtrim('a ');

select position('om' in 'Thomas'), locate('a', 'banana', 3), instr('abc', 'c'), insert('Quadratic', 3, 4, 'What'), replace('abc', 'b', 'x'), reverse('abc');

select left('abcde', 2), right('abcde', 2), mid('abcde', 2, 3), substring('abcde', 2), substring('abcde' from 2 for 3), substr('abcde', -2), substring_index('a.b.c', '.', 2);

select lpad('7', 3, '0'), rpad('a', 4, '-'), repeat('ab', 3), space(3), concat('a', 1, null), concat_ws('-', 'a', null, 'b'), elt(2, 'a', 'b'), field('b', 'a', 'b'), find_in_set('b', 'a,b,c');

select ascii('x'), char(77, 121), char(0xc3a9 using utf8mb4), ord('€'), hex('abc'), unhex('4d'), bin(12), oct(12), conv('a', 16, 2), sha2('a', 256), crc32('a');

select format(12345.678, 2), format(12345.6, 1, 'de_DE'), quote('it\'s'), to_base64('abc'), from_base64('YWJj'), make_set(5, 'a', 'b', 'c'), export_set(5, 'Y', 'N', ',', 4), weight_string('a') is not null;

select group_concat(name order by id separator '; '), group_concat(distinct city order by city desc separator ''), group_concat(id, ':', name) from customer where id < 4;

select charset('a'), collation('a'), coercibility('a'), charset(convert('a' using latin1)), concat(name, '?', city, ':x') from customer limit 1;

-- Number functions
select abs(-3), ceil(1.2), ceiling(1.2), floor(-1.2), round(2.5), round(1.2345, 2), round(1234, -2), truncate(1.29, 1), sign(-4), sqrt(2), mod(7, 3);

select exp(1), ln(2), log(100), log(2, 64), log2(8), log10(100), pow(2, 3), power(2, 3), pi(), degrees(pi()), radians(180), rand() < 2, rand(3) < 2;

select sin(1), cos(1), tan(1), asin(0.5), acos(0.5), atan(1), atan2(1, 2), cot(1), greatest(1.5, 2), least('a', 'b'), bit_count(29);

-- Dates and times
select date_add('2024-01-31', interval 1 month), date_sub('2024-03-01', interval '1 2' day_hour), '2024-01-01' + interval 1 day, interval 1 hour + '2024-01-01 10:00:00', '2024-03-31' - interval 1 quarter;

select adddate('2024-01-01', 31), subdate('2024-01-01', interval 1 week), addtime('10:00:00', '01:30:00'), subtime('10:00:00', '00:00:01'), timestampadd(minute, 1, '2024-01-01'), timestampdiff(day, '2024-01-01', '2024-01-31');

select date_add('2024-01-01', interval '1:30' minute_second), date_add('2024-01-01', interval '1-2' year_month), date_add('2024-01-01', interval '2 3:04:05.6' day_microsecond), date_add('2024-01-01', interval -1 microsecond);

select extract(year from '2024-05-06'), extract(year_month from '2024-05-06'), extract(day_minute from '2024-05-06 07:08:09'), year('2024-05-06'), month('2024-05-06'), day('2024-05-06'), hour('10:20:30'), minute('10:20:30'), second('10:20:30'), microsecond('10:20:30.5');

select dayofweek('2024-01-07'), weekday('2024-01-07'), dayofyear('2024-02-01'), week('2024-01-07'), week('2024-01-07', 3), yearweek('2024-01-07'), quarter('2024-05-06'), dayname('2024-01-07'), monthname('2024-05-06'), last_day('2024-02-01');

select date_format('2024-01-02 13:04:05', '%Y-%m-%d %H:%i:%s'), date_format('2024-01-02', '%W, %D of %M; %j %U %%'), time_format('13:04:05', '%h:%i %p'), str_to_date('01,5,2013', '%d,%m,%Y'), get_format(date, 'EUR');

select datediff('2024-01-31', '2024-01-01'), timediff('10:00:00', '08:30:00'), to_days('2024-01-01'), from_days(738000), to_seconds('2024-01-01'), unix_timestamp('2024-01-01 00:00:00'), from_unixtime(0, '%Y'), sec_to_time(3661), time_to_sec('01:01:01'), makedate(2024, 60), maketime(1, 2, 3), period_add(202401, 2), period_diff(202403, 202401);

select now() = current_timestamp, current_timestamp() = localtime, curdate() = current_date, utc_date() is not null, utc_time() is not null, sysdate() >= now(), localtimestamp is not null, now(3) is not null, current_time(2) is not null, year(now()) > 2000;

select convert_tz('2024-01-01 12:00:00', '+00:00', '+05:30'), timestamp('2024-01-01', '10:00:00'), date('2024-01-01 10:00:00'), time('2024-01-01 10:00:00.123');

select * from orders where placed >= '2023-02-01' and placed < '2023-02-01' + interval 2 day;

select id from orders where placed between date '2023-01-03' and '2023-01-04 00:00:00' order by placed desc;

select date_format(placed, '%Y-%m') as m, count(*) from orders group by m order by m;

select count(*) from orders where date(placed) = '2023-01-05' or hour(placed) = 10 and placed > date_sub('2023-03-01', interval 30 day);

-- JSON
-- only: mysql
select data -> '$.level', data ->> '$.address.zip' from customer c limit 3;

-- only: mysql
select data->'$.level', data->>'$.tags[0]', c.data -> '$.address' from customer c where data->'$.level' = 3 limit 2;

-- only: mysql
select id from customer where 'b' member of (data -> '$.tags') and json_overlaps(data -> '$.tags', '["a1", "zz"]') limit 3;

-- only: mysql
select json_value('{"a": "1.5"}', '$.a' returning decimal(4, 2) default 0 on empty error on error), json_schema_valid('{"type": "object"}', '{}'), json_storage_size('[1]'), json_pretty('[1]');

select json_extract(data, '$.level'), json_unquote(json_extract(data, '$.tags[0]')), json_value(data, '$.level') from customer limit 2;

select json_contains(data, '3', '$.level'), json_contains_path(data, 'one', '$.level', '$.none'), json_search(data, 'all', 'a%'), json_keys(data), json_length(data, '$.tags'), json_depth(data), json_valid('x'), json_type(data) from customer limit 2;

select json_object('a', 1, 'b', 'x;y', 'c', ':z'), json_array(1, 'a', null, true), json_quote('say "x"'), json_merge_patch('{"a": 1}', '{"b": 2}'), json_merge_preserve('[1]', '[2]');

select json_set('{"a": 1}', '$.b', 2), json_insert('{"a": 1}', '$.a', 9), json_replace('{"a": 1}', '$.a', 9), json_remove('[1, 2]', '$[0]'), json_array_append('[1]', '$', 2), json_array_insert('[1]', '$[0]', 0);

select json_arrayagg(id), json_objectagg(id, city) from customer where id < 4;

select t.* from json_table('[{"a": 1, "b": "x"}, {"a": 2}]', '$[*]' columns (n for ordinality, a int path '$.a', b varchar(5) path '$.b' default '"none"' on empty, nested path '$.c[*]' columns (c int path '$'))) as t;

select c.id, t.tag from customer c, json_table(c.data, '$.tags[*]' columns (tag varchar(10) path '$')) t where c.id < 3;

select json_extract('{"a b": {"c": [1, {"d": 2}]}}', '$."a b".c[1].d', '$**.d'), json_extract('[1, 2, 3]', '$[last]') is null;

-- only: mysql
select json_extract('[1, 2, 3]', '$[last]', '$[0 to 1]'), json_extract('[1, 2, 3]', '$[last - 1]');

-- only: mariadb
select json_query(data, '$.tags'), json_exists(data, '$.level'), json_compact('[1, 2]'), json_detailed('[1]'), json_loose('[1]') from customer limit 1;

-- Full text
select id, match (title, body) against ('trains') as score from page order by score desc, id limit 3;

select id from page where match (title, body) against ('+rows -trains' in boolean mode);

select id from page where match (title, body) against ('"store rows"' in boolean mode) or match (title, body) against ('fox*' in boolean mode);

select id from page where match (title, body) against ('databases' with query expansion) limit 3;

select id from page where match title, body against ('columns' in natural language mode) limit 3;

-- Subqueries
select name, (select count(*) from orders o where o.customer = c.id) as n from customer c where id < 4;

select id from customer where id in (select customer from orders where state = 'open') and id not in (1, 4) limit 5;

select id from customer c where exists (select * from orders where customer = c.id) and not exists (select 1 from orders o where o.customer = c.id and o.note = 'n9') limit 4;

select id from item where price > all (select price from item where kind = 'box' and id < 20) limit 3;

select id from item where price = any (select max(price) from item group by kind) or id = some (select 1);

select * from (select id, name from customer where id < 3) as s, (select 1 as a) t;

select id from orders where (customer, state) = (5, 'open') or (customer, state) in (select id, 'sent' from customer where id < 4);

-- Joins
select o.id, c.name from orders o, customer c where o.customer = c.id and o.id < 4;

select o.id, c.name from orders as o inner join customer as c on c.id = o.customer where o.id < 4;

select c.id, o.id from customer c left outer join orders o on o.customer = c.id and o.state = 'paid' where c.id < 6;

select o.id, c.id from orders o right join customer c on o.customer = c.id and o.note > 'n4' where c.id < 9;

select straight_join i.name from line l join item i on l.item = i.id where l.orders = 5;

select c.id from orders o straight_join customer c on c.id = o.customer where o.id < 3;

select a.id, j.y from (select 1 as id, 'l' as x) a join (select 1 as id, 'r' as y) j using (id);

select * from (select 1 as id, 'a' as x) a natural join (select 1 as id, 'b' as y) b;

select * from (select 1 as id, 'a' as x) a natural left join (select 2 as id, 'b' as y) b;

select count(*) from item a cross join item b join item c on c.id = a.id;

select e.name, b.name as boss from employee e left join employee b on e.boss = b.id order by e.id limit 5;

select c.id from customer c join (orders o join line l on l.orders = o.id) on o.customer = c.id where l.pieces > 4 limit 3;

select c.id, i.id from { oj customer c left outer join item i on c.id = i.id } limit 3;

-- only: mysql
select c.id, x.id from customer c left join lateral (select o.id from orders o where o.customer = c.id order by placed desc limit 1) x on true where c.id < 4;

-- only: mysql
select c.id, x.n from customer c, lateral (select count(*) as n from orders o where o.customer = c.id) as x where c.id < 4;

-- Index hints and optimizer hints
select * from customer force index (by_city) where city = 'Bern' limit 2;

select * from customer ignore index (by_city) where city = 'Bern' limit 2;

select * from customer use index () where city = 'Bern' limit 2;

select id from customer use index (by_city, by_credit) where city = 'Oslo' and credit > 3 limit 2;

select city, count(*) from customer use index for group by (by_city) group by city;

select id from customer force index for order by (by_credit) order by credit limit 2;

select o.id from orders o use index for join (by_customer) join customer c ignore key (by_city) on o.customer = c.id limit 2;

select /*+ max_execution_time(10000) */ count(*) from customer;

select /*+ no_index(customer by_city) bka(c) */ id from customer where city = 'Bern' limit 1;

select /*+ join_order(c, o) hash_join(o) */ count(*) from orders o join customer c on c.id = o.customer;

select /*+ set_var(sort_buffer_size = 262144) */ id from customer order by name limit 1;

select /*+ qb_name(outer_block) semijoin(@inner_block firstmatch) */ id from customer where id in (select /*+ qb_name(inner_block) */ customer from orders) limit 2;

select sql_no_cache count(*) from customer;

select high_priority id from customer limit 1;

select sql_small_result city, count(*) from customer group by city;

select sql_big_result sql_buffer_result distinct city from customer;

select sql_calc_found_rows id from customer limit 2;

select distinctrow city from customer order by city;

select all id from customer limit 1;

-- Grouping
select city, count(*), sum(credit), avg(credit), min(name), max(joined) from customer group by city having count(*) > 10 order by city;

select city, active, count(*) from customer group by city, active with rollup;

-- only: mysql
select city, grouping(city) as g, count(*) from customer group by city with rollup order by g, city;

select count(*), count(email), count(distinct city), count(distinct city, active), sum(distinct active), sum(id % 2 = 0) from customer;

select bit_and(id), bit_or(id), bit_xor(id), std(credit), stddev(credit), stddev_pop(id), stddev_samp(id), var_pop(id), var_samp(id), variance(id) from customer;

select city, count(*) from customer group by city order by null;

select year(joined) as y, month(joined) as m, count(*) from customer group by y, m having m < 3 order by 1, 2;

select 1 + id % 2 as k, count(*) from customer group by k order by k desc;

select count(*) from customer having count(*) > 100;

-- only: mysql
select any_value(name), city from customer group by city limit 0;

-- Windows
select id, row_number() over (order by credit desc) as r, rank() over (order by city) as k, dense_rank() over (partition by active order by city) as d from customer limit 4;

select id, sum(salary) over w as s, avg(salary) over (partition by dept order by id rows between 1 preceding and 1 following) as a from employee window w as (partition by dept order by id) limit 5;

select id, sum(id) over (order by id rows between unbounded preceding and current row) as a, sum(id) over (order by id rows 2 preceding) as b, sum(id) over (order by id rows between current row and unbounded following) as c from item limit 4;

select id, count(*) over (order by id range between 2 preceding and 2 following) as n from item limit 4;

-- only: mysql
select id, sum(id) over (order by added range between interval '1' day preceding and current row) as s from item limit 4;

select id, lag(id) over w as a, lead(id, 2) over w as b, first_value(id) over w as c, last_value(id) over w as d, nth_value(id, 2) over w as e from item window w as (order by id) limit 4;

select id, ntile(4) over (order by id) as a, percent_rank() over (order by id) as b, cume_dist() over (order by id) as c from item limit 3;

select dept, sum(sum(salary)) over () as s from employee group by dept;

select * from (select id, row_number() over (partition by customer order by placed desc) as n from orders) s where n = 1 limit 3;

-- only: mariadb
select median(salary) over (partition by dept) as m, percentile_cont(0.5) within group (order by salary) over (partition by dept) as p from employee limit 3;

-- Common table expressions and set operations
with big as (select * from customer where credit > 200) select count(*) from big;

with a(x) as (select 1 union all select 2), b as (select x * 2 as y from a) select * from b, a;

with recursive t as (select 1 as n union all select n + 1 from t where n < 10) select sum(n) from t;

with recursive tree as (select id, name, 0 as depth from employee where boss is null union all select e.id, e.name, t.depth + 1 from employee e join tree t on e.boss = t.id) select depth, count(*) from tree group by depth order by depth;

with recursive fib (a, b) as (select 0, 1 union all select b, a + b from fib where b < 100) select a from fib;

select 1 union select 2 union all select 2 order by 1;

(select id from customer order by id desc limit 2) union all (select id from item order by id limit 2) limit 3;

select id from customer where id < 9 intersect select id from item where id > 3;

select id from customer where id < 9 except select id from item where id > 3;

(select 1 as a union select 2) except (select 2);

select 1 as a union distinct select 1;

-- only: mysql
values row(1, 'one'), row(2, 'two') order by 1 desc limit 1;

-- only: mysql
table item order by id limit 3 offset 2;

-- only: mysql
select * from (values row(1, 2), row(3, 4)) as v(a, b);

-- only: mariadb
values (1, 'one'), (2, 'two');

-- only: mariadb
select * from (values (1, 2), (3, 4)) v;

-- Order, limit, distinct
select id, credit from customer order by credit desc, id asc limit 5;

select id from customer order by id limit 5, 10;

select id from customer order by id limit 10 offset 5;

select id from customer order by city is null, -credit, 1 limit 2;

select distinct city, active from customer order by city collate utf8mb4_bin;

select id from customer order by rand(5) limit 0;

select id from item order by field(kind, 'can', 'bag', 'box'), id limit 3;

-- only: mariadb
select id from customer order by id offset 3 rows fetch next 4 rows only;

-- only: mariadb
select pieces from line order by pieces desc fetch first 3 rows with ties;

-- only: mariadb
select id from customer limit 5 rows examined 1000;

select id from customer `procedure` limit 1;

-- Collations and character sets
select name from customer where name like 'customer 1%' collate utf8mb4_bin;

select 'a' collate utf8mb4_bin = 'A', 'ä' collate utf8mb4_unicode_ci = 'a', _utf8mb4'x' collate utf8mb4_general_ci, binary 'x';

select max(city collate utf8mb4_bin), min(convert(city using latin1)) from customer where id < 3;

select 'Łódź' = 'lodz', hex('Ł'), convert('Zürich' using utf8mb4) = city from customer limit 1;

-- Sets, enumerations, partitions, space
select kind, kind + 0, options, options + 0, find_in_set('red', options) from item where kind = 'box' and options & 1 limit 3;

select count(*) from reading partition (p2023) where value > 0;

select count(*) from reading partition (p2023, p2024) as r where r.sensor = 1;

select id, st_astext(spot), st_x(spot), st_y(spot) from place where mbrcontains(st_geomfromtext('polygon((0 0, 9 0, 9 9, 0 9, 0 0))'), spot) order by id limit 3;

select st_distance(point(0, 0), point(3, 4)), st_area(st_geomfromtext('POLYGON((0 0,2 0,2 2,0 2,0 0))')), st_asgeojson(point(1, 2)), st_within(point(1, 1), st_geomfromtext('POLYGON((0 0,2 0,2 2,0 2,0 0))'));

select inet_aton('10.0.0.1'), inet_ntoa(167772161), hex(inet6_aton('::1')), inet6_ntoa(unhex('00000000000000000000000000000001')), is_ipv4('1.2.3.4'), is_ipv6('::1');

select uuid() is not null, length(uuid()), found_rows() >= 0, row_count() <> -7, last_insert_id() >= 0, connection_id() > 0, current_user() = user() or 1, version() like '%.%';

select compress('a') is not null, uncompress(compress('a')), uncompressed_length(compress('abc')), aes_encrypt('a', 'key') is not null, random_bytes(2) is not null, name_const('x', 1);

-- System tables
select table_name, engine, table_rows >= 0 from information_schema.tables where table_schema = database() order by table_name limit 3;

select column_name, data_type, character_set_name from information_schema.columns where table_schema = database() and table_name = 'customer' order by ordinal_position;

select index_name, column_name, seq_in_index from information_schema.statistics where table_schema = database() and table_name = 'customer' order by 1, 3;

select partition_name, table_rows >= 0 from information_schema.partitions where table_name = 'reading' and table_schema = schema();

select count(*) > 0 from information_schema.character_sets where character_set_name = 'utf8mb4';

select 1 from dual where 1 = 1;

select 1 from dual;

select name from big_customers order by id limit 3;

select id, `id`, customer.id, `customer`.id, customer.`id` from customer limit 1;

-- only: mariadb
select seq from seq_1_to_10 where seq % 2 = 0;

-- only: mariadb
-- needs: --allow-writes
select * from page procedure analyse();

-- only: mariadb
select nvl(null, 1), nvl2(1, 2, 3), decode_oracle(1, 1, 'one', 'other'), chr(65), natural_sort_key('a10'), to_char(date '2024-01-01', 'YYYY-MM-DD'), sformat('{} {}', 'a', 1);

-- only: mysql
select bin_to_uuid(uuid_to_bin('00000000-0000-4000-8000-000000000001')), is_uuid('x'), format_bytes(1024), statement_digest_text('select 1'), ps_current_thread_id() >= 0;

-- Everyday reports
select c.name, count(o.id) as orders, sum(l.pieces * i.price) as total from customer c join orders o on o.customer = c.id join line l on l.orders = o.id join item i on i.id = l.item group by c.id, c.name having total > 100 order by total desc limit 10;

select state, sum(placed < '2023-03-01') as `before`, concat(round(100 * count(*) / (select count(*) from orders), 1), '%') as share from orders group by state order by state;

select date_format(placed, '%Y-%m') as month, count(*) as n, lag(count(*)) over (order by date_format(placed, '%Y-%m')) as previous from orders group by month order by month;

select id, name from customer where lower(name) = lower('CUSTOMER 9') or email = 'c9@example.com' or city in ('Łódź', "Zürich") and id < 10;

select *, id * 2 as `double` from customer where joined >= '2021-01-01' and credit is not null order by joined, id limit 2, 3;

select
    # the customer
    c.id,
    c.name, /* and what was
    bought; in pieces */ sum(l.pieces) as pieces
from customer c -- everyone
    join orders o on o.customer = c.id
    join line l on l.orders = o.id
where c.name <> ';' # never
group by
    c.id,
    c.name
order by pieces desc,
    c.id
limit 3;

select 'x' as ':a', ":b" as "c:d", id from customer where name <> ':e' and city <> '?' limit 1;

select group_concat(distinct concat(state, ':', customer % 3) order by 1 separator ';') from orders where id < 20;

select substring_index(substring_index(email, '@', 1), 'c', -1) + 0 as n from customer where email is not null order by n desc limit 3;

select ifnull(sum(if(state = 'paid', 1, 0)), 0) as paid, ifnull(sum(case state when 'open' then 1 end), 0) as open from orders;

-- More names, strings and operators
select id from customer where name = 'a\' or 1=1 -- ' or id = 3;

select 'a' like '%\\%', 'a\\' like '%\\\\', '%' like '\%', "a\_b" like 'a\_b';

select 'x' = "x", 'x' "y" = 'xy', _utf8mb4 'x' = N'x';

select 0x4D7953514C, x'41'is null, b'1'+0, 0x41=x'41';

select id div 3, id mod 3, id / 3, id & 1, id | 1, id ^ 1, id << 1, ~id & 7 from customer limit 2;

select not id > 3, !(id > 3), id > 3 is true, id between 2 and 4 and id <> 3 from customer limit 5;

select id, id=id, id<=>null, id<>5, id!=5, id<5, id>=5 from customer where id<>3 and id!=4 limit 2;

select date('2024-01-01')+interval 1 day+interval'1'hour, '2024-01-01'-interval(1)day;

select json_unquote('"a\\u0041;"'), json_extract('{"a": "?:x"}', '$.a'), '{"a": ":b"}' like '%:b%';

select concat('[', lpad(hex(id), 4, '0'), ']') as `[id]`, repeat('?', 3) as `???`, ':' as `:` from customer limit 1;

select count(*)from(select 1)t;

select-1,+1,-(1),!0,~0;

select(1)where(1)=1;

select id from customer where id in(1,2,3)and name like'C%'or id=7;

select t.`select`+1,`t`.`Größe`*2 from`Odd Names`t where`select`>1;

select sum(`select`), max(`with``tick`) as `m``x` from `Odd Names` group by `Größe` having `m``x` > '' order by `Größe` desc;

select @@sql_mode as `:mode`, @x:=3, @x:=@x*2, @x;

select /* c1 */ id /* c2 */ from /* c3 */ customer /* c4 */ where /* c5 */ id /* c6 */ = /* c7 */ 1 /* c8 */;

select 1 as a -- a comment; with 'quotes' and "more"
union all select 2 # another; comment
union all select 3 /* third; */ order by a;

select "😀" as `smile`, 'Ünï' as 'ü';

-- More queries
select e.id, e.name from employee e where e.salary > (select avg(salary) from employee x where x.dept = e.dept) order by e.id limit 4;

select distinct o.state, c.city from orders o join customer c on c.id = o.customer where c.active order by 1, 2 limit 4;

select i.kind, max(i.price) as best, min(i.added) as first from item i group by i.kind with rollup having best > 1;

select c.id from customer c left join orders o on o.customer = c.id where o.id is null or o.id < 3 order by c.id limit 3;

select (select max(id) from customer) - (select min(id) from customer) as span, (select group_concat(id) from item where id < 4) as ids;

select a.id, b.id from item a join item b on b.id between a.id and a.id + 1 and b.kind <> a.kind where a.id < 4;

select id from orders where state in ('open', 'sent') and note is null and (customer = 3 or customer = 4) order by placed desc, id desc limit 3;

select count(*) from customer where credit between -10 and 10.5 or joined not between '2020-02-01' and '2021-01-01';

select dept, group_concat(name order by salary desc, name asc separator ' > ') as ranking from employee group by dept order by dept;

select elt(field(state, 'open', 'sent', 'paid'), 'o', 's', 'p') as s, count(*) from orders group by s order by s;

select 1 as x from dual where exists (select 1 from customer where id = 1) limit 1;

select sha2('x;y', 512) like '%?%', get_format(datetime, 'ISO');

select cast(data as char(20)), length(data) > 10 from customer limit 1;

select json_extract(data, '$.tags') as t from customer where json_extract(data, '$.level') > 7 and json_contains(data, '"b"', '$.tags') limit 2;

select n from number where n mod 100 = 0 union select 1 limit 4;

select n, n * n as square, if(n % 15 = 0, 'fizzbuzz', if(n % 5 = 0, 'buzz', if(n % 3 = 0, 'fizz', n))) as f from number limit 15;

select sum(n) as s, count(*) as c, s.x from number, (select 7 as x) s where n < 10 group by s.x;

select i.*, l.pieces from item as i, line as l where i.id = l.item and l.pieces >= 5 and i.price < 10 order by i.id, l.orders limit 3;

select x.a + y.b as `a+b` from (select 1 as a) as x join (select 2 as b) as y;

select id from customer order by if(city = 'Bern', 0, 1), case when active then credit else -credit end desc limit 3;

select trim(both '"' from '"quoted"'), replace('a;b;c', ';', '\n'), length('a\tb'), 'tab	inside';

-- Odd spacing and words
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

select id,(select count(*)from line l where l.item=i.id)n from item i where i.id<4;

select id as value, name as status, price as date, kind as type, added as time from item limit 1;

select count(*) as count, max(id) as max, 'x' as end from item;

select`id`,`name`as`n`from`item`where`id`=1;

select'a','b'as`c`,"d"'e';

select id from item where name='item 1'or name="item 2"or(name)='item 3';

select 1;

select 1.e0+.5, 1e-3, 1E3+1, -.5, +.5e+1, 5.;

select 'a' "b" as `c`, 'd' as "e", 'f' 'g', '' '' '';

select "a""b''c", 'a""b''c', '\a\c\d', "\%\_";

select 'trailing backslash \\' as a, '; \\' as b, '\\''; \'' as c;

select '/*! not run */', "/*+ no hint */", '/*' as a, '*/' as b;

select 5 /*!00000 + 1 */ - -3 /* -- */, /*!*/ 2;

select 1 -- ; /* ' " `
as one, 2 #; /* ' " `
as two;

select 3*-2, 3*+2, 3-(-2), 3 - - 2, 3+-2, 3+(--2);

select id, name from customer where name = 'O''Brien' or name = "O'Brien" or name = 'O\'Brien' or id = 1;

select concat('100', '%'), '50%' like '50\%', 'a%sb' like 'a\%sb', date_format('2024-01-01', '%s%i%%s');

select ':=', ':a:=', '@a:=1', "@@version", '@' as `@`, `x:y` as `:` from `Odd Names` limit 1;

select `?`, `?` + 1 as `? + 1` from (select 1 as `?`) q;

select (1,'a')<=>(1,'a'), 1<=>1, 1<>2, 1!=2, 1<=2, 1>=2, 2>>1, 1<<2, 1||0, 1&&1;

-- Comments that are executed
-- needs: --allow-writes
/*! select 1 */;

-- needs: --allow-writes
/*!50000 select 1 */ + 1;

-- needs: --allow-writes
select /*! '*/', */ 1;

-- needs: --allow-writes
select /*!50000 '?', ':a', ";", */ 1 /*! + (select 1 /* it's; */) */;

select @a.b := 1, @a$c := 2, @_d := 3;
