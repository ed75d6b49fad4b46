"""Other programs' readers over the report of a run: pyarrow over cells.parquet, held against cells.csv value by value; a JSON
schema validator over analysis.json; an XML parser over the figures. Exit code 1 names what is refused.

    python report.py REPORT SCHEMA    where REPORT is a run's report/ and SCHEMA is analysis.schema.json
"""

import csv
import json
import pathlib
import sys
import xml.etree.ElementTree

import pyarrow
import pyarrow.parquet
from jsonschema import Draft202012Validator

TYPES = {
    pyarrow.string(): lambda value: value,
    pyarrow.int64(): str,
    pyarrow.bool_(): lambda value: str(value).lower(),
    pyarrow.float64(): lambda value: value,
}


def cells(report):
    table = pyarrow.parquet.read_table(report / "cells.parquet")
    with open(report / "cells.csv", newline="") as file:
        heads, *lines = csv.reader(file)
    if table.column_names != heads:
        yield f"columns differ: {table.column_names} and {heads}"
    if table.num_rows != len(lines):
        yield f"{table.num_rows} rows and {len(lines)} lines"
    for field in table.schema:
        if field.type not in TYPES:
            yield f"{field.name}: type {field.type}"
            continue
        for value, line in zip(table[field.name].to_pylist(), lines):
            written = line[heads.index(field.name)]
            if value is None:
                same = written == ""
            elif field.type == pyarrow.float64():
                same = float(written) == value
            else:
                same = written == TYPES[field.type](value)
            if not same:
                yield f"{field.name}: {value!r} in the one, {written!r} in the other"
    print(f"parquet: {table.num_rows} rows, {table.num_columns} columns, {sum(c.null_count for c in table.columns)} nulls")


def analysis(report, schema):
    Draft202012Validator.check_schema(schema)
    value = json.loads((report / "analysis.json").read_text())
    for error in Draft202012Validator(schema).iter_errors(value):
        yield f"analysis.json {error.json_path}: {error.message[:200]}"
    print("analysis.json: held against its schema")


def figures(report):
    plots = sorted((report / "plots").glob("*.svg"))
    for path in plots:
        root = xml.etree.ElementTree.parse(path).getroot()
        if root.tag != "{http://www.w3.org/2000/svg}svg" or root[0].tag != "{http://www.w3.org/2000/svg}title":
            yield f"{path}: not an SVG with a title"
    if not plots:
        yield "no figure"
    print(f"figures: {len(plots)}")


report, schema = pathlib.Path(sys.argv[1]), json.loads(pathlib.Path(sys.argv[2]).read_text())
found = [*cells(report), *analysis(report, schema), *figures(report)]
print("\n".join(found[:20]))
sys.exit(1 if found else 0)
