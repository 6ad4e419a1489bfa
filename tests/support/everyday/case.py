"""The case: pump 3 of the Harrow Quay pumping station stopped. Its facts are spread over the files, and one is only on a screenshot."""

from __future__ import annotations

import io
import json
import zipfile
from functools import cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from tests.browser.documents import docx, eml, pptx, xlsx

QUESTION = (
    "Why did pump 3 of the Harrow Quay pumping station stop, how many hours had it run, how often does its bearing have to be changed, "
    "and what did the outage cost?"
)
FOLLOW_UP = "Who pays for the new bearing of pump 3, and when is it delivered?"

CAUSE = "Pump 3 stopped because its bearing seized."
HOURS = "Pump 3 had run 9,140 hours when it stopped at 06:42."
RULE = "The bearing of the pump has to be changed every 8,000 hours."
COST = "The outage of the Harrow Quay pumping station cost 41,700 crowns in all."
RIGHT, WRONG = "41,700 crowns", "47,100 crowns"
"""What the outage cost, and what the writer says at first."""
PAYER = "The town pays for the new bearing of pump 3, because its change was overdue."
DELIVERY = "Kessel Works delivers the new bearing of pump 3 on 20 March 2025."

ANSWER, NEXT_ANSWER = (CAUSE, HOURS, RULE, COST), (PAYER, DELIVERY)
SCREENSHOT = "control-room.png"
ON_SCREEN = f"Harrow Quay control room, 12 March 2025\n{HOURS}\nPump 1: running; Pump 2: running; Pump 3: stopped"

_CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
    '<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
_PACKAGE = (
    '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
    "<dc:title>Manual of the HQ pump</dc:title></metadata><manifest>"
    '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>'
)


@cache
def files() -> dict[str, bytes]:
    """The twelve files and the screenshot, by name."""
    return {
        "brief.docx": docx("# Outage", COST, "The station stood still for 31 hours."),
        "review.pptx": pptx(("Pump 3", CAUSE), ("Next steps", "The other pumps are looked at in April.")),
        "districts.xlsx": xlsx(Districts=[("District", "Households without water"), ("Harbour", 1250), ("Old Town", 480)]),
        "levels.csv": b"Time,Level in metres\n06:00,2.1\n07:00,2.6\n08:00,3.4\n",
        "crews.tsv": b"Crew\tPeople\nNight crew\t4\nDay crew\t9\n",
        "contract.json": json.dumps({"supplier": "Kessel Works", "warranty_hours": 8000, "signed": "2019-05-04"}).encode(),
        "alarms.jsonl": b'{"time": "06:40", "alarm": "bearing hot"}\n{"time": "06:42", "alarm": "pump 3 off"}\n',
        "delivery.eml": eml("Ann Lee <ann@kessel.example>", "Bearing", f"{DELIVERY} It is the same model as before."),
        "office.mbox": b"From bo@town.example Mon Mar 17 09:00:00 2025\n"
        + eml("Bo Ek <bo@town.example>", "Bill", PAYER)
        + b"\n",
        "manual.epub": _epub(f"<h1>Care</h1><p>{RULE} Grease it once a month.</p>"),
        "intranet.html": b"<title>Harrow Quay</title><p>The Harrow Quay pumping station keeps the harbour district dry.</p>",
        "notes.md": b"# Notes\n\nThe mayor wants a page on the outage by Friday.\n",
        SCREENSHOT: _screenshot(),
    }


def write_files(folder: Path) -> Path:
    folder.mkdir()
    for name, content in files().items():
        (folder / name).write_bytes(content)
    return folder


def _epub(body: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", _CONTAINER)
        archive.writestr("book.opf", _PACKAGE)
        archive.writestr("a.xhtml", f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>')
    return file.getvalue()


def _screenshot() -> bytes:
    image = Image.new("RGB", (760, 150), "white")
    ImageDraw.Draw(image).multiline_text((20, 20), ON_SCREEN, fill="black", font=ImageFont.load_default(24), spacing=12)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()
