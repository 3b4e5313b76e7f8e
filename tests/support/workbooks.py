"""Minimal Excel workbooks."""

import zipfile

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"
LINKS = "application/vnd.openxmlformats-package.relationships+xml"


def relations(*links):
    inside = "".join(
        f'<Relationship Id="r{k}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for k, (kind, target) in enumerate(links, 1)
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{inside}</Relationships>'


def cell_of(cell):
    if isinstance(cell, str):
        return f'<c t="inlineStr"><is><t>{cell}</t></is></c>'
    return f"<c><v>{cell}</v></c>"


def write_workbook(path, sheets):
    """Write tables, lists of rows, as sheets called S1, S2 and so on."""
    parts = [f"worksheets/sheet{k}.xml" for k in range(1, len(sheets) + 1)]
    kinds = "".join(f'<Override PartName="/xl/{part}" ContentType="{SHEET}.worksheet+xml"/>'
                    for part in parts)  # fmt: skip
    titles = "".join(f'<sheet name="S{k}" sheetId="{k}" r:id="r{k}"/>'
                     for k in range(1, len(parts) + 1))  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
            f'ContentType="{LINKS}"/><Override PartName="/xl/workbook.xml" '
            f'ContentType="{SHEET}.sheet.main+xml"/>{kinds}</Types>',
        )
        archive.writestr("_rels/.rels", relations(("officeDocument", "xl/workbook.xml")))
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{titles}</sheets></workbook>',
        )
        links = relations(*(("worksheet", part) for part in parts))
        archive.writestr("xl/_rels/workbook.xml.rels", links)
        for part, rows in zip(parts, sheets, strict=True):
            cells = "".join(f"<row>{''.join(map(cell_of, row))}</row>" for row in rows)
            table = f'<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>'
            archive.writestr(f"xl/{part}", table)
