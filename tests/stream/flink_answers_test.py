"""What Flink 2.3 answers, each beside the query: by the interpreter, and by compiled code where there is a compiler.

    flink_answers_test.py HOLDFAST

Most answers were measured: Flink ran over the same rows. Letters are compared with Python, which has them by the same rules.
"""
import csv
import io
import pathlib
import sys
import tempfile

import text_expressions

import compilers

DIRECTORY = None


def both(query, *rows, code=0, final=False):
    """Its rows, and that it was compiled where it can be."""
    options = ['--final'] if final else []
    ways = [['--compile', 'never']]
    if text_expressions.COMPILER:
        ways.append(['--compile', 'wait'])
    for way in ways:
        done = text_expressions.run(query, *options, *way, code=code)
        answers = [','.join(row) for row in csv.reader(io.StringIO(done.stdout))][1:]
        assert answers == list(rows), (query, way, answers, done.stderr)
        assert 'wait' not in way or 'interpreted:' not in done.stderr, done.stderr
    return done.stderr


def table(rows, columns, name='t', more=''):
    path = DIRECTORY / f'{name}.csv'
    path.write_text(rows, encoding='utf-8')
    return f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv'{more});\n"


def at(second):
    return f'2024-01-01 00:00:{second:02}.000'


EVENTS = "id INT, k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '2' SECOND"


def check_the_first_row_is_never_corrected():
    """Flink's deduplication: a row is shown when the watermark has come to its time. One before the watermark is late."""
    first = ('SELECT id, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts ASC) AS r FROM t) WHERE r = 1')
    head = table(f'1,a,{at(10)}\n2,a,{at(5)}\n3,b,{at(20)}\n4,b,{at(19)}\n5,b,{at(19)}\n6,a,{at(21)}\n7,c,{at(18)}\n8,d,{at(19)}\n9,e,{at(30)}\n', EVENTS)
    said = both(head + first, f'1,{at(10)}', f'4,{at(19)}', f'8,{at(19)}', f'9,{at(30)}')
    assert '2 late rows dropped' in said, said
    # It is no change, so any sink takes it, and its time is a time attribute for a window behind it.
    out = DIRECTORY / 'parts'
    both(head + f"CREATE TABLE o (id INT, ts TIMESTAMP(3)) WITH ('connector' = 'filesystem', 'path' = '{out}', 'format' = 'csv');\n"
         f'INSERT INTO o {first}')
    assert ''.join(part.read_text() for part in sorted(out.glob('part-*'))).splitlines()[0] == f'1,{at(10)}'
    both(head + 'SELECT window_start, COUNT(*) FROM TABLE(TUMBLE((SELECT k, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k '
         "ORDER BY ts) AS r FROM t) WHERE r = 1), DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end",
         f'{at(10)},3', f'{at(30)},1')
    # Its number is 1.
    both(head + first.replace('id, ts FROM', 'id, r FROM'), '1,1', '4,1', '8,1', '9,1')


def check_an_offset_of_windows_may_be_longer_than_their_slide():
    head = table(f'1,a,{at(10)}\n3,b,{at(20)}\n4,b,{at(21)}\n', EVENTS)
    counts = lambda call: head + f'SELECT window_start, COUNT(*) FROM TABLE({call}) GROUP BY window_start, window_end'
    both(counts("HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND, INTERVAL '7' SECOND)"),
         f'{at(2)},1', f'{at(7)},1', f'{at(12)},2', f'{at(17)},2')
    both(counts("CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND, INTERVAL '17' SECOND)"),
         f'{at(7)},1', f'{at(7)},1', f'{at(17)},2', f'{at(17)},2')


def check_late_rows_of_a_frame_without_an_end():
    """The watermark judges them; each was judged by the last row of its partition, as those of a frame with an end are."""
    head = table(f'1,a,{at(1)}\n2,b,{at(5)}\n3,a,{at(12)}\n4,a,{at(20)}\n5,b,{at(18)}\n6,b,{at(19)}\n7,a,{at(13)}\n8,b,{at(17)}\n'
                 '9,c,2024-01-01 00:00:18.001\n', EVENTS)
    over = 'OVER (PARTITION BY k ORDER BY ts'
    for frame in ('', ' ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW'):
        said = both(head + f'SELECT id, SUM(id) {over}{frame}) FROM t', '1,1', '2,2', '3,4', '9,9', '6,8', '4,8')
        assert '3 late rows' in said, said
    both(head + f'SELECT id, LAG(id) {over}) FROM t', '1,\\N', '2,\\N', '3,1', '9,\\N', '6,2', '4,3')
    # Where there are not so many rows before it: what the row itself says, not NULL. A row of NULL before it is one.
    both(head + f"SELECT id, LAG(NULLIF(id, 3), 1, id * 10) {over}) FROM t", '1,10', '2,20', '3,1', '9,90', '6,2', '4,\\N')
    bounded = f'SUM(id) {over} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)'
    both(head + f'SELECT id, {bounded} FROM t', '1,1', '2,2', '3,4', '7,10', '8,10', '5,13', '9,9', '6,11', '4,11')
    # Of both in a SELECT, whatever the order: no row is counted and then dropped. Flink refuses two.
    for select in (f'{bounded}, SUM(id) {over})', f'SUM(id) {over}), {bounded}'):
        rows = [('1', '1', '1'), ('2', '2', '2'), ('3', '4', '4'), ('9', '9', '9'), ('6', '8', '8'), ('4', '7', '8')]
        both(head + f'SELECT id, {select} FROM t',
             *(','.join(row if select.startswith('SUM(id) ' + over + ' ') else (row[0], row[2], row[1])) for row in rows))


def check_group_by_nothing_is_no_grouping_set():
    """One row at the end of no rows, as SQL has it and aggregates without GROUP BY have. Flink has none in both cases."""
    for rows, wanted in (('', '0,\\N'), ('1\n2\n', '2,3')):
        head = table(rows, 'v INT')
        for group in ('', ' GROUP BY ()'):
            both(head + f'SELECT COUNT(*), SUM(v) FROM t{group}', wanted, final=True)
    both(table('', 'v INT') + 'SELECT COUNT(*) FROM t GROUP BY GROUPING SETS ((), (v))', final=True)


def check_the_length_of_a_source_s_texts():
    """VARCHAR(n) cuts where a CAST to it stands, and nowhere else."""
    head = table('abcdef,abcdef\na,a\n', 'a VARCHAR(3), b STRING')
    both(head + 'SELECT a, CHAR_LENGTH(a), CAST(a AS VARCHAR(2)), CAST(b AS VARCHAR(2)) FROM t', 'abcdef,6,ab,ab', 'a,1,a,a')


def check_decimals_without_room():
    """Of a union of DECIMAL(38, 0) and DECIMAL(38, 38): digits before the point are kept."""
    both(table('1\n', 'a DECIMAL(38, 0)') + table('0.5\n', 'b DECIMAL(38, 38)', 'u') + 'SELECT a FROM t UNION ALL SELECT b FROM u',
         '1', '1')


def check_times_that_intervals_move():
    both(table(f'{at(10)},2024-01-31\n', 'ts TIMESTAMP(3), d DATE') + "SELECT d + INTERVAL '1' MONTH, d - INTERVAL '25' HOUR, INTERVAL '1' DAY + d, "
         "ts + INTERVAL '2' MONTH, ts - INTERVAL '1' YEAR FROM t WHERE d - INTERVAL '1' DAY = DATE '2024-01-30'",
         '2024-02-29,2024-01-30,2024-02-01,2024-03-01 00:00:10.000,2023-01-01 00:00:10.000')


def check_letters():
    """Every code point that CSV can hold, alone and in words; what is no letter stays."""
    letters = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code <= 0xDFFF and chr(code) not in '\r\n']
    alone = [''.join(letters[i:i + 1500]) for i in range(0, len(letters), 1500)]
    words = ['ΑΣ', 'Σ', 'ΑΣ Σ', 'ΑΣΑ', 'ΑΣ.', "ΑΣ'Α", 'ΣΣ', 'xΣy', 'ΑΣ\u0301', 'Σ\u0301Σ', '1Σ', 'ß', 'İ', 'straße', '', None]
    # Sigma by itself: one in a text of all letters depends on more of Unicode than we have.
    rows = [(number, None if text is None else text.replace('Σ', '') if number < len(alone) else text) for number, text in enumerate(alone + words)]
    head = text_expressions.table(DIRECTORY / 'letters.csv', rows)
    text_expressions.check(head, [('UPPER(s)', text_expressions.of(str.upper)), ('LOWER(s)', text_expressions.of(str.lower)),
                                             ('CHAR_LENGTH(UPPER(s))', text_expressions.of(lambda text: len(text.upper())))], rows)


def check_replacing_nothing():
    """An empty text is found before each character, and at the end."""
    rows = [(0, 'abc'), (1, ''), (2, '𐐨é'), (3, None)]
    head = text_expressions.table(DIRECTORY / 'replaced.csv', rows)
    text_expressions.check(head, [("REPLACE(s, '', '-')", text_expressions.of(lambda text: text.replace('', '-'))),
                                             ("REPLACE(s, '', s)", text_expressions.of(lambda text: text.replace('', text)))], rows)


def check_late_rows_change_windows():
    """Flink's late fire, in the older form of windows, which is the only one there that has it."""
    rows = ((1, 1, 1), (3, 1, 2), (13, 1, 3), (4, 1, 4), (5, 2, 5), (25, 1, 6), (6, 1, 7), (14, 1, 8), (50, 1, 9), (24, 1, 10))
    head = table(''.join(f'{at(second)},{k},{v}\n' for second, k, v in rows),
                 "ts TIMESTAMP(3), k INT, v INT, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND")
    fire = "SET 'table.exec.emit.late-fire.enabled' = 'true';\nSET 'table.exec.emit.late-fire.delay' = '0 s';\n" \
        "SET 'table.exec.emit.allow-lateness' = '15 s';\n"
    sums = "SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, k, COUNT(*) AS n, SUM(v) AS v FROM t GROUP BY TUMBLE(ts, INTERVAL '10' SECOND), k"
    both(head + sums, f'{at(0)},1,2,3', f'{at(10)},1,1,3', f'{at(20)},1,1,6', f'{at(50)},1,1,9')
    both(head + fire + sums, f'+I,{at(0)},1,2,3', f'-U,{at(0)},1,2,3', f'+U,{at(0)},1,3,7', f'+I,{at(0)},2,1,5', f'+I,{at(10)},1,1,3',
         f'-U,{at(0)},1,3,7', f'+U,{at(0)},1,4,14', f'-U,{at(10)},1,1,3', f'+U,{at(10)},1,2,11', f'+I,{at(20)},1,1,6', f'+I,{at(50)},1,1,9')
    both(head + fire + "SELECT TUMBLE_START(w, INTERVAL '20' SECOND), SUM(n) FROM (SELECT TUMBLE_ROWTIME(ts, INTERVAL '10' SECOND) AS w, k, "
         "COUNT(*) AS n FROM t GROUP BY TUMBLE(ts, INTERVAL '10' SECOND), k) x GROUP BY TUMBLE(w, INTERVAL '20' SECOND)",
         f'+I,{at(0)},5', f'-U,{at(0)},5', f'+U,{at(0)},2', f'-U,{at(0)},2', f'+U,{at(0)},6', f'-U,{at(0)},6', f'+U,{at(0)},5',
         f'-U,{at(0)},5', f'+U,{at(0)},7', f'+I,{at(20)},1', f'+I,{at(40)},1')
    both(head + fire + "SELECT COUNT(*) FROM t GROUP BY SESSION(ts, INTERVAL '2' SECOND)", code=2)


def main():
    global DIRECTORY
    checks = [value for name, value in globals().items() if name.startswith('check_')]
    with tempfile.TemporaryDirectory(prefix='holdfast_flink_answers_') as name:
        DIRECTORY = pathlib.Path(name)
        compilers.be_quick(DIRECTORY)
        for check in checks:
            check()
    print(f'{len(checks)} checks' + ('' if text_expressions.COMPILER else '; no compiler here'))


if __name__ == '__main__':
    sys.exit(main())
