"""A headless Chromium, driven through chromedriver (W3C WebDriver), for system tests."""

import base64
import http.client
import json
import shutil

import harness

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def is_there():
    return bool(shutil.which("chromedriver") and shutil.which("chromium"))


class Browser:
    """One window. Ends with its test."""

    def __init__(self, test, width=1280, height=1000, dark=False):
        self.port = harness.free_port()
        driver = test.start("chromedriver", f"--port={self.port}")
        driver.wait_for("started successfully")
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--disable-background-networking", "--no-first-run", "--hide-scrollbars",
                     f"--user-data-dir={test.folder}/chromium-{self.port}",
                     f"--window-size={width},{height}"]
        options = {"binary": shutil.which("chromium"), "args": arguments}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options,
                  "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        self.session = ""
        self.session = "/session/" + self.begin({"capabilities": {"alwaysMatch": wanted}})
        test.addCleanup(self.close)
        self.set_media(dark)
        if width < 700:
            self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                          deviceScaleFactor=2, mobile=True)

    def begin(self, wanted):
        """A busy machine may take Chromium longer to start than chromedriver waits for it."""
        for attempt in range(3):
            try:
                return self.ask("POST", "/session", wanted)["sessionId"]
            except AssertionError as error:
                if attempt == 2 or "DevToolsActivePort" not in str(error):
                    raise

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        text = None if body is None and method != "POST" else json.dumps(body or {})
        connection.request(method, self.session + path, text, {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(answer, dict) and "error" in answer and "stacktrace" in answer:
            raise AssertionError(f"{path}: {answer['error']}: {answer['message']}")
        return answer

    def close(self):
        self.ask("DELETE", "")

    def devtools(self, command, **parameters):
        return self.ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def set_media(self, dark):
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        self.ask("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector):
        return self.run("const e = document.querySelector(arguments[0]); return e ? e.innerText : ''",
                        selector)

    def find(self, selector):
        return self.ask("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.ask("POST", f"/element/{self.find(selector)}/click")

    def type(self, selector, text):
        self.ask("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def press(self, key):
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": [
            {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}]})

    def names(self, selector):
        """The accessible name of each element that fits, as a screen reader would say it."""
        def ask():
            found = self.ask("POST", "/elements", {"using": "css selector", "value": selector})
            try:
                return [[self.ask("GET", f"/element/{one[ELEMENT]}/computedlabel")
                         for one in found]]
            except AssertionError as error:  # the page has drawn a row anew meanwhile
                if "stale element" not in str(error):
                    raise
                return None
        return harness.until(ask, f"the names of {selector}")[0]

    def log(self, kind="browser"):
        return self.ask("POST", "/se/log", {"type": kind})

    def hosts_asked(self):
        """Every host:port that the page sent a request to."""
        hosts = set()
        for entry in self.log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if url.startswith(("http:", "https:", "ws:", "wss:")):
                    hosts.add(url.split("/")[2])
        return hosts

    def screenshot(self, path):
        """The whole page, however long."""
        size = self.devtools("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                             clip={"x": 0, "y": 0, "width": size["width"],
                                   "height": min(size["height"], 3000), "scale": 1})
        path.write_bytes(base64.b64decode(shot["data"]))
