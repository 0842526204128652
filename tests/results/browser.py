"""A headless Chromium, told what to do over its own pipe: no driver, no library.

    with Browser() as browser:
        page = browser.open('/tmp/report.html', width=1200, height=900)
        page.evaluate('document.title')

Speaks the DevTools protocol on file descriptors 3 and 4 (--remote-debugging-pipe): messages are JSON, ended by a NUL.
"""

import base64
import json
import os
import shutil
import struct
import subprocess
import tempfile
import time
import zlib


def find():
    """The path of a browser, or None."""
    named = os.environ.get('HOLDFAST_BROWSER')
    if named:
        return named
    return next(filter(None, map(shutil.which, ('chromium', 'chromium-browser', 'google-chrome'))), None)


class Failure(Exception):
    """The browser said no, or nothing in time."""


class Browser:
    def __init__(self, timeout_s=60):
        self.timeout_s = timeout_s
        self.profile = tempfile.mkdtemp(prefix='holdfast-browser-')
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()
        # The browser's ends must be its descriptors 3 and 4; out of the way first, lest one be in the other's place.
        ends = [os.dup2(end, 200 + i) for i, end in enumerate((to_browser, from_browser))]

        def place():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen(
            [
                find(),
                '--headless',
                '--no-sandbox',
                '--disable-gpu',
                '--disable-dev-shm-usage',
                '--disable-background-networking',
                '--disable-component-update',
                '--no-first-run',
                '--hide-scrollbars',
                '--force-color-profile=srgb',
                '--remote-debugging-pipe',
                f'--user-data-dir={self.profile}',
                'about:blank',
            ],
            preexec_fn=place,
            pass_fds=(3, 4, *ends),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (to_browser, from_browser, *ends):
            os.close(end)
        os.set_blocking(self.read, False)
        self.buffer = b''
        self.number = 0
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _message(self, deadline):
        while b'\0' not in self.buffer:
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise Failure(
                    f'no answer; the browser {"has ended" if self.process.poll() is not None else "is silent"}'
                )
            try:
                self.buffer += os.read(self.read, 1 << 20)
            except BlockingIOError:
                time.sleep(0.005)
        message, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        request = {'id': self.number, 'method': method, 'params': parameters}
        if session:
            request['sessionId'] = session
        os.write(self.write, json.dumps(request).encode() + b'\0')
        deadline = time.monotonic() + self.timeout_s
        while True:
            message = self._message(deadline)
            if message.get('id') == self.number:
                if 'error' in message:
                    raise Failure(f'{method}: {message["error"]}')
                return message['result']
            self.events.append(message)

    def open(self, path, width=1200, height=900, phone=False, dark=False):
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        page = Page(self, session)
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            page.call(domain + '.enable')
        page.call(
            'Emulation.setDeviceMetricsOverride',
            width=width,
            height=height,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )
        page.media(dark=dark)
        page.call('Page.navigate', url=path if '://' in str(path) else 'file://' + os.path.abspath(path))
        page.wait_for("document.documentElement?.dataset.ready === 'true'")
        page.settle()
        return page


class Page:
    def __init__(self, browser, session):
        self.browser = browser
        self.session = session

    def call(self, method, **parameters):
        return self.browser.call(method, session=self.session, **parameters)

    def media(self, dark=False, printed=False):
        self.call(
            'Emulation.setEmulatedMedia',
            media='print' if printed else 'screen',
            features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}],
        )

    def evaluate(self, expression):
        """The value of a JavaScript expression, which may be a promise."""
        answer = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in answer:
            raise Failure(
                answer['exceptionDetails'].get('exception', {}).get('description', 'exception') + f'\nin {expression}'
            )
        return answer['result'].get('value')

    def wait_for(self, expression):
        deadline = time.monotonic() + self.browser.timeout_s
        while not self.evaluate(expression):
            if time.monotonic() > deadline:
                raise Failure(f'never true: {expression}; the page says {self.complaints()}')
            time.sleep(0.02)

    def settle(self):
        """Until the page has been laid out and painted twice; a page behind another is not painted."""
        self.call('Page.bringToFront')
        self.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))')

    def box(self, selector):
        """The place of an element on the page, in CSS pixels: x, y, width, height."""
        return self.evaluate(
            f'''(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;
            const b = e.getBoundingClientRect(); return [b.x + scrollX, b.y + scrollY, b.width, b.height]; }})()'''
        )

    def screenshot(self, box=None, scale=1):
        self.settle()
        parameters = {'format': 'png', 'captureBeyondViewport': True}
        if box:
            parameters['clip'] = dict(zip(('x', 'y', 'width', 'height'), box), scale=scale)
        return base64.b64decode(self.call('Page.captureScreenshot', **parameters)['data'])

    def move_to(self, x, y):
        """The pointer, to a place in the window."""
        self.call('Input.dispatchMouseEvent', type='mouseMoved', x=x, y=y)
        self.settle()

    def pdf(self):
        return base64.b64decode(self.call('Page.printToPDF', printBackground=True, preferCSSPageSize=False)['data'])

    def close(self):
        self.call('Page.close')

    def complaints(self):
        """What the page wrote to the console as an error, threw, or asked the network for."""
        found = []
        for event in self.browser.events:
            if event.get('sessionId') != self.session:
                continue
            method, parameters = event['method'], event['params']
            if method == 'Runtime.exceptionThrown':
                found.append(parameters['exceptionDetails'].get('exception', {}).get('description', 'exception'))
            if method == 'Log.entryAdded' and parameters['entry']['level'] == 'error':
                found.append(parameters['entry']['text'])
            if method == 'Network.requestWillBeSent' and not parameters['request']['url'].startswith('file://'):
                found.append('asked for ' + parameters['request']['url'])
        return found


class Picture:
    """The pixels of a PNG of 8-bit RGB or RGBA, as Chromium writes them."""

    def __init__(self, png):
        assert png[:8] == b'\x89PNG\r\n\x1a\n'
        at, data = 8, b''
        while at < len(png):
            size, kind = struct.unpack('>I4s', png[at : at + 8])
            body = png[at + 8 : at + 8 + size]
            if kind == b'IHDR':
                self.width, self.height, depth, colour = struct.unpack('>IIBB', body[:10])
                assert depth == 8 and colour in (2, 6)
                self.channels = 3 if colour == 2 else 4
            if kind == b'IDAT':
                data += body
            at += 12 + size
        self.rows = self._unfilter(zlib.decompress(data))

    def _unfilter(self, raw):
        stride, step = self.width * self.channels, self.channels
        rows, before = [], bytearray(stride)
        for y in range(self.height):
            kind = raw[y * (stride + 1)]
            row = bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
            if kind == 1:
                for i in range(step, stride):
                    row[i] = (row[i] + row[i - step]) & 255
            elif kind == 2:
                row = bytearray((a + b) & 255 for a, b in zip(row, before))
            elif kind == 3:
                for i in range(stride):
                    row[i] = (row[i] + ((row[i - step] if i >= step else 0) + before[i]) // 2) & 255
            elif kind == 4:
                for i in range(stride):
                    left, up, corner = (
                        row[i - step] if i >= step else 0,
                        before[i],
                        before[i - step] if i >= step else 0,
                    )
                    guess = left + up - corner
                    a, b, c = abs(guess - left), abs(guess - up), abs(guess - corner)
                    row[i] = (row[i] + (left if a <= b and a <= c else up if b <= c else corner)) & 255
            rows.append(row)
            before = row
        return rows

    def at(self, x, y):
        start = int(x) * self.channels
        return tuple(self.rows[int(y)][start : start + 3])

    def count(self, colour, tolerance=12):
        """How many pixels are of this colour, (red, green, blue)."""
        near = 0
        for row in self.rows:
            for i in range(0, len(row), self.channels):
                if all(abs(row[i + c] - colour[c]) <= tolerance for c in range(3)):
                    near += 1
        return near
