"""What a person sees of a report: drawn by a real browser, looked at pixel by pixel.

    report_browser_test.py HOLDFAST [--keep DIRECTORY]      --keep: the pictures are kept there, to be looked at

Exit code 77 (skipped) where there is no Chromium; `./run check report` installs it.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import browser
import report_example

HOLDFAST = sys.argv[1] if len(sys.argv) > 1 else 'holdfast'
KEEP = pathlib.Path(sys.argv[sys.argv.index('--keep') + 1]) if '--keep' in sys.argv else None
ROOT = pathlib.Path(__file__).resolve().parents[2]


def report(directory, *documents, name='report', arguments=(), exit_code=3):
    """The path of a report on made-up results."""
    files = []
    for i, document in enumerate(documents):
        files.append(directory / f'{name}{i + 1}.json')
        files[-1].write_text(json.dumps(document))
    out = directory / f'{name}.html'
    made = subprocess.run([HOLDFAST, 'bench', 'report', *files, '-o', out, *arguments], capture_output=True, text=True)
    # One of the first example's rows is INVALID: the report is written, and the exit code says so.
    assert made.returncode == exit_code, made.stderr
    assert ('INVALID' in made.stdout) == (exit_code == 3)
    return out


def rgb(text):
    return tuple(int(float(n)) for n in re.findall(r'[\d.]+', text)[:3])


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix='holdfast-report-')
        at = pathlib.Path(cls.directory.name)
        prices = ('--prices', str(ROOT / 'data/prices/table-3.2.yaml'))
        cls.path = report(at, report_example.document(), arguments=prices)
        cls.memory_path = report(at, report_example.memory_document(), name='memory', exit_code=0)
        cls.stores_path = report(at, report_example.store_document(), name='stores', exit_code=0)
        cls.browser = browser.Browser()
        cls.page = cls.browser.open(cls.path)
        cls.memory = cls.browser.open(cls.memory_path)
        cls.stores = cls.browser.open(cls.stores_path)

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.directory.cleanup()

    def keep(self, name, png):
        if KEEP:
            KEEP.mkdir(exist_ok=True)
            (KEEP / (name + '.png')).write_bytes(png)

    def another_page(self, path, **how):
        page = self.browser.open(path, **how)
        self.addCleanup(page.close)
        return page

    def section(self, operation):
        return f'section[data-operation={operation}]'

    def texts(self, page, selector):
        return page.evaluate(f'[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)')

    def scale(self, page, chart, name='level', attribute='y', shift=4):
        """The number at a place of a chart, told from the first and the last label of its axis."""
        axis = page.evaluate(f'''[...document.querySelectorAll('{chart} text.{name}')]
            .map((t) => [parseFloat(t.textContent), parseFloat(t.getAttribute('{attribute}')) - {shift}])''')
        (v0, y0), (v1, y1) = axis[0], axis[-1]
        return lambda y: v0 + (y - y0) * (v1 - v0) / (y1 - y0)

    def shows(self, page, operation):
        return page.evaluate(f'document.querySelector("{self.section(operation)} .change summary").textContent')

    def test_nothing_is_asked_of_the_network_and_nothing_fails(self):
        self.assertEqual(self.page.complaints(), [])
        text = self.path.read_text()
        self.assertNotRegex(text, r'(src|href)=["\']?(https?:)?//')
        self.assertIn("default-src 'none'", text)

    def test_texts_of_a_result_stay_texts(self):
        self.assertEqual(self.page.evaluate('document.title'), 'What this memory delivers')
        self.assertEqual(self.page.evaluate('document.querySelectorAll("main b").length'), 0)
        self.assertIn('</script><script>', self.page.evaluate('document.querySelector("header").textContent'))

    def test_points_stand_where_the_numbers_say_and_error_bars_span_their_intervals(self):
        chart = self.section('sequential_reads') + ' .chart svg'
        value_at = self.scale(self.page, chart)
        points = sorted(
            value_at(y)
            for y in self.page.evaluate(
                f'[...document.querySelectorAll("{chart} circle")].map((c) => +c.getAttribute("cy"))'
            )
        )
        rows = [
            row
            for row in report_example.document()['rows']
            if row['operation'] == 'sequential_reads' and row['valid'] is True
        ]
        expected = sorted(row['bytes_per_s_median'] / 2**30 for row in rows)
        self.assertEqual(len(points), len(expected))
        for got, wanted in zip(points, expected):
            self.assertAlmostEqual(got, wanted, delta=0.02 * expected[-1])
        bars = self.page.evaluate(
            f'[...document.querySelectorAll("{chart} .error-bar")].map((p) => p.getAttribute("d"))'
        )
        spans = sorted(
            (value_at(float(low)), value_at(float(high)))
            for high, low in (re.fullmatch(r'M[\d.]+,([\d.]+)h8m-4,0V([\d.]+)m-4,0h8', bar).groups() for bar in bars)
        )
        wanted = sorted((row['bytes_per_s_low'] / 2**30, row['bytes_per_s_high'] / 2**30) for row in rows)
        self.assertEqual(len(spans), len(wanted))
        for got, want in zip(spans, wanted):
            self.assertAlmostEqual(got[0], want[0], delta=0.02 * expected[-1])
            self.assertAlmostEqual(got[1], want[1], delta=0.02 * expected[-1])

    def test_each_line_is_seen_in_its_colour_and_is_gone_when_it_is_switched_off(self):
        section = self.section('sequential_reads')
        picture = lambda: browser.Picture(self.page.screenshot(self.page.box(section + ' .chart')))
        colours = [
            rgb(c)
            for c in self.page.evaluate(
                f'[...document.querySelectorAll("{section} .chart circle")].map((c) => getComputedStyle(c).stroke)'
            )
        ]
        lines = list(dict.fromkeys(colours))
        self.assertEqual(len(lines), 4)
        before = picture()
        counts = [before.count(colour) for colour in lines]
        for count in counts:
            self.assertGreater(count, 300)  # Points of 50 pixels each, and a line two pixels thick.
        click = f'document.querySelectorAll("{section} .legend button")[1].click()'
        self.page.evaluate(click)
        self.page.settle()
        after = picture()
        self.assertLess(after.count(lines[1]), 20)
        self.assertGreater(after.count(lines[0]), 300)
        self.page.evaluate(click)
        self.page.settle()
        self.assertAlmostEqual(picture().count(lines[1]), counts[1], delta=counts[1] * 0.1)

    def test_a_point_with_a_warning_is_hollow(self):
        fills = self.page.evaluate(
            f'''[...document.querySelectorAll('{self.section("sequential_reads")} .chart circle')]
            .map((c) => getComputedStyle(c).fill === getComputedStyle(c).stroke)'''
        )
        self.assertEqual(fills.count(False), 1)

    def test_what_is_invalid_is_seen_to_be(self):
        bad = rgb(self.page.evaluate('getComputedStyle(document.querySelector("#invalid h2")).color'))
        self.assertGreater(browser.Picture(self.page.screenshot(self.page.box('#invalid'))).count(bad), 500)
        section = self.section('sequential_reads')
        self.assertEqual(self.page.evaluate(f'document.querySelectorAll("{section} .chart .invalid").length'), 1)
        self.assertGreater(browser.Picture(self.page.screenshot(self.page.box(section + ' .chart'))).count(bad), 60)
        # It is in the table and in the heat map, too, and does not set the scale.
        self.assertEqual(self.page.evaluate(f'document.querySelectorAll("{section} tr.invalid").length'), 1)
        self.assertEqual(self.page.evaluate(f'document.querySelectorAll("{section} table.heat td.invalid").length'), 1)

    def test_what_bench_run_measured_beyond_the_limits_is_seen_to_be_invalid(self):
        with tempfile.TemporaryDirectory(prefix='holdfast-report-') as directory:
            at = pathlib.Path(directory)
            sections = {'environment': {}, 'command': {}, 'regions': [], 'parameters': [], 'warnings': [], 'rows': []}
            # No cache is as slow as a megabyte in a second.
            limits = {'cache_read_bytes_per_s_per_thread': 1e6}
            schema = report_example.document()['schema']
            (at / 'limits.json').write_text(json.dumps({'schema': schema, 'calibration': limits} | sections))
            (at / 'w.yaml').write_text(
                'too_fast:\n  matrix: { access_size: [64, 4096] }\n  args: { memory_range: 2M, run_time: 20ms }\n'
            )
            run = [HOLDFAST, 'bench', 'run', at / 'w.yaml', '--dram', '--repeat', '2', '--json', at / 'result.json']
            done = subprocess.run([*run, '--limits', at / 'limits.json'], capture_output=True, text=True)
            self.assertEqual(done.returncode, 3, done.stderr)
            made = [HOLDFAST, 'bench', 'report', at / 'result.json', '-o', at / 'report.html']
            self.assertEqual(subprocess.run(made, capture_output=True).returncode, 3)
            page = self.another_page(at / 'report.html')
            self.assertEqual(page.complaints(), [])
            text = page.evaluate('document.querySelector("#invalid").innerText')
            self.assertEqual(text.count('beyond this machine'), 2)
            for size in ('64 B', '4 KiB'):
                self.assertIn(f'holdfast too_fast, 1 thread, {size} accesses: beyond', text)
            bad = rgb(page.evaluate('getComputedStyle(document.querySelector("#invalid h2")).color'))
            picture = page.screenshot(page.box('#invalid'))
            self.keep('invalid', picture)
            self.assertGreater(browser.Picture(picture).count(bad), 500)
            section = self.section('too_fast')
            self.assertEqual(page.evaluate(f'document.querySelectorAll("{section} tr.invalid").length'), 2)
            self.assertEqual(page.evaluate(f'document.querySelectorAll("{section} .chart .invalid").length'), 2)
            chart = browser.Picture(page.screenshot(page.box(section + ' .chart')))
            self.assertGreater(chart.count(bad), 60)

    def test_a_heat_map_is_darker_where_the_number_is_larger(self):
        fold = f'document.querySelector("{self.section("sequential_reads")} table.heat").closest("details")'
        self.page.evaluate(f'{fold}.open = true')
        self.addCleanup(self.page.evaluate, f'{fold}.open = false')
        self.page.settle()
        cells = self.page.evaluate(
            f'''[...document.querySelectorAll('{self.section("sequential_reads")} table.heat td')].filter((t) => t.style.getPropertyValue('--v'))
            .map((t) => {{ const b = t.getBoundingClientRect(); return [parseFloat(t.textContent), b.x + scrollX + 3, b.y + scrollY + 3]; }})'''
        )
        self.assertEqual(len(cells), 15)
        box = self.page.box(self.section('sequential_reads') + ' table.heat')
        picture = browser.Picture(self.page.screenshot(box))
        shades = [sum(picture.at(x - box[0], y - box[1])) for _, x, y in sorted(cells)]
        # As bandwidth goes up, so does the ink.
        self.assertEqual(shades, sorted(shades, reverse=True))
        self.assertGreater(shades[0] - shades[-1], 200)

    def test_published_numbers_are_drawn_with_the_name_of_their_hardware(self):
        section = self.section('sequential_reads')
        ids = self.page.evaluate(
            f'[...document.querySelectorAll("{section} .chart path.published")].map((l) => l.dataset.id)'
        )
        self.assertIn('seqread-b256', ids)
        text = self.page.evaluate(
            f'[...document.querySelectorAll("{section} .chart text.published")].map((t) => t.textContent).join("\\n")'
        )
        self.assertIn('58.0 GiB/s B-256', text)
        self.assertIn(
            '8 x 256 GB Optane 200 series', self.page.evaluate(f'document.querySelector("{section}").textContent')
        )
        # And not beside what they do not speak of.
        self.assertEqual(
            self.page.evaluate(f'document.querySelectorAll("{self.section("hash_index_update")} .published").length'), 0
        )

    def test_a_latency_curve_rises_from_the_median_to_the_tail(self):
        curve = f'document.querySelector("{self.section("operation_latency")} .change ~ details")'
        self.page.evaluate(f'{curve}.open = true')
        self.addCleanup(self.page.evaluate, f'{curve}.open = false')
        self.page.settle()
        curves = self.page.evaluate(
            f'[...document.querySelectorAll("{self.section("operation_latency")} polyline.latency")].map((p) => p.getAttribute("points"))'
        )
        self.assertEqual(len(curves), 2)
        for curve in curves:
            heights = [float(point.split(',')[1]) for point in curve.split()]
            self.assertGreater(len(heights), 40)
            self.assertEqual(heights, sorted(heights, reverse=True))  # Up is less.
            self.assertGreater(heights[0] - heights[-1], 50)

    def test_latency_is_drawn_in_nanoseconds_and_less_of_it_is_better(self):
        for page, operation, what in (
            (self.page, 'operation_latency', 'mean latency by chain (less is better)'),
            (self.page, 'sequential_reads', 'bandwidth by access size (more is better)'),
            (self.memory, 'far_latency', 'time per operation by window of the reads (less is better)'),
            (self.memory, 'line_latency', 'time per operation by persist instruction (less is better)'),
        ):
            self.assertEqual(self.shows(page, operation), what)
        amounts = self.texts(self.memory, self.section('far_latency') + ' .amount')
        wanted = [row for row in report_example.memory_document()['rows'] if row['operation'] == 'far_latency']
        times = sorted(row['ns_per_op_median'] for row in wanted)
        self.assertEqual([round(float(text.removesuffix(' ns'))) for text in amounts], [round(ns) for ns in times])
        # Their interval is that of the rate, turned round.
        bars = self.memory.evaluate(f'document.querySelectorAll("{self.section("far_latency")} .error-bar").length')
        self.assertEqual(bars, 3)

    def test_loaded_latency_is_latency_over_bandwidth(self):
        chart = self.section('loaded') + ' .chart svg'
        rows = [r for r in report_example.memory_document()['rows'] if r['operation'] == 'loaded' and r['part'] == 'chase']
        ns_at = self.scale(self.memory, chart)
        gib_at = self.scale(self.memory, chart, 'below', 'x', 0)
        points = self.memory.evaluate(
            f'[...document.querySelectorAll("{chart} .point")].map((c) => [+c.getAttribute("cx"), +c.getAttribute("cy")])'
        )
        got = sorted((gib_at(x), ns_at(y)) for x, y in points)
        wanted = sorted((row['both_bytes_per_s_median'] / 2**30, row['ns_per_op_median']) for row in rows)
        self.assertEqual(len(got), len(wanted))
        for (gib, ns), (gib_wanted, ns_wanted) in zip(got, wanted):
            self.assertAlmostEqual(gib, gib_wanted, delta=0.2)
            self.assertAlmostEqual(ns, ns_wanted, delta=15)
        said = self.texts(self.memory, chart + ' .said')
        for text in ('none', '200 ns', '1 µs', 'idle, over 2 GiB: 300 ns'):
            self.assertIn(text, said)
        # One line through all loads, not a point for each.
        line = self.memory.evaluate(f'document.querySelector("{chart} polyline.series").getAttribute("points")')
        self.assertEqual(len(line.split()), 3)

    def test_idle_latency_beside_loaded_latency_is_that_of_the_same_range(self):
        rows = report_example.memory_document()['rows']
        loaded = next(row for row in rows if row['operation'] == 'loaded' and row['part'] == 'chase')
        alone = {name: value for name, value in loaded.items() if name not in ('part', 'beside') and not name.startswith('both_')}
        alone |= {'operation': 'loaded_idle', 'ns_per_op_median': 310.0}
        path = report(
            pathlib.Path(self.directory.name), report_example.memory_document() | {'rows': [*rows, alone]}, name='idle', exit_code=0
        )
        said = self.texts(self.another_page(path), self.section('loaded') + ' .chart svg .said')
        self.assertIn('idle: 310 ns', said)
        self.assertEqual([text for text in said if text.startswith('idle, over')], [])

    def test_labels_of_an_axis_are_equally_far_apart(self):
        for page in (self.stores, self.another_page(self.stores_path, width=390)):
            places = page.evaluate(
                '''[...document.querySelectorAll('.bars')].map((bars) => [...bars.querySelectorAll('text.level')]
                .map((text) => parseFloat(text.textContent.replace(/[^0-9.]/g, ''))))'''
            )
            self.assertGreater(len(places), 2)
            for labels in places:
                steps = {round(b - a, 6) for a, b in zip(labels, labels[1:])}
                self.assertEqual(len(steps), 1, labels)

    def test_the_first_screen_says_what_the_memory_delivers(self):
        tiles = self.memory.evaluate(
            '''Object.fromEntries([...document.querySelectorAll('.tile')].map((t) => [t.querySelector('h2').textContent,
            [...t.querySelectorAll('.answer')].map((a) => a.innerText)]))'''
        )
        best = lambda operation, field, choose, **wanted: choose(
            row[field]
            for row in report_example.memory_document()['rows']
            if row['operation'] == operation and all(row.get(name) == value for name, value in wanted.items())
        )
        gib = lambda number: f'{number / 2**30:.3g} GiB/s'
        read = best('sequential_reads', 'bytes_per_s_median', max, region='target')
        for title, number, words in (
            ('Read', gib(read), '2 threads, sequential, 4 KiB accesses'),
            ('Write', gib(best('sequential_writes', 'bytes_per_s_median', max)), '2 threads'),
            ('Latency, idle', '300 ns', '1 thread, over 2 GiB'),
            ('Latency, loaded', f'{best("loaded", "ns_per_op_median", max):.0f} ns', '12.0 GiB/s together'),
            ('Persist one line', f'{best("line_latency", "ns_per_op_median", min):.0f} ns', '1 thread, sequential, ntstore'),
        ):
            self.assertIn(number, tiles[title][0], title)
            self.assertIn(words, tiles[title][0], title)
        self.assertIn('DRAM', tiles['Read'][1])
        # Before anything else, on a desktop and on a phone; the notes about what this machine lacks are folded.
        phone = self.another_page(self.memory_path, width=390, height=844, phone=True)
        for page, height in ((self.memory, 500), (phone, 844)):
            x, y, w, h = page.box('#answers')
            self.assertLess(y + h, height)
            self.assertLess(page.box('#warnings')[3], 60)
        self.keep('answers-phone', phone.screenshot([0, 0, 390, 844]))
        # A number leads to its chart.
        link = self.memory.evaluate('document.querySelector(".tile a").getAttribute("href")')
        self.assertEqual(self.memory.evaluate(f'document.querySelector("{link}").dataset.operation'), 'sequential_reads')

    def test_the_first_screen_sets_random_reads_beside_those_of_the_same_size_only(self):
        def random_reads(region, access_bytes):
            wanted = {'operation': 'sequential_reads', 'region': region}
            like = next(row for row in report_example.memory_document()['rows'] if wanted.items() <= row.items())
            return like | {'operation': 'look_ups', 'exec_mode': 'random', 'access_bytes': access_bytes}

        def tile(name, *rows):
            path = report(pathlib.Path(self.directory.name), report_example.memory_document() | {'rows': list(rows)}, name=name, exit_code=0)
            tiles = self.texts(self.another_page(path), '.tile')
            return next(text for text in tiles if text.startswith('Random read'))

        target = [random_reads('target', 64), random_reads('target', 256)]
        # 256 B of DRAM stood beside 64 B of the target, as if DRAM were so much faster.
        self.assertNotIn('256 B', tile('sizes', *target, random_reads('dram', 256)))
        both = tile('size', *target, random_reads('dram', 256), random_reads('dram', 64))
        self.assertEqual(both.count('64 B'), 2)

    def test_a_number_of_the_first_screen_whose_row_warns_says_so(self):
        rows = report_example.memory_document()['rows']
        best = max((row for row in rows if row['operation'] == 'sequential_writes'), key=lambda row: row['bytes_per_s_median'])
        best['warnings'] = ['12 page faults in the timed part']
        path = report(
            pathlib.Path(self.directory.name), report_example.memory_document() | {'rows': rows}, name='warned', exit_code=0
        )
        page = self.another_page(path)
        said = page.evaluate(
            '''[...document.querySelectorAll('.tile .warned')].map((w) =>
            [w.closest('.tile').querySelector('h2').textContent, w.innerText, w.title])'''
        )
        self.assertEqual(said, [['Write', 'with a warning', '12 page faults in the timed part']])

    def test_charts_stand_in_groups_by_question(self):
        groups = self.memory.evaluate(
            '''[...document.querySelectorAll('section.question')].map((q) => [q.querySelector('h2').textContent,
            [...q.querySelectorAll('section')].map((s) => s.dataset.operation)])'''
        )
        self.assertEqual(
            groups,
            [
                ['How fast can it be read?', ['sequential_reads', 'alone', 'adjacent_lines']],
                ['How fast can it be written?', ['sequential_writes', 'threads_write']],
                ['How long does one access take?', ['line_latency', 'far_latency']],
                ['How does latency grow with the load?', ['loaded']],
                ['What do tasks beside each other cost each other?', ['beside_reads', 'two_sockets']],
            ],
        )
        links = self.memory.evaluate(
            '[...document.querySelectorAll("nav a")].every((a) => document.querySelector(a.getAttribute("href")))'
        )
        self.assertTrue(links)

    def test_what_the_files_say_of_a_benchmark_is_its_title(self):
        title = self.memory.evaluate(f'document.querySelector("{self.section("far_latency")} h3").textContent')
        self.assertEqual(title, 'Dependent reads (van Renen et al. 2020, Fig. 1)')
        self.assertIn('Building Blocks for Persistent Memory, 2020', self.texts(self.memory, '#papers')[0])

    def test_parameters_are_said_in_words(self):
        text = self.memory.evaluate('document.querySelector("main").innerText')
        for internal in ('fence every operations', 'exec mode', 'access kind', 'persist instruction nocache', 'number_threads',
                         'scale of powers', 'region target', 'chase window'):  # fmt: skip
            self.assertNotIn(internal, text)
        names = self.texts(self.memory, self.section('sequential_writes') + ' .bar-name')
        self.assertEqual(names[:3], ['a fence after each', 'a fence after 8', 'a fence at the end'])
        names = self.texts(self.memory, self.section('line_latency') + ' .bar-name')
        self.assertEqual(names[:2], ['clwb', 'ntstore'])
        chains = self.texts(self.page, self.section('operation_latency') + ' .bar-name')
        self.assertEqual(chains[:2], ['read 256 B', 'read 256 B, write 256 B (clwb)'])

    def test_no_more_lines_than_can_be_told_apart_and_no_legend_for_one(self):
        legends = self.memory.evaluate(
            '''[...document.querySelectorAll('section.question section')].map((s) => [s.dataset.operation,
            [...s.querySelectorAll('.legend line')].map((l) => getComputedStyle(l).stroke)])'''
        )
        for operation, colours in legends:
            self.assertLessEqual(len(colours), 8, operation)
            self.assertEqual(len(set(colours)), len(colours), operation)
            self.assertNotEqual(len(colours), 1, operation)
        # 24 rows without a number that varies are 24 bars, each with its name.
        names = [n for n in self.texts(self.memory, self.section('beside_reads') + ' .bar-name') if n]
        self.assertEqual(len(names), 24)
        self.assertEqual(names[0], 'beside other, in DRAM, sequential')
        self.assertEqual(self.texts(self.memory, self.section('beside_reads') + ' figcaption'), ['foreground', 'other'])
        # With what the same does alone.
        marks = self.memory.evaluate(f'document.querySelectorAll("{self.section("beside_reads")} .alone").length')
        self.assertEqual(marks, 24)

    def test_many_lines_are_panels_as_in_the_figure_of_the_paper(self):
        section = self.section('threads_write')
        self.assertEqual(self.shows(self.memory, 'threads_write'), 'bandwidth by threads (more is better)')
        self.assertEqual(self.texts(self.memory, section + ' figcaption'), ['256 B accesses', '1 MiB accesses'])
        self.assertEqual(self.texts(self.memory, section + ' .legend li'), ['not flushed', 'clwb', 'ntstore'])
        self.assertEqual(self.memory.evaluate(f'document.querySelectorAll("{section} polyline").length'), 6)
        # Two sockets are read as one machine.
        self.assertIn('bandwidth of both together', self.shows(self.memory, 'two_sockets'))

    def test_sizes_stand_true_to_scale_and_the_whole_range_comes_last(self):
        x = self.memory.evaluate(
            f'[...document.querySelectorAll("{self.section("adjacent_lines")} circle")].map((c) => +c.getAttribute("cx"))'
        )
        self.assertAlmostEqual((x[1] - x[0]) / (x[2] - x[0]), (640 - 512) / (1024 - 512), delta=0.01)
        names = self.texts(self.memory, self.section('far_latency') + ' .bar-name')
        self.assertEqual(names[:3], ['within 4 KiB at a time', 'within 2 MiB at a time', 'over the whole range'])

    def test_published_numbers_are_in_the_unit_of_the_axis_beside_the_points(self):
        for page, width in ((self.page, 1200), (self.another_page(self.path, width=390, height=844, phone=True), 390)):
            section = self.section('sequential_reads')
            texts = self.texts(page, section + ' svg text')
            self.assertEqual([t for t in texts if 'GB/s' in t], [])
            # Ours set the scale: 51 GiB/s here, 157 published.
            levels = [float(t.split()[0]) for t in self.texts(page, section + ' text.level')]
            self.assertLess(max(levels), 80)
            inside = page.evaluate(
                f'''(() => {{ const box = (e) => e.getBoundingClientRect();
                const points = [...document.querySelectorAll('{section} .point')].map(box);
                const others = [...document.querySelectorAll('{section} .published')].map(box);
                return others.filter((o) => points.some((p) => p.x < o.right && o.x < p.right && p.y < o.bottom && o.y < p.bottom)).length; }})()'''
            )
            self.assertEqual(inside, 0, width)
        claims = self.texts(self.page, self.section('sequential_reads') + ' .claims li')
        self.assertTrue(any('Fig 3.2a, printed as 58 GB/s' in claim for claim in claims), claims)

    def test_no_name_of_a_published_number_is_cut_by_the_edge(self):
        for width in (1280, 1100, 390):
            page = self.another_page(self.path, width=width)
            over = page.evaluate(
                '''[...document.querySelectorAll('svg text.published')].filter((t) => t.getBoundingClientRect().right >
                t.closest('svg').getBoundingClientRect().right + 0.5).map((t) => t.textContent)'''
            )
            self.assertEqual(over, [], width)

    def test_a_comparison_of_stores_is_called_so_and_nothing_lies_over_its_points(self):
        self.assertEqual(self.stores.evaluate('document.title'), 'How the stores compare')
        self.assertEqual(self.texts(self.stores, 'h1'), ['How the stores compare'])
        names = self.texts(self.stores, self.section('put') + ' .bar-name')
        self.assertEqual(names[:3], ['holdfast, assumed to survive power loss', 'floor, survives power loss', 'rocksdb, survives its process'])
        tiles = self.texts(self.stores, '.tile')
        self.assertEqual([t[:3] for t in tiles], ['put', 'get', 'ycs'])
        self.assertRegex(tiles[0], r'[45]\.\d\d M/s2 threadsrocksdb 3\d\d k/s, bare memory [67]\.\d\d M/s')
        for width in (1280, 390):
            page = self.another_page(self.stores_path, width=width)
            self.assertEqual(page.complaints(), [])
            covered = page.evaluate(
                '''[...document.querySelectorAll('.point')].filter((p) => { p.scrollIntoView({block: 'center'});
                const b = p.getBoundingClientRect(), top = document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2);
                return !top.closest('svg') || top.matches('text, .published'); }).length'''
            )
            self.assertEqual(covered, 0)

    def test_search_unfold_all_and_the_way_back(self):
        page = self.another_page(self.memory_path)
        page.evaluate(
            '''(() => { const s = document.querySelector('input[type=search]'); s.value = 'dependent ns';
            s.dispatchEvent(new Event('input')); })()'''
        )
        shown = '[...document.querySelectorAll("section[data-operation]")].filter((s) => s.offsetHeight > 0).map((s) => s.dataset.operation)'
        self.assertEqual(page.evaluate(shown), ['far_latency', 'loaded'])
        self.assertEqual(page.evaluate('document.querySelectorAll("nav li:not([hidden])").length'), 3)
        self.assertEqual(self.texts(page, '.tools [role=status]'), ['2 of 10'])
        page.evaluate('document.querySelector(".tools button").click()')
        folded = 'document.querySelectorAll("main section details:not([open])").length'
        self.assertEqual(page.evaluate(folded), 0)
        page.evaluate('document.querySelector(".tools button").click()')
        self.assertGreater(page.evaluate(folded), 8)
        # The bar with the way back is seen wherever one is.
        page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight)')
        page.settle()
        self.assertEqual(page.evaluate('document.querySelector(".tools").getBoundingClientRect().y'), 0)
        page.evaluate('document.querySelector(".tools a").click()')
        page.settle()
        self.assertLess(page.evaluate('window.scrollY'), 60)

    def test_the_pointer_is_told_what_it_points_at(self):
        self.page.evaluate(
            f'document.querySelector(\'{self.section("sequential_writes")} .chart\').scrollIntoView({{block: "center"}})'
        )
        self.page.settle()
        x, y = self.page.evaluate(
            f'''(() => {{ const b = document.querySelector('{self.section("sequential_writes")} .chart circle').getBoundingClientRect();
            return [b.x + b.width / 2, b.y + b.height / 2]; }})()'''
        )
        self.page.move_to(x + 2, y + 2)
        tip = self.page.evaluate(
            'document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent'
        )
        self.assertIn('bandwidth: ', tip)
        self.assertIn('5 repetitions', tip)
        self.page.move_to(2, 2)
        self.assertTrue(self.page.evaluate('document.getElementById("tip").hidden'))

    def test_another_value_over_another_parameter(self):
        section = self.section('sequential_reads')
        choose = lambda n, label: self.page.evaluate(
            f'''(() => {{ const s = document.querySelectorAll('{section} .controls select')[{n}];
            s.value = [...s.options].find((o) => o.textContent === {json.dumps(label)}).value; s.dispatchEvent(new Event('change')); }})()'''
        )
        choose(0, 'time per operation')
        choose(1, 'threads')
        self.page.settle()
        self.assertEqual(self.shows(self.page, 'sequential_reads'), 'time per operation by threads (less is better)')
        chart = self.page.evaluate(f'document.querySelector("{section} .chart").textContent')
        self.assertIn('threads', chart)
        self.assertRegex(chart, r'\d ns')
        self.assertIn('4 KiB accesses', self.page.evaluate(f'document.querySelector("{section} .legend").textContent'))
        choose(0, 'bandwidth')
        choose(1, 'access size')
        self.page.settle()

    def test_the_table_of_prices_is_the_papers(self):
        text = self.page.evaluate('document.querySelector("#prices table").innerText')
        for cell in ('9.21', '59.37', '0.22', '64.49', '26160 (2048)'):
            self.assertIn(cell, text)

    def test_on_a_phone_nothing_is_wider_than_the_window_and_texts_do_not_shrink(self):
        page = self.another_page(self.path, width=390, height=844, phone=True)
        self.assertLessEqual(page.evaluate('document.documentElement.scrollWidth'), 390)
        chart = page.box(self.section('sequential_reads') + ' .chart svg')
        self.assertGreater(chart[2], 320)
        size = page.evaluate(
            f'''(() => {{ const t = document.querySelector('{self.section("sequential_reads")} .chart text');
            return t.getBoundingClientRect().height; }})()'''
        )
        self.assertGreaterEqual(size, 10)
        self.keep('phone', page.screenshot([0, 0, 390, 2200]))
        self.assertEqual(page.complaints(), [])
        # Claims are read without scrolling sideways.
        page.evaluate('document.querySelectorAll("details").forEach((d) => { d.open = true; })')
        page.settle()
        self.assertLessEqual(page.evaluate('document.documentElement.scrollWidth'), 390)
        self.assertTrue(page.evaluate('[...document.querySelectorAll(".claims li")].every((l) => l.getBoundingClientRect().right <= 390)'))

    def test_dark_is_dark_and_readable(self):
        page = self.another_page(self.path, dark=True)
        picture = page.screenshot([0, 0, 1200, 1600])
        self.keep('dark', picture)
        ground = browser.Picture(page.screenshot([2, 2, 20, 20])).at(5, 5)
        self.assertLess(sum(ground), 150)
        luminance = lambda c: sum(
            w * ((v / 255) / 12.92 if v <= 10 else ((v / 255 + 0.055) / 1.055) ** 2.4)
            for w, v in zip((0.2126, 0.7152, 0.0722), c)
        )
        card = rgb(
            page.evaluate(
                'getComputedStyle(document.querySelector(".card:not(.invalid):not(.warnings)")).backgroundColor'
            )
        )
        # WCAG: 4.5 for text, 3 for graphics.
        for selector, property_, wanted in (
            (self.section('sequential_reads') + ' h3', 'color', 4.5),
            (self.section('sequential_reads') + ' .dim', 'color', 4.5),
            (self.section('sequential_reads') + ' .chart text', 'fill', 4.5),
            (self.section('sequential_reads') + ' .chart circle', 'stroke', 3),
        ):
            colour = rgb(page.evaluate(f'getComputedStyle(document.querySelector({json.dumps(selector)})).{property_}'))
            light, dark = sorted((luminance(colour), luminance(card)), reverse=True)
            self.assertGreaterEqual((light + 0.05) / (dark + 0.05), wanted, selector)

    def test_on_paper_everything_is_open_and_the_ground_is_white(self):
        page = self.another_page(self.path, dark=True)
        page.media(dark=True, printed=True)
        self.assertEqual(page.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(255, 255, 255)')
        self.assertEqual(page.evaluate('getComputedStyle(document.querySelector(".controls")).display'), 'none')
        pdf = page.pdf()
        self.assertTrue(pdf.startswith(b'%PDF'))
        self.assertEqual(page.evaluate('[...document.querySelectorAll("details")].filter((d) => !d.open).length'), 0)
        if KEEP:
            KEEP.mkdir(exist_ok=True)
            (KEEP / 'print.pdf').write_bytes(pdf)

    def test_two_runs_are_compared_and_a_regression_is_seen(self):
        with tempfile.TemporaryDirectory(prefix='holdfast-report-') as directory:
            page = self.another_page(report(pathlib.Path(directory), report_example.document(), report_example.document(0.8)))
            self.assertEqual(page.complaints(), [])
            verdicts = page.evaluate(
                '[...document.querySelectorAll("#comparison tbody tr")].map((r) => r.cells[1].textContent)'
            )
            self.assertEqual(len(verdicts), 28)
            self.assertEqual(verdicts.count('worse'), 26)
            # The one whose row warns of something says so on both sides.
            warned = 'worse: before: 12 page faults in the timed part; after: 12 page faults in the timed part'
            self.assertEqual(verdicts.count(warned), 1)
            self.assertEqual(sum(v.startswith('INVALID') for v in verdicts), 1)
            bad = rgb(page.evaluate('getComputedStyle(document.querySelector("#comparison .bad")).color'))
            picture = browser.Picture(page.screenshot(page.box('#comparison tbody tr svg')))
            self.assertGreater(picture.count(bad), 30)  # The interval, left of the line at 1.
            self.assertIn('Linux 6.1 -> Linux 6.18', page.evaluate('document.querySelector("#comparison").textContent'))
            self.assertGreater(page.evaluate('document.querySelectorAll("#environment td.differs").length'), 0)
            self.keep('comparison', page.screenshot([0, 0, 1200, 2400]))

    def test_whatever_a_document_may_hold_is_drawn(self):
        """Fields of any allowed type under the names that mean something, no fields, no rows: legal, if senseless."""
        odd = [None, True, 0, -1, 1e308, 5e-324, '', 'text', [], [1, None], ['a', 'b']]
        names = ['warnings', 'repetitions', 'bytes_per_s_median', 'bytes_per_s_low', 'ops_per_s_median', 'p99_ns']
        names += [
            'access_bytes',
            'latency_upper_ns',
            'latency_count',
            'latency_curve_ns',
            'region',
            'interval_coverage',
        ]
        rows = [
            {'subject': 'a', 'operation': f'b{i % 3}', 'threads': i % 4, 'valid': True if i % 5 else 'no'}
            for i in range(40)
        ]
        for i, row in enumerate(rows[1:]):
            row |= {name: odd[(i * 7 + j * 3) % len(odd)] for j, name in enumerate(names) if (i + j) % 3}
        document = {
            'schema': {'name': 'holdfast.bench', 'version': 2},
            'environment': {'a': None, 'b': [], 'c': ['x']},
            'calibration': {},
            'command': {},
            'regions': [{}],
            'parameters': ['access_bytes', 'region', 'threads', '__proto__'],
            'warnings': [],
        }
        for some in (rows, []):
            with tempfile.TemporaryDirectory(prefix='holdfast-report-') as directory:
                file, out = pathlib.Path(directory) / 'odd.json', pathlib.Path(directory) / 'odd.html'
                file.write_text(json.dumps(document | {'rows': some}))
                made = subprocess.run(
                    [HOLDFAST, 'bench', 'report', file, file, '-o', out], capture_output=True, text=True
                )
                self.assertIn(made.returncode, (0, 3), made.stderr)
                page = self.another_page(out)
                self.assertEqual(page.complaints(), [])
                self.assertEqual(
                    page.evaluate('document.querySelectorAll("section[data-operation]").length'), 3 if some else 0
                )

    def test_pictures_for_people(self):
        height = self.page.evaluate('document.documentElement.scrollHeight')
        png = self.page.screenshot([0, 0, 1200, min(height, 5000)], scale=0.75)
        self.keep('desktop', png)
        self.assertGreater(len(png), 50000)


if __name__ == '__main__':
    if browser.find() is None:
        print('skipped: no Chromium here (Debian package chromium; `./run check report` installs it)')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
