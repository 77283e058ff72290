-- Strings and literals
select 'plain', 'it''s', '', 'two words';

select 'a;b', ';', 'c;', '; -- ;';

select ':name is no parameter', '::text', ':1', 'at 12:30:45';

select '%s and %d and %% and %(name)s', '100%';

select '? ?1 $1 @name #tag {x} {{y}}', '?';

select 'back\slash', '\', '\n stays two characters', '\\';

select E'\'', E'tab\there', E'\\', E'line\nbreak', e'it''s; \x41';

select $$a;b$$, $$it's$$, $$$$, $tag$ it's :not_a_parameter; -- and no comment $tag$;

select $a$ outer $b$ inner $b$ $a$, $q$;$q$, $fn$ a $1 b ? c $fn$;

select $$
  several
	lines; with -- dashes
  /* and stars */
$$;

select 'first part '
  'and its continuation';

select 'emoji 😀 and 漢字 and Ελληνικά', length('😀'), strlen('😀');

select '-- no comment', '/* nor this */', '*/', '--', '#', '//';

select 'a
b', 'tab	inside';

select '\x41\x00'::blob, 'abc'::blob, '101'::bit, x'41' is not null;

select 42, 3.5, 4., .001, 5e2, 1.925e-3, 1E+3, -1, +1, - -1, 1 - -1, 2-1, 1_000_000, 1_0.5;

select 9223372036854775807, 170141183460469231731687303715884105727, 12345678901234567890.123, 0x1F, 0b101, 0o17;

select true, false, null, 'NaN'::double, 'infinity'::double, '-inf'::float, 1e308;

select '"', '''', '""', '`', '[', ']', '$$', '{', ':';

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

select 7 -- 漢字 😀
  , 8 -- last;

-- Names
select "select", "with""quote", "Größe", "semi; colon", "a?b", "x:y" from "Odd Names";

select o."Größe" as "größer?", o."select" as ":x" from "Odd Names" as o;

select 1 as "two words", 2 as "UPPER", 3 as "semi;colon", 4 as "q""d", 5 as 'single', 6 six;

select 1 as größe, 2 as ñandú, 3 as 漢字, 4 as a$b, 5 as _u, 6 as "😀";

SELECT Name FROM Customer WHERE ID=5;

SeLeCt id FrOm customer WhErE id In (1,2);

select main.customer.id, customer.name, c.remark from main.customer, side.customer as c limit 2;

select customer.* from customer where customer.id = 3;

select customer from customer limit 1;

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
select 7 + 2, 7 - 2, 7 * 2, 7 / 2, 7 // 2, 7 % 2, 2 ^ 10, 2 ** 3, 10%4, -7 % 3, @ -5;

select 91 & 15, 32 | 3, xor(17, 5), ~1, 1 << 4, 8 >> 2, 5!, 'a' || 'b', 1 || 2;

select 2 <> 3, 2 != 3, 2 <= 3, 2 >= 3, 2 < 3, 2 > 3, 2 = 2, 2 == 2;

select not true, true and false, true or null, null is null, 1 is not null, 1 isnull, 1 notnull;

select 1 is distinct from null, null is not distinct from null, (1 = 1) is true, null is unknown;

select 5 between 1 and 10, 5 not between 6 and 7, 3 in (1, 2, 3), 3 in [1, 2, 3], 4 not in (1, 2), 'b' in ['a', 'b'];

select (1, 2) = (1, 2), row(1, 2) < row(1, 3), (id, city) in ((1, 'Oslo'), (2, 'x')) from customer limit 1;

select 2 * (3 + 4), (((1))), -(2 + 2), - - 1, ~ ~1, 1 - 1 - 1, 10 / 4, 10 / 4.0;

select id, id=id, id<>5, id!=5, id<5, id>=5, id%10, id*-1, id- -1 from customer where id<>3 limit 2;

-- Casts
select '5'::int, '5' :: integer, cast('5' as int), try_cast('x' as int), '2024-01-01'::date, 3.7::int, integer '5';

select id::varchar || ':' || name from customer where id::varchar = '7';

select '1'::int::bigint::varchar::decimal(5, 1), '[1, 2]'::int[], '{"a": 1}'::json, 'happy'::mood, {'a': 1}::struct(a bigint);

select (data->>'level')::int from customer where id = 11;

select 1::tinyint, 2::smallint, 3::hugeint, 4::ubigint, 5::uinteger, 6::utinyint, 1.5::real, 'x'::varchar, true::int, 12::bit;

select typeof(1), typeof('x'), typeof([1]), typeof({'a': 1}), typeof(map {'k': 1}), typeof(null), typeof(1.5), pg_typeof(1);

-- Conditions
select case when id < 3 then 'low' when id < 5 then 'mid' else 'high' end from customer where id < 7;

select case id % 2 when 0 then 'even' when 1 then 'odd' end from customer limit 3;

select coalesce(email, name), ifnull(email, 'none'), nullif(city, 'Bern'), if(credit > 0, 'plus', 'minus'), greatest(1, 5), least(4, 2) from customer limit 8;

select id from customer where active and not (id > 20) or id = 150;

-- Patterns
select name from customer where name like 'Customer 1_' order by name;

select name from customer where name not like '%9%' and city ilike 'b%' and name not ilike 'x%';

select 'a%b' like 'a!%b' escape '!', 'a_b' like 'a\_b' escape '\', 'abc' glob 'a*', 'x?' glob 'x[?]', name ~~ 'C%', name !~~ 'D%', name ~~~ 'C*' from customer limit 1;

select name from customer where name similar to 'Customer 1[0-4]' or name ~ 'Customer 2\d' or regexp_matches(name, '3$');

select regexp_extract('abc123', '([a-z]+)(\d+)', 2), regexp_replace('aaa', 'a', 'b'), regexp_replace('aaa', 'a', 'b', 'g'), regexp_full_match('ab', 'a.'), regexp_extract_all('a1b2', '\d'), regexp_split_to_array('a, b', ',\s*');

select regexp_extract('2024-05-06', '(\d+)-(\d+)', ['year', 'month']), 'abc' !~ 'x', 'a?b' ~ '.*\?.*', '^a:b$' ~ '\^a:b\$';

select 'abc' ^@ 'ab', starts_with('abc', 'ab'), prefix('abc', 'a'), suffix('abc', 'c'), contains('abc', 'b');

-- String functions
select upper('abc'), lower('ÄÖ'), length('four'), len('x'), char_length('ß'), octet_length('\xC3'::blob), bit_length('a'), reverse('abc'), ascii('x'), chr(8364), unicode('€');

select trim('  x '), trim('xyx', 'x'), ltrim(' a'), rtrim('a '), position('om' in 'Thomas'), strpos('high', 'ig'), instr('abc', 'c'), replace('abc', 'b', 'x'), translate('abc', 'ab', 'xy'), substring('abcde' from 2 for 3);

select left('abcde', 2), right('abcde', 2), lpad('7', 3, '0'), rpad('a', 4, '-'), repeat('ab', 3), split_part('a~b~c', '~', 2), string_split('a,b', ','), concat('a', null, 1), concat_ws('-', 'a', 'b'), substr('abc', 2);

select format('{} is {:05.2f}', 'x', 3.14159), format('{1} {0}', 'a', 'b'), printf('%s %05d %.2f %%', 'x', 42, 3.14159), md5('a'), sha256('a'), hash('a') is not null, to_base64('a'::blob), hex('abc'), unhex('41'), bin(5);

select 'abcde'[2], 'abcde'[2:3], 'abcde'[:2], 'abcde'[-2:], name[1:4] from customer limit 1;

select string_agg(name, ', ' order by id desc), listagg(city, ';'), group_concat(distinct city order by city) from customer where id < 4;

select levenshtein('duck', 'dark'), hamming('ab', 'ac'), jaccard('duck', 'luck'), jaro_similarity('duck', 'duk'), strip_accents('müsli'), bar(5, 0, 10, 4), nfc_normalize('é'), url_encode('a b?c;d'), format_bytes(16384), array_to_string([1, 2], ',');

-- Number functions
select abs(-3), ceil(1.2), floor(-1.2), round(2.5), round(1.2345, 2), trunc(1.29), sign(-4), sqrt(2), cbrt(27), mod(7, 3), gcd(12, 18), lcm(4, 6), even(2.9), factorial(5);

select exp(1), ln(2), log(100), log2(8), log10(100), pow(2, 3), power(2, 3), pi(), degrees(pi()), radians(180), sin(1), cos(1), tan(1), atan2(1, 2), isnan(1.0), isfinite(1.0), bit_count(29), random() < 2, nextafter(1::double, 2::double);

select divide(10, 3), fdiv(10, 3), fmod(10.5, 3), greatest(1, 2, 3), 5 // 2, -5 // 2, 5.5 // 2;

-- Dates and times
select date '2024-01-31' + 1, date '2024-03-01' - date '2024-02-01', date '2024-01-31' + interval 1 month, timestamp '2024-01-02' - timestamp '2024-01-01 12:00', interval '1 day' * 3;

select interval 3 days, interval '90' minute, interval (1 + 1) hour, interval '1 year 2 months -3 days', to_days(5), to_minutes(7), - interval 1 day;

select extract(year from date '2024-05-06'), extract('month' from date '2024-05-06'), date_part('dow', date '2024-01-07'), date_part(['year', 'month'], date '2024-05-06'), year(date '2024-05-06'), dayname(date '2024-01-07'), monthname(date '2024-01-07'), epoch(timestamp '2024-01-01'), epoch_ms(0), week(date '2024-01-07');

select date_trunc('month', timestamp '2024-05-06'), date_diff('day', date '2024-01-01', date '2024-03-01'), datesub('month', date '2024-01-31', date '2024-03-01'), date_add(date '2024-01-01', interval 1 day), time_bucket(interval '15 minutes', timestamp '2024-01-01 10:37'), last_day(date '2024-02-01'), age(timestamp '2024-04-10', timestamp '1957-06-13');

select strftime(date '2024-01-02', '%d.%m.%Y'), strftime(timestamp '2024-01-02 13:04:05', '%H:%M:%S %p %%'), strptime('05/12/2000', '%d/%m/%Y'), try_strptime('x', '%Y'), make_date(2024, 2, 29), make_time(8, 15, 23.5), make_timestamp(2024, 1, 2, 3, 4, 5);

select current_date <= today(), now() = current_timestamp, current_time is not null, localtimestamp is not null, get_current_timestamp() is not null, transaction_timestamp() = now();

select timestamptz '2024-07-01 12:00:00+02', timestamp_s '2024-01-01 00:00:00', timestamp_ms '2024-01-01 00:00:00.123', timestamp_ns '2024-01-01 00:00:00.123456789', time '12:30', timetz '12:30:00+01', 'infinity'::date, 'epoch'::timestamp;

select * from orders where placed >= '2023-02-01' and placed < '2023-02-01'::timestamptz + interval 2 days;

select date_trunc('month', joined) as month, count(*) from customer group by all order by month limit 3;

select (date '2024-01-01' + interval 1 day)::date, date '2024-01-01' between '2023-01-01' and '2025-01-01', timestamp '2024-01-01 10:00:00'::time, '12:30:45'::time;

-- Lists
select [1, 2, 3], list_value(1, 2), [], [[1], [2, 3]], ['a;b', ':c', '?'], [null, 1];

select [10, 20, 30][2], [1, 2, 3, 4][2:3], [1, 2, 3][:2], [1, 2, 3][2:], [1, 2, 3][-1], [1, 2, 3, 4][1:4:2], numbers[1], nested[2][1], tags[1:2] from box, customer limit 1;

select numbers[1:2], numbers [1], (numbers)[2:], numbers[:-2], numbers[-2:], numbers[-1] from box limit 2;

select [1, 2] || [3], list_concat([1], [2]), list_append([1], 2), list_prepend(0, [1]), list_contains([1, 2], 2), list_has([1], 1), list_position([1, 2], 2), [1, 2] @> [1], [1] <@ [1, 2], [1, 2] && [2, 3];

select list_sort([3, 1, 2]), list_reverse_sort([1, 2]), list_distinct([1, 1]), list_unique([1, 1]), list_sum([1, 2]), list_avg([1, 2]), list_aggregate([1, 2], 'max'), list_reverse([1, 2]), flatten([[1], [2]]), array_length([1, 2]), list_zip([1, 2], ['a', 'b']), list_slice([1, 2, 3], 1, 2), range(3), generate_series(1, 3);

select [x * 2 for x in [1, 2, 3]], [x + 1 for x in numbers if x > 3], [upper(s) for s in ['a', 'b;']], [[y, i] for y, i in [5, 6]] from box limit 2;

select list_transform([1, 2, 3], lambda x: x + 1), list_filter([1, 2, 3], lambda x: x % 2 = 1), list_reduce([1, 2, 3], lambda a, b: a + b), list_transform(numbers, lambda x, i: x * i), apply([1, 2], lambda x : x * 10) from box limit 2;

select list_transform(tags, lambda t: t || ':x'), list_filter(tags, lambda t: t <> 'all' and len(t) > 1) from customer limit 2;

select unnest([1, 2, 3]) as n, unnest(['a', 'b', 'c']) as s;

select id, unnest(tags) as tag from customer where id < 3;

select unnest({'a': 1, 'b': 'x'}), unnest([{'a': 1}, {'a': 2}], recursive := true), unnest([[1, 2], [3]], max_depth := 2);

select c.id, t.tag from customer c, unnest(c.tags) as t(tag) where c.id < 3;

select c.id, t.tag, t.n from customer c cross join lateral unnest(c.tags) with ordinality as t(tag, n) where c.id < 3;

select id from customer where 't1' = any(tags) and id < 20 and 'none' <> all(tags);

select id from customer where id = any([10, 11, 12]) or id in (select unnest([5, 6])) or id = any(select 7);

select list(id order by id desc), array_agg(distinct city), first(id), last(id), any_value(city), arg_max(name, credit), arg_min(name, credit, 2), max_by(id, credit), max(id, 3), histogram(id % 3) from customer where id < 6;

select array_value(1, 2, 3), point[1], array_distance(point, point), array_inner_product(point, point), array_cosine_similarity(point, [1, 2, 3]::double[3]) from box limit 1;

-- Structs, maps, unions
select {'a': 1, 'b': 'x', 'c d': [1, 2]}, struct_pack(a := 1, b := 'x'), row(1, 'x'), {'nested': {'k': 1}}, {'a;': ':b', '?': 1};

select address.zip, address['street'], customer.address.zip, struct_extract(address, 'zip'), (address).street, address.* from customer limit 1;

select {'x': id, 'y': name} as s, s['x'], s['y'] from customer limit 2;

select {'x':1, 'y':'z', z:2}, {a: 1, b: 'c'}, {'k':-1}, {'k':(1)}, {'k':[1]};

select struct_insert({'a': 1}, b := 2), struct_concat({'a': 1}, {'b': 2}), struct_keys({'a': 1}), {'a': 1} = {'a': 1}, {'a': 1} < {'a': 2};

select map {'a': 1, 'b': 2}, map([1, 2], ['x', 'y']), map {'a': 1}['a'], attributes['level'], map_keys(attributes), map_values(attributes), map_entries(attributes), map_contains(attributes, 'rank'), cardinality(attributes), element_at(attributes, 'rank'), map_extract(attributes, 'level') from customer limit 1;

select map_from_entries([('k', 1), ('l', 2)]), map {}, map {1: 'one', 2: 'two'}, map {'k':'v'}, map {[1]: {'a': 2}};

select either, either.n, union_tag(either), union_extract(either, 'n'), union_value(s := 'x') from box limit 2;

select enum_range(null::mood), enum_first(null::mood), enum_last(null::mood), enum_code('ok'::mood), mood from item where mood > 'sad' limit 2;

-- JSON
select data -> 'level', data ->> 'level', data -> '$.tags[0]', data ->> '$.tags[1]', data->'tags'->>0, data.level, json_extract(data, '$.level'), json_extract_string(data, ['$.level', '$.tags[0]']) from customer limit 1;

select count(*) from customer where (data ->> '$.level')::int = 3 and (data->>'tags') like '%a1%';

select json_object('a', 1, 'b', 'x;y', 'c', ':z', 'd', '?'), json_array(1, 'a', null), to_json({'a': 1}), json_quote('x'), json_merge_patch('{"a": 1}', '{"b": 2}'), row_to_json({'a': 1}), array_to_json([1]);

select json_type(data), json_keys(data), json_array_length(data, '$.tags'), json_valid('x'), json_contains(data, '"b"'), json_structure(data), json_exists(data, '$.level') from customer limit 1;

select json_group_array(id), json_group_object(id, city) from customer where id < 4;

select key, value, type, path from json_each('{"a": 1, "b": [true, null]}');

select fullkey, atom from json_tree('{"a": {"b": [1, 2]}}') where atom is not null;

select from_json('{"a": 1, "b": [2]}', '{"a": "INTEGER", "b": ["INTEGER"]}'), json_transform('{"a": "1"}', '{"a": "INTEGER"}'), '{"a": {"b": ":x"}}'::json -> '$.a.b', json('{"k":"v;"}'), json_pretty('[1]');

select '{"a b": 1}' ->> '$."a b"', '{"k": [1, {"d": 2}]}' -> '$.k[1].d', '[1, 2, 3]' ->> '$[#-1]', ('{"a":{"b":1}}'::json)->'a'->'b';

-- Subqueries
select name, (select count(*) from orders o where o.customer = c.id) as n from customer c where id < 4;

select id from customer where id in (select customer from orders where state = 'open') and id not in (1, 4) limit 5;

select id from customer c where exists (from orders where customer = c.id) and not exists (select 1 from orders o where o.customer = c.id and o.note = 'n9') limit 4;

select id from item where price > all (select price from item where kind = 'box' and id < 20) or price = any (select max(price) from item group by kind) limit 3;

select array(select id from customer where id < 4 order by id desc), (select struct_pack(id, name) from customer where id = 1);

select * from (select id, name from customer where id < 3) as s(i, n), (values (1, 'x')) v(a, b);

-- Joins
select o.id, c.name from orders o, customer c where o.customer = c.id and o.id < 4;

select o.id, c.name from orders as o inner join customer as c on c.id = o.customer where o.id < 4;

select c.id, o.id from customer c left outer join orders o on o.customer = c.id and o.state = 'paid' where c.id < 6;

select o.id, c.id from orders o right join customer c on o.customer = c.id and o.note > 'n4' where c.id < 9;

select a.id, b.id from (values (1), (2)) a(id) full join (values (2), (3)) b(id) using (id);

select * from (select 1 as id, 'a' as x) a natural join (select 1 as id, 'b' as y) b;

select count(*) from item a cross join item b;

select id from customer semi join orders on customer.id = orders.customer and orders.note = 'n9';

select id from customer c anti join orders o on c.id = o.customer;

select r.at, r.value, p.price from reading r asof join price_at p on r.sensor = p.sensor and r.at >= p.at order by r.at limit 3;

select r.at, p.price from reading r asof left join price_at p using (sensor, "at") order by all limit 3;

select * from (select id from item order by id limit 3) a positional join (select name from customer order by id limit 2) b;

select c.id, x.id from customer c left join lateral (select o.id from orders o where o.customer = c.id order by placed desc limit 1) x on true where c.id < 4;

select t.i, s.d from range(3) t(i), lateral (select t.i * 2 as d) s;

select e.name, b.name as boss from employee e left join employee b on e.boss = b.id order by e.id limit 5;

select c.id from customer c join (orders o join line l on l.orders = o.id) on o.customer = c.id where l.pieces > 4 limit 3;

-- Friendly SQL
from customer;

from customer where id < 3 limit 2;

from customer select name, city where id = 4;

from customer c join orders o on c.id = o.customer select c.name, count(*) as n group by all order by all limit 3;

from (from item select id, price where price > 50) select max(id);

from range(5) t(i) select i, i * i as square;

from up_to(3);

select * exclude (data, email) from customer limit 2;

select * exclude data replace (upper(name) as name, id * 2 as id) from customer limit 2;

select * rename (id as number, name as title) from item limit 2;

select c.* exclude (data), o.* replace (o.id + 1 as id) from customer c join orders o on c.id = o.customer limit 1;

select columns(*) from item limit 2;

select min(columns(* exclude (name, kind, mood))), max(columns('i.*')) from item;

select columns('^(id|name)$') from customer limit 2;

select columns(lambda c: c like '%a%') from item limit 1;

select coalesce(*columns(['email', 'name'])), columns(c -> c = 'id') is null from customer where false;

select id + columns('price') from item limit 2;

select * like 'na%' from customer limit 1;

select * similar to '(id|kind)' from item limit 1;

select id as i, i * 2 as d, d + 1 as e from customer where i < 3;

select i: id, t: name, "big one": credit > 100 from customer limit 2;

select a:id, b:'x', c:1 + 2, d:"name" from customer limit 2;

select city, count(*), sum(credit) from customer group by all order by all;

select city, kind: count(*) from customer group by city having kind > 10 order by all desc nulls last;

select name, credit, from customer limit 2;

select [1, 2, 3,], [ ':a', ], 4, from customer limit 1;

select ('abc').upper(), name.lower().replace('c', 'k')[1:3] from customer limit 1;

select ([1, 2, 3]).list_sum(), (-5).abs(), ('a b').string_split(' ')[1];

select id from customer order by all limit 3;

select name from customer limit 10%;

select count(*) from customer where id < 10 and city in ('Bern', 'Oslo',);

select 1 as a union all by name select 'x' as b, 2 as a;

select 1 as a, 2 as b union by name select 3 as b, 4 as a;

from customer select distinct on (city) city, id order by city, id;

select id, row_number() over (partition by city order by credit desc) as r from customer qualify r = 1;

select city, id from customer qualify row_number() over (partition by city order by id) <= 2 and rank() over (order by id) < 9;

select #1, #2 from customer order by #1 limit 0;

select city, credit from customer order by #2 desc, #1 limit 2;

select twice(4), twice(id) from customer limit 2;

summarize customer;

describe customer;

describe select 1 as a, 'x' as b;

show tables;

-- Pivot
pivot orders on state in ('open', 'paid') using count(*);

pivot orders on state in ('open', 'paid') using count(*) as n, max(id) as m group by customer order by customer limit 3;

pivot (select customer % 3 as c, state, id from orders) on state in ('sent', 'a;b', ':c') using sum(id) group by c order by c;

select * from (pivot orders on state in ('open') using count(*) group by customer) order by customer limit 2;

from orders pivot (count(*) for state in ('open', 'sent') group by customer) order by customer limit 2;

unpivot (select id, price, weight from item limit 3) on price, weight into name what value amount;

select * from (select id, price::double as price, weight::double as weight from item) unpivot (amount for what in (price, weight)) limit 4;

unpivot (select 1 as a, 2 as b, 3 as c) on columns(* exclude (c)) into name n value v;

-- Grouping
select city, count(*), sum(credit), avg(credit), min(name), max(joined) from customer group by city having count(*) > 10 order by city;

select city, active, count(*) from customer group by grouping sets ((city), (active), ()) order by 1, 2, 3;

select city, active, grouping(city, active), count(*) from customer group by rollup (city, active) order by 3, 1, 2 limit 5;

select city, active, count(*) from customer group by cube (city, active) order by all limit 6;

select count(*), count(email), count(distinct city), count(*) filter (where active), sum(id) filter (id % 2 = 0), count() from customer;

select quantile_cont(credit, 0.5), quantile_disc(id, [0.25, 0.75]), median(id), mode(city), mad(id), percentile_cont(0.5) within group (order by credit), approx_count_distinct(city), approx_quantile(id, 0.5), entropy(city), kurtosis(id), skewness(id) from customer;

select bool_and(active), bool_or(active), bit_and(id), bit_or(id), bit_xor(id), product(2), stddev(credit), stddev_pop(id), var_samp(id), corr(id, credit), covar_pop(id, id), regr_slope(id, id), fsum(id), geomean(id), count_if(active), favg(id) from customer;

select 1 + id % 2 as k, string_agg(distinct city, '; ' order by city) from customer group by k order by k;

-- Windows
select id, row_number() over (order by credit desc), rank() over (order by city), dense_rank() over (partition by active order by city) from customer limit 4;

select id, sum(salary) over w, avg(salary) over (partition by dept order by id rows between 1 preceding and 1 following) from employee window w as (partition by dept order by id) limit 5;

select id, sum(id) over (order by id rows between unbounded preceding and current row), sum(id) over (order by id rows 2 preceding), sum(id) over (rows between current row and unbounded following) from item limit 4;

select id, count(*) over (order by id range between 2 preceding and 2 following), sum(id) over (order by added range between interval 1 day preceding and current row), count(*) over (order by kind groups between 1 preceding and 1 following) from item limit 4;

select id, sum(id) over (order by id rows between 1 preceding and 1 following exclude current row), count(*) over (order by kind rows between unbounded preceding and unbounded following exclude group), count(*) over (order by kind rows between 2 preceding and current row exclude ties) from item limit 4;

select id, lag(id) over w, lead(id, 2, -1) over w, first_value(id) over w, last_value(id ignore nulls) over w, nth_value(id, 2) over w from item window w as (order by id) limit 4;

select id, ntile(4) over (order by id), percent_rank() over (order by id), cume_dist() over (order by id), fill(weight) over (order by id) from item limit 3;

select dept, sum(salary) filter (where id > 10) over (partition by dept), count(distinct salary) over (partition by dept), string_agg(name, '-' order by id) over (partition by dept) from employee limit 3;

-- Common table expressions and set operations
with big as (select * from customer where credit > 200) select count(*) from big;

with a(x) as (values (1), (2)), b as materialized (select x * 2 as y from a), c as not materialized (select * from b) select * from c, a;

with recursive t(n) as (select 1 union all select n + 1 from t where n < 10) select sum(n) from t;

with recursive tree as (select id, name, 0 as depth, [id] as path from employee where boss is null union all select e.id, e.name, t.depth + 1, list_append(t.path, e.id) from employee e join tree t on e.boss = t.id) select depth, count(*), max(path) from tree group by depth order by depth;

with recursive k(a, b) using key (a) as (select 1, 0 union select a, b + 1 from k where b < 3) from k;

with x as (from customer select id limit 3) from x select count(*);

select 1 union select 2 union all select 2 order by 1;

(select id from customer where id < 5) intersect (select id from item) except all select 3;

select id from customer intersect all select id from item order by id limit 3;

values (1, 'one'), (2, 'two'), (3, null);

from (values (1, 'a'), (2, 'b')) v(n, s) where n > 1;

table side.customer;

-- Order, limit, distinct, samples
select id, credit from customer order by credit desc nulls last, id asc nulls first limit 5;

select id from customer order by id limit 5 offset 10;

select id from customer order by id offset 3 rows fetch next 4 rows only;

select id from customer order by id limit (select 2) offset 1 + 1;

select distinct city from customer order by city collate nocase;

select distinct on (city) city, id, credit from customer order by city, credit desc;

select 'a' collate nocase = 'A', 'ä' collate nocase.noaccent = 'A', name collate "C" from customer limit 1;

select count(*) from customer using sample 10;

select count(*) from customer using sample 10% (bernoulli);

select count(*) from customer tablesample reservoir(20 rows) repeatable (7);

select count(*) from customer tablesample 50 percent (system, 42);

-- Table functions, catalogs and settings
select * from generate_series(1, 10, 3) as g(n);

select range::date from range(date '2024-01-01', date '2024-01-05', interval 1 day);

select table_name, estimated_size from duckdb_tables() order by table_name limit 3;

select column_name, data_type from information_schema.columns where table_name = 'item' order by ordinal_position;

select name, type, pk from pragma_table_info('customer') order by cid;

select table_schema, table_name from information_schema.tables order by all limit 3;

select name, value from duckdb_settings() where name = 'threads';

select function_name, function_type from duckdb_functions() where function_name = 'twice';

select relname, relkind from pg_catalog.pg_class where relname = 'customer' limit 1;

select current_database() is not null, current_schema(), version() like 'v%', current_setting('threads')::int > 0, txid_current() > 0, current_schemas(true), in_search_path(current_database(), 'main');

select sql from sqlite_master where name = 'big_customers';

select database_name, internal from duckdb_databases() order by 1;

select name from big_customers order by id limit 3;

select rowid, id from item where rowid < 3;

select query from query('select 1 as query; ') where false;

select * from query_table('item') limit 1;

select getvariable('none') is null, error('x') is null from (select 1) where false;

select alias(id), stats(id) is not null, can_cast_implicitly(1, 2::bigint), constant_or_null(1, id), equi_width_bins(0, 10, 2, true), parse_path('/a/b;c/d'), parse_filename('/x/y.csv') from customer limit 1;

-- Everyday reports
select c.name, count(o.id) as orders, sum(l.pieces * i.price) as total from customer c join orders o on o.customer = c.id join line l on l.orders = o.id join item i on i.id = l.item group by c.id, c.name having total > 100 order by total desc limit 10;

select state, count(*) filter (where placed < '2023-03-01') as before, round(100.0 * count(*) / sum(count(*)) over (), 1) || '%' as share from orders group by state order by state;

select strftime(placed, '%Y-%m') as month, count(*) as n, lag(count(*)) over (order by strftime(placed, '%Y-%m')) as previous from orders group by month order by month;

select id, name from customer where lower(name) = lower('CUSTOMER 9') or email = 'c9@example.com' or city in ('Łódź', 'Zürich') and id < 10;

select *, id * 2 as double from customer where joined >= date '2021-01-01' and credit is not null order by joined, id limit 3 offset 2;

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

select 'x' as ":a", $$:b$$ as "c:d", id::int8 as n from customer where name <> ':e' and tags[1:2] <> [':f'] limit 1;

-- More of everything
select id from customer where name = 'a'' or 1=1 -- ' or id = 3;

select 1 as a -- a comment; with 'quotes' and "more"
union all select 2 /* another; comment */
union all select 3 order by a;

select id from customer where id in(1,2,3)and name like'C%'or id=7;

select count(*)from(select 1)t;

select-1,+1,-(1),~0,not false;

select a.id, b.id from item a join item b on b.id between a.id and a.id + 1 and b.kind <> a.kind where a.id < 4;

select i.kind, max(i.price) as best, min(i.added) as first from item i group by i.kind having best > 1 order by all;

select (select max(id) from customer) - (select min(id) from customer) as span, (select list(id) from item where id < 4) as ids;

select id, price, price - avg(price) over (partition by kind) as above from item order by above desc limit 3;

select coalesce(nullif(email, ''), 'none') as e, count(*) from customer group by e order by 2 desc limit 1;

select key, flags, raw, decode(raw), octet_length(raw), bit_count(flags), key::varchar from host where key > '00000000-0000-4000-8000-000000000003' order by key limit 2;

select x.a + y.b as "a+b" from (select 1 as a) as x join (select 2 as b) as y on true;

select c.city, t.tag, count(*) from customer c, unnest(c.tags) t(tag) group by all order by 3 desc, 1, 2 limit 4;

select list_transform(range(1, 5), lambda n: {'n': n, 'sq': n ** 2}) as squares, squares[2].sq;

select list_filter(list_transform(numbers, lambda n: n * 3), lambda n: n % 2 = 0), list_any_value([null, 5]), list_count([1, null]) from box limit 2;

select sum(case when state = 'paid' then 1 else 0 end) as paid, count(*) filter (state = 'open') as open, count_star() from orders;

select address.zip as zip, list(name order by id)[:2] as names from customer group by address.zip order by zip limit 2;

select sensor, time_bucket(interval '6 hours', "at") as bucket, avg(value), count(*) from reading group by all order by all limit 4;

select name, [x for x in string_split(name, ' ') if x <> 'Customer'][1]::int as n from customer where n > 198 order by n;

select map_from_entries(list((city, n))) from (select city, count(*) as n from customer group by city);

select id, case when lag(state) over (order by id) is not distinct from state then 'same' else 'other' end as change from orders order by id limit 4;

select 'a' as "x y", 1 as "select", [1, 2] as "list[1]", "list[1]"[1], {'k': 1} as "s.k";

select (1, 'a'), (1, 'a')[1], row(1, 2), {'a': 1}.a, ([1, 2])[1], ('abc')[2];

select 10 % 3 as m, 10%3, id %2, id% 3, id% -3 from customer limit 1;

select * from customer where columns(['id', 'credit']) > 195;

select max(columns(*))::varchar from (select id, price from item);

select first(name order by credit desc) filter (where active) as richest, last(name order by id) from customer;

select try_cast('12x' as integer) is null, try(1 / 0) is null, try_cast('2024-13-01' as date), cast('1e3' as double), '1_000'::varchar;

select name from customer where name > 'Customer 1' and name <= 'Customer 2' and name not in ('Customer 10', ';') order by length(name), name limit 3;

select o.* from orders o where (o.placed, o.id) > (timestamptz '2023-02-01 00:00:00+00', 10) order by o.placed, o.id limit 5;

-- More text that is easily misread
select '''' as q, '''''' as qq, 'a''b''c', '''a', 'a''', "a?b" from "Odd Names" limit 1;

select {'a':id, 'b':name} as s, {'c':tags[1], 'd':-id} from customer limit 1;

select numbers[1:id], numbers[id:id + 1], [1, 2, 3][1:id] from box limit 2;

select 1::int, 1 :: int, '1'::int::varchar, [1]::int[]::varchar, {'a':1}::json, (1)::double;

select list_transform([1, 2], lambda x:x + 1), list_filter(numbers, lambda n:n>1) from box limit 1;

select $$ $x $1 :y ? $$, $x$ $$ $x$, '$x', "with""quote" as "$y" from "Odd Names" limit 1;

select 1 -- '
, '--' -- "
, 2 -- ;
;

select 1 /* ' */, '/*' /* " */, "x:y" /* ; */ from "Odd Names";

select 5//2, 7 // 2, -5//2, 5/2, 2**3, 2^3, 5%3, 5!=4, 1<2, 2>=1, 1<>2, 1==1;

select 'a', -- first; column
  'b' /* second; column */
  , 'c'--third
;

select	id	,name
 from   customer   
 where id<3	;

select id,(select count(*)from line l where l.item=i.id)n from item i where i.id<4;

select'a','b'as c,'d'e;

select '日本語'[2], 'naïve' ilike 'NAÏVE', 'ß' || '😀' as "ß😀", upper('straße');

select e'\\', e'a\\;b', e'\';:x', E'', '\', 'b';

-- More queries
select strftime(placed, '%w') as day, count(*) as n from orders group by day having n > 70 order by n desc, day;

select name, salary, rank() over (order by salary desc) as place from employee qualify place <= 3 order by place;

with recursive days(d) as (select date '2024-01-30' union all select (d + interval 1 day)::date from days where d < '2024-02-02') select d, dayname(d) from days;

with paid as (from orders select customer, n: count(*) where state = 'paid' group by customer), top as (from paid order by n desc, customer limit 3) select c.name, top.n from top join customer c on c.id = top.customer;

select json_object('name', name, 'orders', (select list(o.id order by o.id) from orders o where o.customer = c.id)) from customer c where id < 3;

select unnest(generate_series(date '2024-01-01', date '2024-01-03', interval 1 day))::date as day;

select kind, list(name order by price desc)[1:2] as dearest, max(price) - min(price) as spread from item group by kind order by kind;

select * from (select 1 as a, 2 as b) t, (select 3 as c) u, range(2) v(d) where a < b and c > d;

select histogram(state), map_keys(histogram(kind)) from orders, item where orders.id = item.id;

select bucket, count(*) from (select bucket: credit // 50 from customer) group by all order by 1 limit 3;

select sensor, arg_max(value, "at") as latest, max("at") as seen from reading group by sensor order by sensor;

select count(*) from orders where note in ('n9', ';', ':n') or note is not distinct from 'n18' or note like '%7%';

select case when city = 'Bern' then 'here' else 'away' end as place, sum(credit)::int as s from customer group by 1 having s <> 0 order by 1;

select id, lead(placed) over (partition by customer order by placed) - placed as gap from orders order by id limit 3;
