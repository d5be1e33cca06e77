"""Drives headless Chromium through the DevTools protocol, over a pipe. Standard library only.

    with Browser(folder, authority="ca.crt", certificate="client.crt", key="client.key") as browser:
        page = browser.open("https://127.0.0.1:7444/", width=360, height=740)
        page.wait_for("document.title")
        page.screenshot("phone.png")
        page.requests        # the address of everything that was asked for

The browser has a profile of its own in `folder`, with the authority and the client's certificate in it, and offers that
certificate wherever one is asked for.
"""
import base64
import contextlib
import json
import os
import pathlib
import queue
import shutil
import subprocess
import threading
import time

PATIENCE_SECONDS = 120
NEEDED = ("chromium", "certutil", "pk12util", "openssl")

# What a browser does by itself is no request of the page.
QUIET = ["--headless=new", "--disable-gpu", "--no-first-run", "--no-default-browser-check", "--disable-sync",
         "--disable-background-networking", "--disable-component-update", "--disable-default-apps",
         "--disable-extensions", "--disable-domain-reliability", "--disable-client-side-phishing-detection",
         "--metrics-recording-only", "--no-pings", "--mute-audio", "--hide-scrollbars", "--force-color-profile=srgb",
         "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]


def missing_programs():
    return [name for name in NEEDED if shutil.which(name) is None]


class Browser:
    def __init__(self, folder, authority=None, certificate=None, key=None):
        self.home = pathlib.Path(folder)
        self.home.mkdir(parents=True, exist_ok=True)
        profile = self.home / "profile" / "Default"
        profile.mkdir(parents=True)
        choose = ['{"pattern":"*","filter":{}}'] if certificate else []
        (profile / "Preferences").write_text(
            json.dumps({"profile": {"managed_auto_select_certificate_for_urls": choose}}))
        database = self.home / ".pki" / "nssdb"
        database.mkdir(parents=True)
        self._run("certutil", "-N", "-d", f"sql:{database}", "--empty-password")
        if authority:
            self._run("certutil", "-A", "-d", f"sql:{database}", "-n", "authority", "-t", "C,,", "-i", authority)
        if certificate:
            bundle = self.home / "operator.p12"
            self._run("openssl", "pkcs12", "-export", "-in", certificate, "-inkey", key, "-out", bundle, "-passout",
                      "pass:")
            self._run("pk12util", "-i", bundle, "-d", f"sql:{database}", "-W", "")
        self._answers, self._listeners, self._next, self._lock = {}, {}, 1, threading.Lock()
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        command = ["chromium", *QUIET, *sandbox, "--remote-debugging-pipe", f"--user-data-dir={self.home / 'profile'}",
                   "about:blank"]
        log = open(self.home / "chromium.log", "wb")  # pylint: disable=consider-using-with
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "chromium", *command],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env={**os.environ, "HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "config")})
        log.close()
        os.close(to_browser)
        os.close(from_browser)
        threading.Thread(target=self._read, daemon=True).start()

    @staticmethod
    def _run(*command):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0:
            raise AssertionError(f"{command[0]} failed: {done.stderr}")

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        with contextlib.suppress(OSError, AssertionError):
            self.call("Browser.close", patience=10)
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._out)

    def _read(self):
        rest = b""
        while True:
            try:
                got = os.read(self._in, 1 << 20)
            except OSError:
                got = b""
            if not got:
                return
            *messages, rest = (rest + got).split(b"\0")
            for message in map(json.loads, messages):
                if "id" in message:
                    with self._lock:
                        answer = self._answers.get(message["id"])
                    if answer is not None:
                        answer.put(message)
                elif message.get("sessionId") in self._listeners:
                    self._listeners[message["sessionId"]](message)

    def call(self, method, session=None, patience=PATIENCE_SECONDS, **parameters):
        with self._lock:
            number, self._next = self._next, self._next + 1
            answer = self._answers[number] = queue.Queue()
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        try:
            got = answer.get(timeout=patience)
        except queue.Empty:
            raise AssertionError(f"Chromium gave no answer to {method} within {patience} s\n"
                                 f"{(self.home / 'chromium.log').read_text(errors='replace')[-2000:]}") from None
        finally:
            with self._lock:
                del self._answers[number]
        if "error" in got:
            raise AssertionError(f"{method}: {got['error']}")
        return got["result"]

    def open(self, url, width=1280, height=900, dark=False, reduced_motion=False):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        self._listeners[session] = page.take
        for domain in ("Network", "Page", "Runtime", "Log"):
            page.call(f"{domain}.enable")
        page.resize(width, height)
        page.prefer(dark, reduced_motion)
        page.call("Page.navigate", url=url)
        return page


class Page:
    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target
        self.requests, self.complaints, self.codes = [], [], {}

    def take(self, message):
        """Notes what the page asks for and complains of."""
        method, about = message["method"], message["params"]
        if method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif method == "Network.responseReceived":
            self.codes[about["response"]["url"]] = about["response"]["status"]
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(about["exceptionDetails"])[:500])
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.complaints.append(about["entry"]["text"] + " " + about["entry"].get("url", ""))

    def call(self, method, **parameters):
        return self.browser.call(method, session=self.session, **parameters)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)

    def prefer(self, dark=False, reduced_motion=False):
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if reduced_motion else "no-preference"}])

    def run(self, script):
        """The value of an expression; a promise is waited for."""
        got = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True,
                        userGesture=True)
        if "exceptionDetails" in got:
            raise AssertionError(f"{script[:200]}: {json.dumps(got['exceptionDetails'])[:1000]}")
        return got["result"].get("value")

    def wait_for(self, script, patience=PATIENCE_SECONDS):
        end = time.monotonic() + patience
        while True:
            # What it asks of is not there before the page is.
            if self.run(f"(() => {{ try {{ return Boolean({script}); }} catch {{ return false; }} }})()"):
                return
            if time.monotonic() > end:
                raise AssertionError(f"waited {patience} s in vain for: {script}; the page says\n"
                                     f"{self.run('document.body.innerText')[:2000]}\n{self.complaints}")
            time.sleep(0.1)

    def text(self):
        return self.run("document.body.innerText")

    def press(self, key, code=None):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key,
                      windowsVirtualKeyCode={"Tab": 9, "Enter": 13}[key], text="\r" if key == "Enter" else "")

    def screenshot(self, path):
        """The whole page, however long it is."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
