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


def report(directory, *speeds, arguments=()):
    """The path of a report on as many made-up results."""
    files = []
    for i, speed in enumerate(speeds):
        files.append(directory / f'run{i + 1}.json')
        files[-1].write_text(json.dumps(report_example.document(speed)))
    out = directory / 'report.html'
    made = subprocess.run([HOLDFAST, 'bench', 'report', *files, '-o', out, *arguments], capture_output=True, text=True)
    # One of the example's rows is INVALID: the report is written, and the exit code says so.
    assert made.returncode == 3, made.stderr
    assert 'INVALID' in made.stdout
    return out


def rgb(text):
    return tuple(int(float(n)) for n in re.findall(r'[\d.]+', text)[:3])


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix='holdfast-report-')
        cls.path = report(
            pathlib.Path(cls.directory.name), 1.0, arguments=('--prices', str(ROOT / 'data/prices/table-3.2.yaml'))
        )
        cls.browser = browser.Browser()
        cls.page = cls.browser.open(cls.path)

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
        # The scale, from two labels of the axis.
        axis = self.page.evaluate(f'''[...document.querySelectorAll('{chart} text.level')]
            .map((t) => [parseFloat(t.textContent), parseFloat(t.getAttribute('y')) - 4])''')
        (v0, y0), (v1, y1) = axis[0], axis[-1]
        value_at = lambda y: v0 + (y - y0) * (v1 - v0) / (y1 - y0)
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
                self.assertIn(f'holdfast too_fast, 1 thread, access size {size}: beyond', text)
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
            f'[...document.querySelectorAll("{section} .chart line.published")].map((l) => l.dataset.id)'
        )
        self.assertIn('seqread-b256', ids)
        text = self.page.evaluate(
            f'[...document.querySelectorAll("{section} .chart text.published")].map((t) => t.textContent).join("\\n")'
        )
        self.assertIn('PMem on B-256, 4 KiB: 58 GB/s', text)
        self.assertIn(
            '8 x 256 GB Optane 200 series', self.page.evaluate(f'document.querySelector("{section}").textContent')
        )
        box = self.page.evaluate(
            f'''document.querySelector('{section} .chart line[data-id="seqread-b256"]').getAttribute('y1')'''
        )
        self.assertGreater(float(box), 0)
        # And not beside what they do not speak of.
        self.assertEqual(
            self.page.evaluate(f'document.querySelectorAll("{self.section("hash_index_update")} .published").length'), 0
        )

    def test_a_latency_curve_rises_from_the_median_to_the_tail(self):
        curves = self.page.evaluate(
            f'[...document.querySelectorAll("{self.section("operation_latency")} polyline.latency")].map((p) => p.getAttribute("points"))'
        )
        self.assertEqual(len(curves), 2)
        for curve in curves:
            heights = [float(point.split(',')[1]) for point in curve.split()]
            self.assertGreater(len(heights), 40)
            self.assertEqual(heights, sorted(heights, reverse=True))  # Up is less.
            self.assertGreater(heights[0] - heights[-1], 50)

    def test_a_benchmark_of_latency_opens_on_latency_and_others_on_bandwidth(self):
        opens_on = lambda operation: self.page.evaluate(
            f'document.querySelector("{self.section(operation)} .controls select").selectedOptions[0].textContent'
        )
        self.assertEqual(opens_on('operation_latency'), 'mean latency')
        self.assertEqual(opens_on('sequential_reads'), 'bandwidth')

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
            f'''(() => {{ const s = document.querySelectorAll('{section} select')[{n}];
            s.value = [...s.options].find((o) => o.textContent === {json.dumps(label)}).value; s.dispatchEvent(new Event('change')); }})()'''
        )
        choose(0, 'time per operation')
        choose(1, 'access size')
        self.page.settle()
        chart = self.page.evaluate(f'document.querySelector("{section} .chart").textContent')
        self.assertIn('access size', chart)
        self.assertIn('4 KiB', chart)
        self.assertRegex(chart, r'\d ns')
        self.assertIn('8 threads', self.page.evaluate(f'document.querySelector("{section} .legend").textContent'))
        choose(0, 'bandwidth')
        choose(1, 'threads')
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
            (self.section('sequential_reads') + ' h2', 'color', 4.5),
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
            page = self.another_page(report(pathlib.Path(directory), 1.0, 0.8))
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
