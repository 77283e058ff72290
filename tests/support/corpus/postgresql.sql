-- Strings
select 'plain', 'it''s', '', 'two words';

select 'first part '
  'and its continuation';

select 'a;b', ';', 'c;';

select ':name is no parameter', '::text', ':1', 'at 12:30:45';

select '%s and %d and %% and %(name)s', '100%';

select '? ?1 $1 @name #tag {x} {{y}}';

select E'\'', E'tab\there', E'\\', E'line\nbreak';

select e'\x41\102\u00e9\U0001F600', E'it''s';

select U&'\0041\+01F600', U&'d!0061t' uescape '!';

select 'back\slash', '\', '\n stays two characters';

select "name" || '''' from customer where id = 1;

select $$a;b$$, $$it's$$, $$$$;

select $tag$ it's :not_a_parameter; -- and no comment $tag$;

select $a$ outer $b$ inner $b$ $a$, $Ünï$x$Ünï$;

select $fn$ a $1 b ? c $fn$, $_x1$y$_x1$;

select $$
  a text
	of several lines; with -- dashes
  /* and stars */
$$;

select 'emoji 😀 and 漢字 and Ελληνικά', length('😀');

select '-- no comment', '/* nor this */', '*/', '--';

select b'1010', B'', x'1F', X'ff';

select N'national', n'text';

select 'a' || 'b'   ||	'c';

select '"', '""', '`', '[', ']';

select 'a
b';

select E'one\
two';

-- Comments
select 1 -- to the end of the line
;

select 1 /* a comment */ + /* another */ 2;

select 1 /* outer /* inner */ still outer */ + 1;

select /* ; */ 1 -- ; :x $$ ' "
, 2;

select 1 /*/* */*/ + 2 /**/ ;

/* before everything */ select 1;

/*+ SeqScan(customer) IndexScan(orders orders_placed) */ select count(*) from customer;

select /*+ Leading(o c) */ count(*) from orders o join customer c on c.id = o.customer;

select 5 --3
;

select 1 /* it's "open */ , 2;

select/**/1/**/as/**/x;

select 1 -- 漢字 😀
  , 2 -- last;

-- Numbers
select 42, 3.5, 4., .001, 5e2, 1.925e-3, 1E+3;

select -1, +1, - -1, 1 - -1, 2-1, 2 -1;

select 9223372036854775807, 12345678901234567890123, 0.10, 1.000;

select 'NaN'::float8, 'Infinity'::float8, '-inf'::numeric;

select 1::int2, 2::bigint, 3.7::int, 1e400::numeric > 1;

select real '1.23', numeric '4.50', int '7';

-- Names
select "select", "with""quote", "Größe", "naïve; column" from "Odd Names";

select o."Größe" as "größer?", o."select" as ":x" from "Odd Names" o;

select 1 as "two words", 2 as "UPPER", 3 as "semi;colon", 4 as "quote""d";

select 1 as größe, 2 as ñandú, 3 as 漢字, 4 as naïve$name;

select 1 as _a, 2 as a$b, 3 as a1;

-- needs: --allow-writes
select U&"\0061\0062" from (select 1 as ab) s;

SELECT Name FROM Customer WHERE ID=5;

SeLeCt id FrOm customer WhErE id In (1,2);

select public.customer.id, customer.name from public.customer where customer.id < 3;

select c.remark from side.customer as c;

select customer from customer limit 2;

select (c).name, (c).id from customer c limit 2;

select c.* from customer c where c.id = 3;

select 1 select_, 2 "from", 3 AS user;

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

select id from customer where id=(1)and name is not null;

select(1),(select(2));

-- Operators
select 7 + 2, 7 - 2, 7 * 2, 7 / 2, 7 % 2, 2 ^ 10, |/ 25.0, ||/ 27.0, @ -5.0;

select 91 & 15, 32 | 3, 17 # 5, ~1, 1 << 4, 8 >> 2;

select 5 % 3, -5 % 3, 5.5 % 2, 10%4;

select 2 <> 3, 2 != 3, 2 <= 3, 2 >= 3, 2 < 3, 2 > 3, 2 = 2;

select not true, true and false, true or null, (1 = 1) is true, null is unknown;

select 1 is distinct from null, null is not distinct from null;

select 5 between 1 and 10, 5 not between 6 and 7, 5 between symmetric 10 and 1;

select null is null, 1 is not null, 1 isnull, 1 notnull;

select 1 operator(pg_catalog.+) 2, 'a' operator(pg_catalog.||) 'b';

select !!'fat'::tsquery, @-@ path '((0,0),(1,0))';

select 2 * (3 + 4), (((1))), -(2 ^ 2), (-2) ^ 2;

select 'abc' < 'abd', 'a' || 1, 1 || 'b';

select 10 / 4, 10 / 4.0, 10::float / 4, div(10, 4), mod(10, 4);

-- Casts
select '5'::int, '5' :: integer, cast('5' as int), int4('5'), '2024-01-01'::date;

select '{1,2}'::int[], '(1,b)'::pair, 'happy'::mood, 'f'::boolean, 't'::bool;

select 12.345::numeric(5, 1), 'abcdef'::varchar(3), 'ab'::char(4), 65::"char";

select now()::date = current_date, 'customer'::regclass::text, 'int4'::regtype;

select id::text || ':' || name from customer where id::text = '7';

select '1'::int::bigint::text::numeric;

select (data->>'level')::int from customer where id = 11;

select try.x::int from (values ('1'), ('2')) as try(x);

select date '2024-02-29', time '12:30', timestamp '2024-01-01 10:00', interval '1 day';

select 'infinity'::timestamp, 'epoch'::timestamptz at time zone 'UTC', 'today'::date = current_date;

select cast(null as integer), null::text, cast(row(1, 'x') as pair);

select '\xdeadbeef'::bytea, 'abc'::bytea, '101'::bit(3), '1010'::varbit;

-- Conditions
select case when id < 3 then 'low' when id < 5 then 'mid' else 'high' end from customer where id < 7;

select case id % 2 when 0 then 'even' when 1 then 'odd' end from customer limit 3;

select coalesce(email, name, 'x'), nullif(id, 3), greatest(1, 5, 3), least(4, 2) from customer limit 8;

select id from customer where active and not (id > 20) or id = 150;

select id from customer where (id, city) = (5, 'Bern') or (id, city) in ((1, 'Oslo'), (2, 'Zürich'));

select row(1, 2) < row(1, 3), row(1, null) is null, (1, 2) is distinct from (1, 2);

select row(c.*) from customer c limit 1;

-- Patterns and regular expressions
select name from customer where name like 'Customer 1_' order by name;

select name from customer where name not like '%9%' and city ilike 'b%';

select 'a%b' like 'a\%b', 'a%b' like 'a!%b' escape '!', 'x' like '_' escape '';

select name ~~ 'C%', name !~~ 'D%', name ~~* 'c%', name !~~* 'x%' from customer limit 1;

select name from customer where name ~ '^Customer 1[0-4]$';

select name from customer where name ~* 'CUSTOMER 2\d$' and city !~ '^B' and city !~* 'oslo';

select 'abc' similar to '%(b|d)%', 'abc' not similar to 'a', 'abc' similar to '_b_' escape '#';

select substring('foobar' from 'o(.)b'), substring('Thomas' from 2 for 3), substring('Thomas' similar '%#"o_a#"_' escape '#');

select regexp_replace('aaa', 'a', 'b');

select regexp_replace('aaa', 'a', 'b', 'g'), regexp_replace('A PostgreSQL function', 'a|e|i|o|u', 'X', 1, 3, 'i');

select regexp_matches('foobarbequebaz', 'ba.', 'g');

select regexp_match('abc123', '([a-z]+)(\d+)'), regexp_split_to_array('a, b,c', ',\s*');

select * from regexp_split_to_table('one two  three', E'\\s+') as word;

select regexp_count('abcabc', 'b'), regexp_instr('abcabc', 'c', 4), regexp_like('Hello', 'h', 'i'), regexp_substr('abc123', '\d+');

select '\d\w\s' ~ '\\d', 'a.b' ~ 'a\.b', 'tab	here' ~ '\t', 'x?' ~ 'x\?';

select 'abc' ^@ 'ab', starts_with('abc', 'b');

-- String functions
select upper('abc'), lower('ÄÖ'), initcap('two words'), length('four'), char_length('ß'), octet_length('ß'), bit_length('a');

select trim('  x '), trim(both 'xy' from 'yxTomxx'), trim(leading '0' from '007'), trim(trailing from 'a '), btrim('xax', 'x'), ltrim(' a'), rtrim('a ');

select position('om' in 'Thomas'), strpos('high', 'ig'), overlay('Txxxxas' placing 'hom' from 2 for 4), replace('abc', 'b', 'x');

select left('abcde', 2), right('abcde', -2), lpad('7', 3, '0'), rpad('a', 4, '-'), repeat('ab', 3), reverse('abc');

select split_part('a~b~c', '~', 2), split_part('a,b', ',', -1), concat('a', null, 1), concat_ws('-', 'a', null, 'b');

select format('%s is %L and %I', 'x', 'it''s', 'Odd Name'), format('%2$s %1$s', 'a', 'b'), format('%-5s|%%', 'a');

select ascii('x'), chr(8364), to_hex(255), md5('a'), translate('12345', '143', 'ax'), quote_ident('a b'), quote_literal(E'it''s'), quote_nullable(null);

select encode('abc'::bytea, 'base64'), decode('YWJj', 'base64'), encode('\x01ff', 'hex'), encode(sha256('a'), 'hex'), convert_from('\xc3a9', 'UTF8');

select string_to_array('a:b::c', ':', ''), array_to_string(array[1, null, 3], ',', '*'), unistr('\00e9'), normalize('é', NFD) is nfd normalized;

select get_byte('\x1234', 1), set_bit(b'0000', 1, 1), get_bit('\x01'::bytea, 0), bit_count(b'1011'), substring(b'110010' from 2 for 3);

select parse_ident('"Odd Names".x'), string_agg(name, ', ' order by id desc) from customer where id < 4;

-- Number functions
select abs(-3), ceil(1.2), ceiling(1.2), floor(-1.2), round(2.5), round(1.2345, 2), trunc(1.29, 1), sign(-4), sqrt(2), cbrt(27);

select exp(1), ln(2), log(100), log(2.0, 64.0), log10(10), power(2, 3), pi(), degrees(pi()), radians(180), factorial(5), gcd(12, 18), lcm(4, 6);

select sin(1), cos(1), tan(1), asin(0.5), atan2(1, 2), sinh(1), sind(30), cosd(60), width_bucket(5.35, 0.024, 10.06, 5);

select scale(8.410), min_scale(8.410), trim_scale(8.410), mod(7, 3), random() < 2;

select to_char(1234.5, '9,999.99'), to_char(-7, 'S099'), to_char(485, 'RN'), to_number('12,454.8-', '99G999D9S'), to_char(0.5, 'FM0.00%');

-- Dates and times
select date '2024-01-31' + 1, date '2024-03-01' - date '2024-02-01', date '2024-01-01' + time '03:00', timestamp '2024-01-02' - timestamp '2024-01-01 12:00';

select date '2024-01-31' + interval '1 month', interval '1 day' * 3, interval '1 hour' / 7, - interval '2 days', 21 * interval '1 second';

select interval '1-2', interval '3 4:05:06', interval 'P1Y2M3DT4H5M6S', interval '1 year 2 months ago', interval '90' minute, interval '1' year;

select interval '10:30' hour to minute, interval '1 2' day to hour, interval '1.5' second(1), '2 weeks'::interval;

select timestamptz '2024-07-01 12:00+02' at time zone 'Europe/Zurich', timestamp '2024-07-01 12:00' at time zone 'America/New_York', timezone('UTC', timestamptz '2024-01-01 00:00+05:30');

select timestamp with time zone '2024-01-01 00:00:00.123456 Europe/Paris', time with time zone '04:05:06-08:00', timestamp(0) '2024-01-01 01:02:03.6';

select extract(year from date '2024-05-06'), extract(epoch from interval '1 day'), extract(dow from timestamp '2024-01-07'), extract(isodow from date '2024-01-07'), extract(week from date '2021-01-01');

select date_part('hour', timestamp '2024-01-01 15:00'), date_trunc('month', timestamp '2024-05-06'), date_trunc('day', timestamptz '2024-05-06 01:00+00', 'Asia/Tokyo'), date_bin('15 minutes', timestamp '2024-01-01 10:37', timestamp '2001-01-01');

select age(timestamp '2024-04-10', timestamp '1957-06-13'), justify_days(interval '35 days'), justify_hours('27 hours'), justify_interval(interval '1 mon -1 hour');

select make_date(2024, 2, 29), make_time(8, 15, 23.5), make_timestamp(2024, 1, 2, 3, 4, 5), make_interval(days => 10, hours => 2), make_timestamptz(2024, 1, 1, 0, 0, 0, 'UTC');

select to_char(timestamp '2024-01-02 13:04:05', 'YYYY-MM-DD HH24:MI:SS'), to_char(date '2024-01-02', 'FMDay, DDth "of" FMMonth'), to_date('05 Dec 2000', 'DD Mon YYYY'), to_timestamp('2024-01-01 12:30', 'YYYY-MM-DD HH24:MI'), to_timestamp(0);

select current_date <= current_timestamp::date, localtime is not null, localtimestamp(2) is not null, current_time(0) is not null;

select now() = transaction_timestamp(), statement_timestamp() <= clock_timestamp(), isfinite(date 'infinity');

select (date '2024-01-01', date '2024-06-01') overlaps (date '2024-05-01', interval '100 days');

select * from orders where placed >= '2023-02-01' and placed < '2023-02-01'::timestamptz + interval '2 days';

select id from orders where placed between timestamptz '2023-01-03 00:00:00+00' and timestamptz '2023-01-04 00:00:00+00';

select date_trunc('week', placed at time zone 'UTC') as week, count(*) from orders group by 1 order by 1 limit 3;

-- Enumerations and composites
select mood from diary where mood > 'sad' order by mood, day limit 3;

select enum_range(null::mood), enum_first(null::mood), enum_last('ok'::mood), enum_range('ok'::mood, null);

select (both_of).a, (diary.both_of).b from diary where (both_of).a = 3;

select row(1, 'x')::pair = (1, 'x')::pair, (row(1, 'x')::pair).b, (twice(4));

-- Arrays
select array[1, 2, 3], array[[1, 2], [3, 4]], array[]::int[], '{{1,2},{3,4}}'::int[][];

select (array[10, 20, 30])[2], (array[1, 2, 3, 4])[2:3], (array[1, 2, 3])[:2], (array[1, 2, 3])[2:], ('{7,8}'::int[])[1];

select matrix[1][2], matrix[1:2][1:1], matrix[2:][:1] from diary where day = '2024-02-03';

select tags[1], tags[1:2], tags [2] from customer where id = 5;

select array[1, 2] || 3, 0 || array[1], array[1] || array[2, 3], array_append(array[1], 2), array_prepend(0, array[1]), array_cat(array[1], array[2]);

select array[1, 4, 3] @> array[3, 1], array[2] <@ array[1, 2], array[1, 4] && array[4, 5], array[1, 2] = array[1, 2], array[1, 2] < array[1, 3];

select id from customer where 't1' = any(tags) and id < 20;

select id from customer where id = any(array[10, 11, 12]) and 3 <> all('{1,2}'::int[]);

select id from customer where id = some (array[1, 2]) or id >= all (select 200);

select array_length(array[1, 2], 1), cardinality(array[[1], [2]]), array_ndims(array[[1]]), array_dims(array[1, 2]), array_lower('[0:1]={1,2}'::int[], 1), array_upper(array[1], 1);

select array_position(array['a', 'b'], 'b'), array_positions(array[1, 2, 1], 1), array_remove(array[1, 2, 1], 1), array_replace(array[1, 2], 2, 9), array_fill(7, array[2, 3]), trim_array(array[1, 2, 3], 1);

select unnest(array['a', 'b']), generate_subscripts(array[5, 6], 1);

select * from unnest(array[1, 2], array['x', 'y', 'z']) with ordinality as u(a, b, n);

select array(select id from customer where id < 4 order by id desc), array_agg(id order by id), array_agg(distinct city) from customer where id < 6;

select c.id, t.tag from customer c cross join lateral unnest(c.tags) as t(tag) where c.id < 3;

select '[2:3]={5,6}'::int[], '{"a,b","c\"d",NULL,"NULL"}'::text[], array[null, 1] is null;

-- Ranges
select int4range(1, 10), int4range(1, 10, '[]'), '(2,5]'::int4range, 'empty'::int4range, numrange(1.5, null), '[2024-01-01,)'::daterange;

select int4range(10, 20) @> 15, int4range(1, 5) && int4range(4, 9), int4range(1, 3) -|- int4range(3, 5), int4range(1, 3) << int4range(7, 9), int4range(5, 9) &> int4range(1, 6);

select int4range(1, 5) + int4range(4, 9), int4range(1, 9) * int4range(4, 12), int4range(1, 9) - int4range(1, 3), range_merge(int4range(1, 2), int4range(7, 8));

select lower(seats), upper(seats), isempty(seats), lower_inc(seats), upper_inc(seats), lower_inf(seats), upper_inf(seats) from booking limit 2;

select room from booking where during @> timestamp '2024-01-01 05:30' and days && daterange '[2024-01-03,2024-01-09]';

select people, people @> 7, '{[1,3),[5,8)}'::int4multirange + '{[2,6)}'::int4multirange, range_agg(seats) from booking where room = 1 group by people limit 2;

select unnest(people) from booking limit 3;

-- JSON
select data -> 'level', data ->> 'level', data -> 'tags' -> 0, data #> '{address,zip}', data #>> '{tags,1}', data -> 'tags' ->> -1 from customer limit 1;

select data->'address'->>'zip' from customer where (data->>'level')::int=3;

select count(*) from customer where data @> '{"level": 7}';

select count(*) from customer where data @> '{"tags": ["a1"]}'::jsonb and '{"level": 1}'::jsonb <@ data;

select data ? 'level', data ? 'none' from customer limit 1;

select data ?| array['x', 'tags'], data ?& array['level', 'tags'], data?'level', data -> 'tags' ?| '{a1,zz}' from customer limit 2;

select id from customer where data @? '$.tags[*] ? (@ == "a2")' limit 3;

select id from customer where data @@ '$.level > 8' limit 3;

select data['level'], data['address']['zip'], data['tags'][0] from customer limit 1;

select data - 'tags', data - array['level', 'tags'], data #- '{address,zip}', data || '{"new": null}'::jsonb from customer limit 1;

select jsonb_path_query(data, '$.tags[*]'), jsonb_path_exists(data, '$.address.zip ? (@ > 8010)') from customer limit 3;

select jsonb_path_query_array('[1, 2, 3, 4]', '$[*] ? (@ > $min && @ < 4)', '{"min": 1}'), jsonb_path_query_first('{"a": [1, 2]}', 'lax $.a[last]'), jsonb_path_match('{"a": 1}', 'strict $.a == 1');

select jsonb_path_query('{"a": "x?y"}', '$.a ? (@ like_regex "^x\\?" flag "i")'), jsonb_path_query('[1]', '$.size()'), jsonb_path_query('"2024-01-01"', '$.datetime()');

select json_build_object('a', 1, 'b', array[1, 2]), json_build_array(1, 'x', null), jsonb_object('{a,1,b,2}'), to_jsonb(row(1, 'x')), row_to_json(c) from (select 1 as id, 'x' as name) c;

select json_agg(name order by id), jsonb_object_agg(id, city), json_object_agg(id, name) from customer where id < 4;

select key, value from jsonb_each('{"a": 1, "b": {"c": 2}}');

select * from jsonb_each_text('{"x": "y;z"}'), jsonb_array_elements('[1, 2]') as e(v);

select * from jsonb_to_recordset('[{"a": 1, "b": "x"}, {"a": 2}]') as r(a int, b text);

select * from json_populate_record(null::pair, '{"a": 4, "b": ":x"}');

select jsonb_array_elements_text('["a", "b"]'), jsonb_object_keys('{"k": 1}'), jsonb_array_length('[1, 2, 3]'), jsonb_typeof('null');

select jsonb_set('{"a": {"b": 1}}', '{a,b}', '2'), jsonb_insert('{"a": [0, 2]}', '{a,1}', '1'), jsonb_strip_nulls('{"a": null}'), jsonb_pretty('{"a": 1}');

select '{"a":1}'::json->>'a', '["x","y"]'::json->1, json_typeof('1'), '{"a": ":b", "c": "?"}'::jsonb ->> 'a';

select data @> jsonb_build_object('level', id % 10) from customer where id between 3 and 5;

select d.key, count(*) from customer, lateral jsonb_each(data) as d group by d.key order by d.key;

-- Full text search
select title from page where words @@ to_tsquery('english', 'fox & !cat');

select to_tsvector('simple', 'A fat cat') @@ 'cat & fat'::tsquery, 'fat <-> cat'::tsquery, phraseto_tsquery('the fat cat'), websearch_to_tsquery('"sad cat" or -dog'), plainto_tsquery('fat rats');

select id, ts_rank(words, q), ts_rank_cd(words, q, 2) from page, to_tsquery('databas:*') q where words @@ q order by 2 desc limit 3;

select ts_headline('english', body, to_tsquery('row'), 'StartSel=<b>, StopSel=</b>') from page where words @@ 'row'::tsquery limit 1;

select setweight(to_tsvector('a b'), 'A') || to_tsvector('c'), strip(words), length(words), numnode('a & b'::tsquery), querytree('a & !b'::tsquery), ts_delete('a:1 b:2'::tsvector, 'a') from page limit 1;

select 'super:*'::tsquery && 'star:AB', tsquery 'a' || 'b', !! tsquery 'a', 'a:1A b:2'::tsvector, 'cat' @> 'cat & rat'::tsquery;

select ts_lexize('english_stem', 'stars'), get_current_ts_config(), array_to_tsvector('{a,b}'), ts_filter('a:1A b:2B'::tsvector, '{a}');

select * from ts_parse('default', 'foo - bar') limit 3;

-- needs: --allow-writes
select word, ndoc from ts_stat('select words from page') order by ndoc desc, word limit 5;

-- Network, bits, identifiers, geometry, XML
select address, host(address), masklen(net), address << net, address <<= '10.0.1.0/24', address && net, address + 1, broadcast(net) from host limit 2;

select inet '192.168.1.5' - inet '192.168.1.1', abbrev(cidr '10.1.0.0/16'), family(inet '::1'), inet '::ffff:1.2.3.4', set_masklen('192.168.1.5/24', 16), network('192.168.1.5/24');

select macaddr '08:00:2b:01:02:03', trunc(card), macaddr8_set7bit('00:34:56:ab:cd:ef'), card::macaddr8 from host limit 1;

select flags & b'00001111', flags << 1, flags::int, ~flags, flags # b'11111111', flags || b'1' from host where id = 5;

select key, key = '00000000-0000-4000-8000-000000000003'::uuid from host where key > '00000000000040008000000000000010' order by key limit 2;

select raw, length(raw), raw || '\xff'::bytea, encode(raw, 'escape'), position('\x01'::bytea in raw) from host limit 2;

select point '(1,2)', box '((0,0),(1,1))' && box '((0.5,0.5),(2,2))', circle '<(0,0),2>' @> point '(1,1)', point(1, 2) <-> point(4, 6), lseg '[(0,0),(1,1)]' ?# lseg '[(0,1),(1,0)]';

select area(box '((0,0),(2,3))'), center(circle '<(1,1),1>'), point(1, 1) + point(2, 0), path '((0,0),(1,1))' @> point '(0,0)' is null;

select ?- lseg '[(-1,0),(1,0)]', ?| lseg '[(0,0),(0,1)]', lseg '[(0,0),(0,1)]' ?-| lseg '[(0,0),(1,0)]', lseg '[(0,0),(0,1)]' ?|| lseg '[(1,0),(1,1)]', # path '((0,0),(1,1))';

select polygon '((0,0),(1,0),(1,1))' ~= polygon '((1,1),(0,0),(1,0))', box '(1,1),(0,0)' |>> box '(0,-2),(1,-1)', point '(0,0)' <^ point '(0,1)', @@ circle '<(0,0),1>';

select xmlelement(name a, xmlattributes(1 as "x-y"), 'text'), xmlforest(id, name), xmlconcat('<a/>', '<b/>'), xmlcomment(' c; ') from customer limit 1;

select xpath('/page/b/text()', markup), xmlexists('//b' passing by value markup), markup is document, xml_is_well_formed('<a>') from page limit 2;

select t.* from page, xmltable('/page' passing markup columns id int path '@id', b text path 'b' default 'none') as t limit 3;

select xmlserialize(content markup as text), xmlparse(document '<?xml version="1.0"?><a>1</a>'), xmlpi(name php, 'echo "x;";'), xmlagg(markup) from page where id = 1 group by markup::text, id;

-- Subqueries
select name, (select count(*) from orders o where o.customer = c.id) as n from customer c where id < 4;

select id from customer where id in (select customer from orders where state = 'open') and id not in (1, 4) limit 5;

select id from customer c where exists (select from orders where customer = c.id) and not exists (select 1 from orders o where o.customer = c.id and o.note is null) limit 4;

select id from item where price > all (select price from item where kind = 'box' and id < 20) limit 3;

select id from item where price = any (select max(price) from item group by kind);

select * from (select id, name from customer where id < 3) as s(i, n), (values (1, 'x')) v(a, b);

select (select row(id, name) from customer where id = 1), (select max(id) from customer) + 1;

-- Joins
select o.id, c.name from orders o, customer c where o.customer = c.id and o.id < 4;

select o.id, c.name from orders as o inner join customer as c on c.id = o.customer where o.id < 4;

select c.id, o.id from customer c left outer join orders o on o.customer = c.id and o.state = 'paid' where c.id < 6;

select o.id, c.id from orders o right join customer c on o.customer = c.id and o.note > 'n4' where c.id < 9;

select a.id, b.id from (values (1), (2)) a(id) full join (values (2), (3)) b(id) using (id);

select id, a.x, b.y, j.id from (values (1, 'l')) a(id, x) join (values (1, 'r')) b(id, y) using (id) as j;

select * from (select 1 as id, 'a' as x) a natural join (select 1 as id, 'b' as y) b natural left join (select 1 as id) d;

select count(*) from item a cross join item b;

select c.id, last.id from customer c left join lateral (select o.id from orders o where o.customer = c.id order by placed desc limit 1) last on true where c.id < 4;

select e.name, b.name as boss from employee e left join employee b on e.boss = b.id order by e.id limit 5;

select c.id from customer c join (orders o join line l on l.orders = o.id) on o.customer = c.id where l.pieces > 4 limit 3;

select g.n, g.n * 2 as d from generate_series(1, 3) as g(n), lateral (select g.n * 2) s(x);

select * from rows from (generate_series(1, 3), unnest(array['a', 'b'])) with ordinality as t(n, s, i);

-- Grouping
select city, count(*), sum(credit), avg(credit)::numeric(10, 2), min(name), max(joined) from customer group by city having count(*) > 10 order by city;

select city, active, count(*) from customer group by grouping sets ((city), (active), ()) order by 1, 2, 3;

select city, active, grouping(city, active), count(*) from customer group by rollup (city, active) order by 3, 1, 2 limit 5;

select city, active, count(*) from customer group by cube (city, active), 1 limit 6;

select city, active, count(*) from customer group by distinct rollup (city), rollup (city, active) order by 1, 2 limit 4;

select count(*), count(email), count(distinct city), count(*) filter (where active), sum(id) filter (where id % 2 = 0) from customer;

select percentile_cont(0.5) within group (order by credit), percentile_disc(array[0.25, 0.75]) within group (order by id), mode() within group (order by city desc) from customer;

select rank(50) within group (order by id), dense_rank(3) within group (order by id), percent_rank(9) within group (order by id), cume_dist(9) within group (order by id) from customer;

select bool_and(active), bool_or(active), every(id > 0), bit_and(id), bit_or(id), bit_xor(id) from customer;

select stddev(credit), stddev_pop(id), var_samp(id), variance(id), corr(id, credit), covar_pop(id, credit), regr_slope(credit, id), regr_r2(credit, id), regr_count(id, id) from customer;

select extract(year from joined) as year, count(*) from customer group by year order by year;

select 1 + id % 2 as k, string_agg(distinct city, '; ' order by city) from customer group by k;

select count(*) from customer having count(*) > 100;

-- Windows
select id, row_number() over (order by credit desc), rank() over (order by city), dense_rank() over (partition by active order by city) from customer limit 4;

select id, sum(salary) over w, avg(salary) over (w rows between 1 preceding and 1 following) from employee window w as (partition by dept order by id) limit 5;

select id, sum(id) over (order by id rows between unbounded preceding and current row), sum(id) over (order by id rows 2 preceding), sum(id) over (rows between current row and unbounded following) from item limit 4;

select id, count(*) over (order by id range between 2 preceding and 2 following), sum(id) over (order by added range between interval '1 day' preceding and current row) from item limit 4;

select id, count(*) over (order by kind groups between 1 preceding and 1 following), max(id) over (order by kind groups current row) from item limit 4;

select id, sum(id) over (order by id rows between 1 preceding and 1 following exclude current row), sum(id) over (order by kind rows between unbounded preceding and unbounded following exclude group), count(*) over (order by kind rows between 2 preceding and current row exclude ties), count(*) over (rows between 1 preceding and current row exclude no others) from item limit 4;

select id, lag(id) over w, lead(id, 2, -1) over w, first_value(id) over w, last_value(id) over w, nth_value(id, 2) over w from item window w as (order by id) limit 4;

select id, ntile(4) over (order by id), percent_rank() over (order by id), cume_dist() over (order by id) from item limit 3;

select dept, sum(salary) filter (where id > 10) over (partition by dept), sum(sum(salary)) over () from employee group by dept, salary, id limit 3;

select * from (select id, row_number() over (partition by customer order by placed desc) as n from orders) s where n = 1 limit 3;

select count(*) over w1, sum(id) over w2 from item window w1 as (partition by kind), w2 as (w1 order by id) limit 2;

-- Common table expressions
with big as (select * from customer where credit > 200) select count(*) from big;

with a(x) as (values (1), (2)), b as materialized (select x * 2 as y from a), c as not materialized (select * from b) select * from c, a;

with recursive t(n) as (select 1 union all select n + 1 from t where n < 10) select sum(n) from t;

with recursive tree as (select id, name, 0 as depth from employee where boss is null union all select e.id, e.name, t.depth + 1 from employee e join tree t on e.boss = t.id) select depth, count(*) from tree group by depth order by depth;

with recursive g(id, boss) as (select id, boss from employee where id = 30 union select e.id, e.boss from employee e, g where e.id = g.boss) search depth first by id set path select id, path from g order by path;

with recursive g(id, boss) as (select id, boss from employee where id = 30 union all select e.id, e.boss from employee e, g where e.id = g.boss) search breadth first by id set o cycle id set seen to 'y' default 'n' using way select id, seen from g order by o;

with recursive fib(a, b) as (values (0, 1) union all select b, a + b from fib where b < 100) select array_agg(a) from fib;

with x as (with y as (select 1 as a) select a + 1 as a from y) select * from x;

-- Set operations, VALUES, TABLE
select 1 union select 2 union all select 2 order by 1;

(select id from customer where id < 5) intersect (select id from item) except all select 3;

select id from customer intersect all select id from item order by id limit 3;

(select id from item order by id desc limit 2) union all (select id from item order by id limit 2);

select 1 as a union (select 2 intersect select 2) except select 9 order by a desc;

values (1, 'one'), (2, 'two'), (3, null);

values (1), (2) order by 1 desc limit 1;

table customer limit 3;

table per_city order by n, city;

select * from (table item) t where id = 1;

-- Order, limit, distinct
select id, credit from customer order by credit desc nulls last, id asc nulls first limit 5;

select id from customer order by 1 limit 5 offset 10;

select id from customer order by id offset 3 rows fetch next 4 rows only;

select pieces from line order by pieces desc fetch first 3 rows with ties;

select id from customer order by id fetch first row only;

select id from customer limit all offset 195;

select id from customer order by id limit (select 2) offset 1 + 1;

select distinct city collate "C" from customer order by 1;

select distinct on (city) city, id, credit from customer order by city, credit desc;

select distinct on (kind, price > 20) kind, id from item order by kind, price > 20, id;

select name from customer order by name using > limit 3;

select all city from customer limit 2;

select from customer limit 1;

-- Collations
select 'a' < 'B' collate "C", 'a' < 'B' collate "en-x-icu", name collate "POSIX" from customer limit 1;

select city from customer group by city order by city collate "und-x-icu" desc;

select collation for ('x' collate "C"), lower('I' collate "C");

-- Sampling and set-returning functions
select count(*) from customer tablesample bernoulli (50) repeatable (7);

select count(*) from customer as c tablesample system (100);

select generate_series(1, 10, 3), generate_series(5, 1, -2);

select d::date from generate_series(timestamp '2024-01-01', '2024-01-05', '1 day') d;

select n, repeat('*', n) from generate_series(1, 4) n where n % 2 = 0;

select date '2024-01-01' + n as day from generate_series(0, 6) as g(n);

-- Partitions, views, inheritance
select tableoid::regclass, count(*) from reading group by 1 order by 1;

select max(value) from reading where at >= '2024-01-01' and sensor = 1;

select count(*) from only customer;

select count(*) from customer *;

select name from big_customers order by id limit 3;

select ctid, xmin is not null, tableoid = 'customer'::regclass from customer where ctid = '(0,1)';

-- System catalogs and information
select relname, relkind, reltuples::int from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by relname;

select a.attname, format_type(a.atttypid, a.atttypmod) from pg_attribute a where a.attrelid = 'customer'::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum;

select table_name, column_name, data_type from information_schema.columns where table_schema = 'public' and table_name = 'item' order by ordinal_position;

select indexrelid::regclass, pg_get_indexdef(indexrelid) from pg_index where indrelid = 'orders'::regclass;

select conname, contype, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'line'::regclass order by conname;

select current_setting('server_version_num')::int > 100000, current_user, session_user, current_database(), current_schema, current_schemas(true), version() like 'PostgreSQL%';

select pg_typeof(1), pg_typeof('x'::text), pg_relation_size('customer') > 0, pg_size_pretty(123456::bigint), pg_table_is_visible('customer'::regclass), to_regclass('nothing') is null, obj_description('pg_class'::regclass);

select name, setting, unit from pg_settings where name in ('work_mem', 'shared_buffers') order by name;

select n.nspname, p.proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.proname = 'twice';

select has_table_privilege('customer', 'select'), pg_get_viewdef('big_customers'::regclass), pg_get_expr(adbin, adrelid) from pg_attrdef limit 1;

select count(*) >= 0 from pg_stat_user_tables where relname = 'customer' and seq_scan >= 0;

select pg_column_size(name), num_nulls(1, null), num_nonnulls(1, null, 2), inet_client_addr() is null, pg_backend_pid() > 0, txid_current_if_assigned() is null from customer limit 1;

-- Named and variadic arguments
select make_interval(0, 1, weeks => 2), make_interval(hours := 3), concat_ws('-', variadic array['a', 'b']), format('%s %s', variadic array['x', 'y']);

select twice(x => 4), twice(x := 5), pg_catalog.lower('ABC'), public.twice(1);

-- Everyday reports
select c.name, count(o.id) as orders, sum(l.pieces * i.price) as total from customer c join orders o on o.customer = c.id join line l on l.orders = o.id join item i on i.id = l.item group by c.id having sum(l.pieces * i.price) > 100 order by total desc limit 10;

select state, count(*) filter (where placed < '2023-03-01') as before, round(100.0 * count(*) / sum(count(*)) over (), 1) || '%' as share from orders group by state order by state;

select to_char(placed, 'YYYY-MM') as month, count(*) as n, lag(count(*)) over (order by to_char(placed, 'YYYY-MM')) as previous from orders group by month order by month;

select id, name from customer where lower(name) = lower('CUSTOMER 9') or email = 'c9@example.com' or city in ('Łódź', 'Zürich') and id < 10;

select *, id * 2 as double from customer where joined >= date '2021-01-01' and credit is not null order by joined, id limit 3 offset 2;

select o.* from orders o where (o.placed, o.id) > (timestamptz '2023-02-01 00:00+00', 10) order by o.placed, o.id limit 5;

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

select 'x' as ":a", $$:b$$ as "c:d", id::int8 as n from customer where name <> ':e' and tags[1:2] <> '{":f"}' limit 1;

select data ->> 'level' as level, count(*) from customer where data ? 'level' and data -> 'tags' ?| array['a0', 'a2'] and data @? '$.address ? (@.zip > 8005)' group by 1 order by 1;

select percentile_cont(array[0.5, 0.9]) within group (order by extract(epoch from placed)) from orders;

select id, name, similarity from (select id, name, length(name)::float / 20 as similarity from customer) s where similarity > 0.5 order by similarity desc, id limit 2;

-- More strings, numbers and names
-- needs: --allow-writes
select U&"d\0061t\+000061" from (select 1 as data) s;

select 'a'
	'b'  
'c';

select $q$;$q$, $q$'$q$, $q$"$q$, $q$$$$q$, $Q$ $q$ $Q$;

select '' as a, ' '' ' as b, '''' as c, '''''' as d;

select E'\\\'', E'a\\;b', E'\u0041;', E'';

select 'C:\temp\new', 'a\', 'b';

select e'--', e'/*', $$*/$$, '$$', '$tag$', 'x$y$z';

select "name" as "a.b.c", "id" "x y" from "customer" limit 1;

select 1.5e3, 1.e2, 0.5e-1, 00012, 1e0;

select id%10 as m, id*-1, id+-1, id- -1 from customer limit 2;

select corpus.public.item.id, corpus.side.customer.remark from corpus.public.item, corpus.side.customer limit 1;

-- More syntax
select exists (select 1 from customer where id = 0) as none, not exists (table item) as no_items;

select overlay(name placing '***' from 1 for 3), substring(name, 2), substr(name, 1, 4) from customer limit 1;

select id from customer where name like any (array['%1', '%2']) and name !~ all (array['^x', 'y$']) limit 3;

select id from customer where (city = 'Bern') is not false and active is true and (credit < 0) is not true limit 3;

select nullif(city, 'Bern') is null as bern, count(*) from customer group by 1;

select i.id, i.price, avg(i.price) over (partition by i.kind)::numeric(8, 2) as mean from item i order by i.price - avg(i.price) over (partition by i.kind) desc limit 3;

select json_build_object('k', array_agg(x)) from (values (1), (2)) v(x);

select jsonb_agg(to_jsonb(i) - 'added' order by i.id) from item i where i.id < 3;

select s.*, t.n from (select distinct dept from employee) s left join lateral (select count(*) as n from employee e where e.dept = s.dept and e.salary > 3400) t on true order by 1;

select array_agg(row(id, name)) from item where id <= 2;

select string_agg(chr(64 + n), '' order by n desc) from generate_series(1, 26) n;

select bool_or(words @@ 'train'::tsquery) from page;

select lower(during) + interval '30 min', upper(during) - lower(during) from booking order by 1 limit 2;

select sum(pieces) over (partition by orders), line.* from line order by orders, item limit 3;

select interval '1 day' > interval '23 hours', '1 mon'::interval = '30 days'::interval, interval '-1' month;

select time '10:00' + interval '5 hours', time '23:59' - time '01:00', date '2024-02-28' + 2, (timestamp '2024-01-01 00:00' + '1.5 h'::interval)::time;

select case when data ? 'level' then 'has' else 'lacks' end as "?", data->>'a?b' as ":?" from customer limit 1;

-- Strings that go on, names that are keywords
-- needs: --allow-writes
select E'a\''
  'b\'c', E'x' -- a comment between
  '\';:y';

select range ? 'k', s.values ? 'k', zone?'k' from (select '{}'::jsonb as range, '{}'::jsonb as values, '{"k": 1}'::jsonb as zone) s;

select 10 %(3)s, 10 %s, 10%s from (select 4 as s) q;

select U&'a'
  '\0041', N'b'
  'c\';
