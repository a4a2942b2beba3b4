"""A WebRTC call between two Chromium: `web_call.py CHROMIUM FOLDER call|answer SECONDS`.

Both send the audio of a fake microphone. The caller also sends 60 B each 20 ms over an unreliable
data channel, which come back at once. Offer and answer are handed over as files in FOLDER. Prints
JSON: the round trips in ms, how many were sent, and what each side's statistics say of the audio.
"""

import json
import sys
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

chromium, folder, role, seconds = sys.argv[1], Path(sys.argv[2]), sys.argv[3], float(sys.argv[4])

PREPARE = """async role => {
    const peer = window.peer = new RTCPeerConnection();
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    stream.getTracks().forEach(track => peer.addTrack(track, stream));
    peer.ontrack = event => {
        const audio = window.audio = new Audio();
        audio.srcObject = event.streams[0];
        audio.play();
    };
    window.times = [];
    window.sent = 0;
    window.from = 0;
    if (role === "call") {
        const channel = peer.createDataChannel("echo", { ordered: false, maxRetransmits: 0 });
        channel.onmessage = event => {
            const left = Number(event.data.slice(0, 20));
            if (left >= window.from) times.push(performance.now() - left);
        };
        channel.onopen = () => setInterval(() => {
            if (window.ended) return;
            sent += 1;
            channel.send(String(performance.now()).padEnd(20).padEnd(60, "."));
        }, 20);
    } else {
        peer.ondatachannel = event => event.channel.onmessage =
          message => event.channel.send(message.data);
    }
}"""
GATHER = """async () => {
    await new Promise(done => {
        if (peer.iceGatheringState === "complete") done();
        peer.onicegatheringstatechange = () => peer.iceGatheringState === "complete" && done();
    });
    return JSON.stringify(peer.localDescription);
}"""
OFFER = "async () => peer.setLocalDescription(await peer.createOffer())"
ACCEPT = "async text => peer.setRemoteDescription(JSON.parse(text))"
ANSWER = "async () => peer.setLocalDescription(await peer.createAnswer())"
END = """async () => {
    window.ended = true;
    await new Promise(done => setTimeout(done, 1000));
    const found = { times, sent };
    for (const own of (await peer.getStats()).values())
        if (own.type === "inbound-rtp") found.audio = {
            received: own.packetsReceived, lost: own.packetsLost, jitter_ms: 1000 * own.jitter,
            concealed: own.concealedSamples / Math.max(1, own.totalSamplesReceived) };
    return found;
}"""


def hand_over(name: str, text: str) -> None:
    """Write a file that the other side finds whole."""
    (folder / f"{name}.part").write_text(text)
    (folder / f"{name}.part").rename(folder / name)


def wait_for(name: str) -> str:
    """Read the file of the other side."""
    until = time.monotonic() + 60
    while not (folder / name).exists():
        if time.monotonic() > until:
            sys.exit(f"{role}: there is no {name} of the other side")
        time.sleep(0.05)
    return (folder / name).read_text()


with sync_playwright() as started:
    options = [
        "--no-sandbox",
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
    ]
    options += [
        "--disable-features=WebRtcHideLocalIpsWithMdns",
        "--autoplay-policy=no-user-gesture-required",
    ]
    browser = started.chromium.launch(executable_path=chromium, args=options)
    page = browser.new_page()
    # A page of localhost may use a microphone.
    page.route(
        "http://localhost/",
        lambda route: route.fulfill(body="<!doctype html>", content_type="text/html"),
    )
    page.goto("http://localhost/")
    page.evaluate(PREPARE, role)
    if role == "call":
        page.evaluate(OFFER)
        hand_over("offer", page.evaluate(GATHER))
        page.evaluate(ACCEPT, wait_for("answer"))
        page.wait_for_function("() => times.length > 0", timeout=60_000)
        page.evaluate("() => { times.length = 0; sent = 0; from = performance.now(); }")
        time.sleep(seconds)
        found = page.evaluate(END)
        hand_over("over", "")
        found["far"] = json.loads(wait_for("far"))
        print(json.dumps(found))
    else:
        page.evaluate(ACCEPT, wait_for("offer"))
        page.evaluate(ANSWER)
        hand_over("answer", page.evaluate(GATHER))
        until = time.monotonic() + seconds + 60
        while not (folder / "over").exists() and time.monotonic() < until:
            time.sleep(0.1)
        hand_over("far", json.dumps(page.evaluate(END)))
    browser.close()
