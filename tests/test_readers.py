# ruff: noqa: E501
"""Files of all kinds as tables: what each content is read as, or which words it is refused by."""

import bz2
import datetime
import gzip
import io
import lzma
import zipfile

import numpy as np
import polars as pl
import pytest

from zeronorm.core.files import FileError
from zeronorm.io import read_table


def zipped(content, name="a.csv"):
    """Return a zip archive of one file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def zstd(content):
    """Return a zstd frame."""
    return pytest.importorskip("zstandard").ZstdCompressor().compress(content)


def sheets(*tables, merged=(), names=()):
    """Return a workbook with a sheet for each table of rows."""
    book = pytest.importorskip("openpyxl").Workbook()
    book.remove(book.active)
    for number, rows in enumerate(tables):
        sheet = book.create_sheet(names[number] if names else f"Sheet{number + 1}")
        for row in rows:
            sheet.append(row)
        for one in merged:
            sheet.merge_cells(one)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def parquet(**columns):
    """Return what writes a Parquet file of columns, by polars, whose threads no import starts."""

    def written():
        buffer = io.BytesIO()
        pl.DataFrame(columns, strict=False).write_parquet(buffer)
        return buffer.getvalue()

    return written


PLAIN = "a,b,y\n1,2.5,0\n3,-4e2,1\n"
FOUR = "0,0,a\n1,1,b\n2,2,a\n3,3,b\n"
SAID = ("names of", "numbers with", "commas", "the sheet", "cells that", "kept", "the table begins")


# A name, a file, its content, what it is as a table or the words of the error, and options.
# fmt: off
CASES = [
    ("csv", "a.csv", PLAIN, 'a, b | 1 2.5 / 3 -400 | 0 1'),
    ("tsv", "a.tsv", PLAIN.replace(',', '\t'), 'a, b | 1 2.5 / 3 -400 | 0 1'),
    ("semi", "a.csv", PLAIN.replace(',', ';'), 'a, b | 1 2.5 / 3 -400 | 0 1'),
    ("pipe", "a.csv", PLAIN.replace(',', '|'), 'a, b | 1 2.5 / 3 -400 | 0 1'),
    ("blank", "a.txt", PLAIN.replace(',', ' '), 'a, b | 1 2.5 / 3 -400 | 0 1'),
    ("blanks", "a.txt", 'a  b  y\n1   2.5 0\n3 -4e2   1\n', 'a, b | 1 2.5 / 3 -400 | 0 1'),
    ("crlf", "a.csv", PLAIN.replace('\n', '\r\n'), 'a, b | 1 2.5 / 3 -400 | 0 1'),
    ("cr", "a.csv", PLAIN.replace('\n', '\r'), 'a, b | 1 2.5 / 3 -400 | 0 1'),
    ("noend", "a.csv", PLAIN.rstrip(), 'a, b | 1 2.5 / 3 -400 | 0 1'),
    ("bom", "a.csv", '\ufeff' + PLAIN, 'a, b | 1 2.5 / 3 -400 | 0 1'),
    ("blanklines", "a.csv", '\n\n' + PLAIN.replace('\n', '\n\n'), 'a, b | 1 2.5 / 3 -400 | 0 1'),
    ("quoted", "a.csv", '"a","b","y"\n"1","2.5","u"\n"3","-4e2","v"\n',
     'a, b | 1 2.5 / 3 -400 | u v'),
    ("quoteddelim", "a.csv", '"a, x","b","y"\n"1","2.5","u, ""w"""\n"3","-4e2","v"\n',
     'a, x, b | 1 2.5 / 3 -400 | u, "w" v'),
    ("quotednl", "a.csv", '"a\nx",b,y\n1,2.5,"u\nw"\n3,-4e2,v\n',
     'a\nx, b | 1 2.5 / 3 -400 | u\nw v'),
    ("midquote", "a.csv", 'a,b,y\n1,2.5,5" x\n3,4,7" x\n', 'a, b | 1 2.5 / 3 4 | 5" x 7" x'),
    ("nlplace", "a.csv", 'a,b,y\n1,2.5,"u\nw"\n3,,v\n',
     "refused: column 'b', line 4: a value is missing (1 of 2)"),
    ("unclosed", "a.csv", 'a,b\n1,"2\n',
     'refused: line 2: not a table in CSV form', {'target': 'b'}),
    ("afterquote", "a.csv", 'a,b\n"1"x,2\n',
     'refused: line 2: not a table in CSV form (\',\' expected after \'"\')', {'target': 'b'}),
    ("spacequote", "a.csv", 'a,b,y\n1, "2",0\n3,4,1\n',
     'refused: column \'b\', line 2: \'"2"\' is text'),
    ("gz", "a.csv.gz", gzip.compress(PLAIN.encode()), 'a, b | 1 2.5 / 3 -400 | 0 1'),
    ("bz2", "a.csv.bz2", bz2.compress(PLAIN.encode()), 'a, b | 1 2.5 / 3 -400 | 0 1'),
    ("xz", "a.csv.xz", lzma.compress(PLAIN.encode()), 'a, b | 1 2.5 / 3 -400 | 0 1'),
    ("zst", "a.csv.zst", zstd(PLAIN.encode()), 'a, b | 1 2.5 / 3 -400 | 0 1'),
    ("zip", "a.zip", zipped(PLAIN), 'a, b | 1 2.5 / 3 -400 | 0 1'),
    ("latin", "a.csv", 'gène,y\n1,ü\n2,o\n'.encode('latin-1'),
     'gène | 1 / 2 | ü o', {'encoding': 'latin-1'}),
    ("utf16", "a.csv", PLAIN.encode('utf-16'),
     'a, b | 1 2.5 / 3 -400 | 0 1', {'encoding': 'utf-16'}),
    ("notutf8", "a.csv", b'a,y\n1,2\n\xe9,3\n',
     'refused: line 3, byte 1: not UTF-8 text; say encoding=NAME, as cp1252 (Win'),
    ("notutf16", "a.csv", PLAIN.encode('utf-16'),
     "refused: UTF-16 text; say encoding='utf-16', or save it as UTF-8."),
    ("missing", "a.csv", 'a,b,y\n1,,0\nNA,2,1\n?,3,1\n',
     "refused: 2 columns cannot be features: column 'a', line 3: a value is missi"),
    ("missingfill", "a.csv", 'a,b,y\n1,,0\nNA,2,1\n3,n/a,1\n',
     'a, b | 1 2 / 2 2 / 3 2 | 0 1 1', {'missing': 'mean'}),
    ("misstarget", "a.csv", 'a,y\n1,0\n2,NA\n',
     "refused: line 3, column 'y': the target is missing ('NA')"),
    ("text", "a.csv", 'a,c,y\n' + ''.join(f"{i},{'uv'[i % 2]},{i}\n" for i in range(8)),
     'a, c=v | 0 0 / 1 1 / 2 0 / 3 1 / 4 0 / 5 1 / 6 0 / 7 1 | 0 1 2 3 4 5 6 7'),
    ("textgap", "a.csv", 'a,c,y\n' + ''.join(f"{i},{['u', '', 'v'][i % 3]},{i}\n" for i in range(9)),
     'a, c=u, c=v, c is missing | 0 1 0 0 / 1 0 0 1 / 2 0 1 0 / 3 1 0 0 / 4 0 0 1 / 5 0 1 0 / 6 1 0 0 / 7 0 0 1 / 8 0 1 0 | 0 1 2 3 4 5 6 7 8', {'missing': 'indicator'}),
    ("dates", "a.csv", 'a,c,y\n' + ''.join(f'{i},2024-0{i % 3 + 1}-01,{i}\n' for i in range(8)),
     'a, c: days since 2024-01-01 | 0 0 / 1 31 / 2 60 / 3 0 / 4 31 / 5 60 / 6 0 / 7 31 | 0 1 2 3 4 5 6 7'),
    ("ids", "a.csv", 'id,a,y\ns1,1,0\ns2,2,1\n', 'a | 1 / 2 | 0 1 | s1 s2', {'id': 'id'}),
    ("idsnot", "a.csv", 'id,a,y\ns1,1,0\ns2,2,1\n', "refused: column 'id', line 2: 's1' is text"),
    ("rownames", "a.csv", ',a,y\ns1,1,0\ns2,2,1\n', 'a | 1 / 2 | 0 1 | s1 s2'),
    ("rheader", "a.csv", 'a,y\ns1,1,0\ns2,2,1\n', 'a | 1 / 2 | 0 1 | s1 s2'),
    ("dup", "a.csv", 'a,a,y,b,\n1,2,0,3,4\n',
     'a (1 of 2), a (2 of 2), b, unnamed (1 of 1) | 1 2 3 4 | 0'),
    ("duptarget", "a.csv", 'a,y,y\n1,2,0\n',
     "refused: 2 columns have the name 'y' (positions 1, 2); give the target by p"),
    ("short", "a.csv", 'a,b,y\n1,2,0\n1,2\n',
     'refused: line 3 has 2 fields; the lines before have 3.'),
    ("long", "a.csv", 'a,b,y\n1,2,0\n1,2,3,4\n',
     'refused: line 3 has 4 fields; the lines before have 3.'),
    ("trail", "a.csv", 'a,b,y\n1,2,0,\n1,2,3,\n',
     "refused: line 2, column 'y': the target is missing ('')"),
    ("nul", "a.csv", 'a,y\n1,2\n\x00,3\n',
     'refused: line 3: a NUL byte, which text does not have; a copy may have been'),
    ("nohead", "a.csv", '1,2,0\n3,4,1\n', 'column 0, column 1 | 1 2 / 3 4 | 0 1', {'target': '2'}),
    ("noheadtext", "a.csv", '1,2,u\n3,4,v\n', '1, 2 | 3 4 | v', {'target': '-1'}),
    ("mixhead", "a.csv", 'ALL,1.5,2\nAML,3,4\n',
     "refused: the first line mixes names and numbers (such as '1.5'), so it may ", {'target': '0'}),
    ("numhead", "a.csv", '0,1,2,3,4\n5,6,7,8,9\n1,2,3,4,4\n',
     '0, 1, 2, 3 | 5 6 7 8 / 1 2 3 4 | 9 4', {'target': '4'}),
    ("padded", "a.csv", 'a, b ,y\n 1, 2.5 ,0\n3,4 , 1\n', 'a, b | 1 2.5 / 3 4 | 0 1'),
    ("inf", "a.csv", 'a,y\n1,0\ninf,1\n',
     "refused: column 'a', line 3: a value is not finite (inf)"),
    ("nanword", "a.csv", 'a,y\n1,0\nNaN,1\n',
     "refused: column 'a', line 3: a value is missing (1 of 2)"),
    ("huge", "a.csv", 'a,b,y\n12345678901234567890123,1,0\n9007199254740993,0.1,1\n',
     'a, b | 1.23456789012e+22 1 / 9.00719925474e+15 0.1 | 0 1'),
    ("underscore", "a.csv", 'a,b,y\n1_000,1,0\n2,3,1\n',
     "refused: column 'a', line 2: '1_000' is text"),
    ("exp", "a.csv", 'a,y\n1e400,0\n1,1\n',
     "refused: column 'a', line 2: a value is not finite (inf)"),
    ("tiny", "a.csv", 'a,y\n1e-400,0\n.5,1\n5.,1\n+1,0\n', 'a | 0 / 0.5 / 5 / 1 | 0 1 1 0'),
    ("zeros", "a.csv", 'a,b,y\n007,1,0\n012,2,1\n007,0,0\n012,1,1\n',
     "a=012, b | 0 1 / 1 2 / 0 0 / 1 1 | 0 1 0 1 | numbers with zeros before them are codes, and stay text: a (as '007')"),
    ("tgtint", "a.csv", 'a,y\n1,1.0\n2,2.0\n', 'a | 1 / 2 | 1 2'),
    ("tgtfloat", "a.csv", 'a,y\n1,1.5\n2,2.0\n', 'a | 1 / 2 | 1.5 2.0'),
    ("tgttext", "a.csv", 'a,y\n1,1\n2,b\n', 'a | 1 / 2 | 1 b'),
    ("tgtinf", "a.csv", 'a,y\n1,1\n2,inf\n', 'a | 1 / 2 | 1 inf'),
    ("commas", "a.csv", 'a;b;y\n1,5;2;0\n3,25;4;1\n',
     "a, b | 1.5 2 / 3.25 4 | 0 1 | numbers with a decimal comma are read as with a point (column 'a')"),
    ("commasnohead", "a.csv", '1,5;2,5\n3,25;4,5\n',
     'column 0 | 1.5 / 3.25 | 2.5 4.5 | numbers with a decimal comma are read as with a point (column 0, column 1)', {'target': '1'}),
    ("commastab", "a.tsv", 'a\tb\ty\n1,5\t2\t0\n3,25\t4\t1\n',
     "a, b | 1.5 2 / 3.25 4 | 0 1 | numbers with a decimal comma are read as with a point (column 'a')"),
    ("commasmix", "a.csv", 'a;b;y\n1,5;2.5;0\n3,25;4;1\n',
     "refused: line 2, column 'b': 2.5 has a decimal point, where numbers of colu"),
    ("tabthousand", "a.tsv", 'a\tb\ty\n1,500\t2\t0\n3,250\t4\t1\n',
     "refused: column 'a', line 2: '1,500' may have a decimal comma, or one of th"),
    ("commasquoted", "a.csv", 'a,b,y\n"1,5",2,0\n"3,25",4,1\n',
     "a, b | 1.5 2 / 3.25 4 | 0 1 | numbers with a decimal comma are read as with a point (column 'a')"),
    ("semithousand", "a.csv", 'w;a;y\n' + ''.join((f'{w};{a};{c}\n' for w, a, c in zip(['950', '980', '1.010', '1.234', '12.500'], [30, 41, 52, 63, 74], 'abbab', strict=True))),
     "refused: line 4, column 'w': '1.010' may be 1.010, with a decimal point, or"),
    ("semithree", "a.csv", 'a;y\n1,500;0\n3,250;1\n',
     "a | 1.5 / 3.25 | 0 1 | numbers with a decimal comma are read as with a point (column 'a')"),
    ("bothmarks", "a.csv", 'a;b;y\n4.198,06;1;0\n1.200,50;2;1\n',
     "a, b | 4198.06 1 / 1200.5 2 | 0 1 | numbers with a decimal comma are read as with a point (column 'a')"),
    ("enthousand", "a.csv", 'a,b,y\n"1,234.5",1,0\n"2,000.25",2,1\n',
     "a, b | 1234.5 1 / 2000.25 2 | 0 1 | commas between thousands are left out of numbers (column 'a')"),
    ("where", "a.csv", 'a,b,y\n1,x,0\n2,z,1\n3,x,1\n',
     "a | 1 / 3 | 0 1 | kept 2 of 3 rows (b == 'x')", {'where': "b == 'x'"}),
    ("wherenum", "a.csv", 'a,b,y\n1,1,0\n2,,1\n3,3,1\n',
     'a, b | 1 1 / 3 3 | 0 1 | kept 2 of 3 rows (b >= 1); 1 have no value there', {'where': 'b >= 1'}),
    ("wherenone", "a.csv", 'a,b,y\n1,1,0\n',
     'refused: no samples are left: kept 0 of 1 rows (b > 9)', {'where': 'b > 9'}),
    ("wherebad", "a.csv", 'a,b,y\nq,1,0\n2,5,0\n3,6,1\n',
     'a, b | 2 5 / 3 6 | 0 1 | kept 2 of 3 rows (b > 2)', {'where': 'b > 2'}),
    ("dropped", "a.csv", 'a,b,y\n1,q,0\n2,r,1\n', 'a | 1 / 2 | 0 1', {'drop': ['b']}),
    ("empty", "a.csv", '\n\n', 'refused: no samples in it (only blank lines).'),
    ("headonly", "a.csv", 'a,y\n', 'refused: a header line and no samples under it'),
    ("onecol", "a.csv", 'y\n1\n', 'refused: no features in it (one column, which is the target).'),
    ("title", "a.csv", 'Study 12 results,,\n,,\na,b,y\n' + FOUR,
     'a, b | 0 0 / 1 1 / 2 2 / 3 3 | a b a b | names of columns are on line 3; the 2 lines before it are no part of the table'),
    ("comment", "a.csv", '# exported by Lab, unit: mg\na,b,y\n' + FOUR,
     'a, b | 0 0 / 1 1 / 2 2 / 3 3 | a b a b | names of columns are on line 2; the line before it is no part of the table'),
    ("hashhead", "a.csv", '#a,b,y\n' + FOUR,
     'a, b | 0 0 / 1 1 / 2 2 / 3 3 | a b a b', {'target': 'y'}),
    ("sep", "a.csv", 'sep=;\na;b;y\n' + FOUR.replace(',', ';'),
     'a, b | 0 0 / 1 1 / 2 2 / 3 3 | a b a b'),
    ("title1", "a.csv", 'Results of March\na,b,y\n' + FOUR,
     'a, b | 0 0 / 1 1 / 2 2 / 3 3 | a b a b | names of columns are on line 2; the line before it is no part of the table'),
    ("titleblank", "a.csv", 'Results of March\n\na,b,y\n' + FOUR,
     'a, b | 0 0 / 1 1 / 2 2 / 3 3 | a b a b | names of columns are on line 3; the 2 lines before it are no part of the table'),
    ("geo", "a.txt", '!Series_title\t"x"\n!Series_geo\t"GSE1"\n\n!series_matrix_table_begin\n"ID_REF"\t"GSM1"\t"GSM2"\n"g1"\t1.5\t2\n"g2"\t3\t4\n!series_matrix_table_end\n',
     'GSM1, GSM2 | 1.5 2 / 3 4 | no target | g1 g2 | names of columns are on line 5; the 4 lines before it are no part of the table', {'target': None, 'id': 'ID_REF'}),
    ("titletwo", "a.csv", 'Results of March\nby us\na,y\n1,0\n2,1\n',
     'a | 1 / 2 | 0 1 | names of columns are on line 3; the 2 lines before it are no part of the table'),
    ("jl", "a.jsonl", '{"a":1,"c":"u","y":0}\n{"y":1,"a":2.5,"c":"v"}\n{"y":1,"a":2.5,"c":"v"}\n{"y":1,"a":3,"c":"u"}\n',
     'a, c=v | 1 0 / 2.5 1 / 2.5 1 / 3 0 | 0 1 1 1'),
    ("jlmiss", "a.jsonl", '{"a":1,"y":0}\n{"y":1}\n',
     "refused: column 'a', line 2: a value is missing (1 of 2). A key that a line"),
    ("jlfill", "a.jsonl", '{"a":1,"y":0}\n{"y":1}\n{"a":4,"y":0}\n',
     'a | 1 / 2.5 / 4 | 0 1 0', {'missing': 'mean'}),
    ("jlnew", "a.jsonl", '{"a":1,"y":0}\n{"a":1,"b":2,"y":1}\n',
     "refused: line 2: the key 'b' is not on the first line, whose keys are the c"),
    ("jltwice", "a.jsonl", '{"a":1,"y":0}\n{"a":1,"a":2,"y":1}\n',
     "refused: line 2: not JSON (the key 'a' occurs twice)"),
    ("jlbad", "a.jsonl", '{"a":1,"y":0}\n{"a":,"y":1}\n', 'refused: line 2: not JSON'),
    ("jlmix", "a.jsonl", '{"a":"p","y":0}\n{"a":7,"y":1}\n',
     "refused: column 'a', line 2: is '7' where other rows have text"),
    ("jlmix2", "a.jsonl", '{"a":1,"y":0}\n{"a":"q","y":1}\n',
     "refused: column 'a', line 2: is the text 'q' where other rows have numbers"),
    ("jlbool", "a.jsonl", '{"a":true,"y":0}\n{"a":false,"y":1}\n', 'a | 1 / 0 | 0 1'),
    ("jltb", "a.jsonl", '{"a":1,"y":"u"}\n{"a":2,"y":1}\n',
     "refused: line 2, column 'y': the target must be numbers alone, or text alon"),
    ("jlnan", "a.jsonl", '{"a":1,"y":0}\n{"a":NaN,"y":1}\n',
     "refused: column 'a', line 2: a value is missing (1 of 2). A key that a line"),
    ("jlbig", "a.jsonl", '{"a":12345678901234567890123,"y":0}\n{"a":0.1,"y":1}\n',
     'a | 1.23456789012e+22 / 0.1 | 0 1'),
    ("jllist", "a.jsonl", '{"a":[1],"y":0}\n{"a":[2],"y":1}\n',
     "refused: column 'a', line 1: features are numbers or text; got '[1]'"),
    ("jlna", "a.jsonl", '{"a":1,"y":"u"}\n{"a":2,"y":"nan"}\n',
     "refused: line 2, column 'y': the target is missing ('nan')"),
    ("jlblank", "a.jsonl", '\n{"a":1,"y":0}\n\n{"a":2,"y":1}\n', 'a | 1 / 2 | 0 1'),
    ("jltybool", "a.jsonl", '{"a":1,"y":true}\n{"a":2,"y":false}\n', 'a | 1 / 2 | True False'),
    ("jlwhere", "a.jsonl", '{"a":1,"b":"x","y":0}\n{"a":2,"b":"z","y":1}\n{"a":3,"b":"x","y":1}\n',
     "a | 1 / 3 | 0 1 | kept 2 of 3 rows (b == 'x')", {'where': "b == 'x'"}),
    ("xl", "a.xlsx", sheets([['a', 'c', 'y'], [1, 'u', 0], [2.5, 'v', 1], [3, 'u', 1], [3, 'v', 1]]),
     'a, c=v | 1 0 / 2.5 1 / 3 0 / 3 1 | 0 1 1 1'),
    ("xldate", "a.xlsx", sheets([['d', 'y'], [datetime.datetime(2024, 1, 2), 0], [datetime.datetime(2024, 2, 3), 1], [datetime.datetime(2024, 2, 3), 1]]),
     'd: days since 2024-01-02 | 0 / 32 / 32 | 0 1 1'),
    ("xlgap", "a.xlsx", sheets([['a', 'y'], [1, 0], [None, 1]]),
     "refused: column 'a', row 3: a value is missing (1 of 2)"),
    ("xlmix", "a.xlsx", sheets([['a', 'y'], [1, 0], ['x', 1], [2, 0]]),
     "refused: column 'a', row 3: is the text 'x' where other rows have numbers"),
    ("xltitle", "a.xlsx", sheets([['Study 5'], [], ['a', 'b', 'y'], [1, 2, 0], [3, 4, 1]]),
     'a, b | 1 2 / 3 4 | 0 1 | names of columns are in row 3; what is above is no part of the table'),
    ("xlmerged", "a.xlsx", sheets([['site', 'a', 'y'], *[[f'S{i // 4}' if i % 4 == 0 else None, i * 1.5, i % 2] for i in range(16)]], merged=['A2:A5', 'A6:A9', 'A10:A13', 'A14:A17']),
     'site=S0, site=S1, site=S2, site=S3, a | 1 0 0 0 0 / 1 0 0 0 1.5 / 1 0 0 0 3 / 1 0 0 0 4.5 / 0 1 0 0 6 / 0 1 0 0 7.5 / 0 1 0 0 9 / 0 1 0 0 10.5 / 0 0 1 0 12 / 0 0 1 0 13.5 / 0 0 1 0 15 / 0 0 1 0 16.5 / 0 0 0 1 18 / 0 0 0 1 19.5 / 0 0 0 1 21 / 0 0 0 1 22.5 | 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1 | cells that are merged have the value of the first: A2:A5, A10:A13, A6:A9, A14:A17'),
    ("xltwo", "a.xlsx", sheets([['a', 'y'], [1, 0], [2, 1]], [['b', 'y'], [1, 0], [2, 1]], names=['one', 'two']),
     "a | 1 / 2 | 0 1 | the sheet 'one' is read, the first of 2; layer=NAME reads another: 'two'"),
    ("xlsheet", "a.xlsx", sheets([['a', 'y'], [1, 0], [2, 1]], [['b', 'y'], [1, 0], [3, 1]], names=['one', 'two']),
     'b | 1 / 3 | 0 1', {'layer': 'two'}),
    ("xlbool", "a.xlsx", sheets([['a', 'y'], [True, 0], [False, 1]]), 'a | 1 / 0 | 0 1'),
    ("xlbeyond", "a.xlsx", sheets([['a', 'y'], [1, 0], [2, 1, 5]]),
     "refused: row 3 has a cell '5' beyond the columns that row 1 names; name its"),
    ("xlnum", "a.xlsx", sheets([[1, 2], [3, 4]]),
     "refused: row 1 must name the columns; got numbers, as '2'", {'target': '1'}),
    ("xlempty", "a.xlsx", sheets([]), "refused: no samples in the sheet 'Sheet1', which is empty."),
    ("xlnan", "a.xlsx", sheets([['a', 'y'], [1, 'u'], [2, 'nan']]),
     "refused: row 3, column 'y': the target is missing ('nan')"),
    ("xlformula", "a.xlsx", sheets([['a', 'y'], [1, 0], ['=A2*2', 1]]),
     "refused: column 'a', row 3: is '=A2*2', a formula, of which the file does n"),
    ("xltext1", "a.xlsx", sheets([['a', 'y'], ['1', 0], ['2', 1]]),
     "refused: column 'a', row 2: '1' is a number that is written as text"),
    ("pq", "a.parquet", parquet(a=[1, 2, 3, 4], b=[1.5, 2, 3, 4], c=['u', 'v', 'u', 'v'], y=[0, 1, 1, 0]),
     'a, b, c=v | 1 1.5 0 / 2 2 1 / 3 3 0 / 4 4 1 | 0 1 1 0'),
    ("pqnull", "a.parquet", parquet(a=[1, None], y=[0, 1]),
     "refused: column 'a', row 2: a value is missing (1 of 2)"),
    ("pqnan", "a.parquet", parquet(a=[1.0, float('nan')], y=[0, 1]),
     "refused: column 'a', row 2: a value is missing (1 of 2)"),
    ("pqinf", "a.parquet", parquet(a=[1.0, float('inf')], y=[0, 1]),
     "refused: row 2, column 'a': a value is not finite (inf)"),
    ("pqbool", "a.parquet", parquet(a=[True, False], y=['u', 'v']), 'a | 1 / 0 | u v'),
    ("pqdate", "a.parquet", parquet(d=[datetime.date(2024, 1, 2), datetime.date(2024, 3, 2), datetime.date(2024, 3, 2)], y=[0, 1, 1]),
     'd: days since 2024-01-02 | 0 / 60 / 60 | 0 1 1'),
    ("pqdt", "a.parquet", parquet(d=[datetime.datetime(2024, 1, 2, 5), datetime.datetime(2024, 3, 2), datetime.datetime(2024, 3, 2)], y=[0, 1, 1]),
     'd: days since 2024-01-02 | 0.208333333333 / 60 / 60 | 0 1 1'),
    ("pqlist", "a.parquet", parquet(a=[[1], [2]], y=[0, 1]),
     "refused: column 'a': is of the type List(Int64); features are numbers, text"),
    ("pqnanlabel", "a.parquet", parquet(a=[1, 2], y=['u', 'nan']),
     "refused: row 2, column 'y': the target is missing ('nan')"),
    ("pqnacell", "a.parquet", parquet(a=[1, 2, 3, 4], c=['u', 'NA', 'u', 'u'], y=[0, 1, 0, 1]),
     "refused: column 'c', row 2: a value is missing (1 of 4)"),
    ("pqdur", "a.parquet", parquet(a=[datetime.timedelta(1), datetime.timedelta(2)], y=[0, 1]),
     "refused: column 'a': is of the type Duration(time_unit='us'); features are "),
    ("pqwhere", "a.parquet", parquet(a=[1, 2, 3], b=['x', 'z', 'x'], y=[0, 1, 1]),
     "a | 1 / 3 | 0 1 | kept 2 of 3 rows (b == 'x')", {'where': "b == 'x'"}),
    ("pqbad", "a.parquet", b'PAR1' + b'\x00' * 50 + b'PAR1',
     'refused: not a readable Parquet file'),
    ("pqtextnum", "a.parquet", parquet(a=['1', '2'], y=[0, 1]),
     "refused: column 'a', row 1: '1' is a number that is written as text"),
    ("geoend", "a.txt.gz", gzip.compress(b'!Sample_title\t"x"\n"ID_REF"\t"GSM1"\t"GSM2"\n"g1"\t1.5\t\n"g2"\t3\t4\n!series_matrix_table_end\n'),
     'GSM1, GSM2 | 1.5 4 / 3 4 | no target | g1 g2 | names of columns are on line 2; the line before it is no part of the table', {'target': None, 'id': 'ID_REF', 'missing': 'mean'}),
    ("npheader", "a.txt", '# a b y\n1 2 0\n3 4 1\n', 'a, b | 1 2 / 3 4 | 0 1'),
    ("savetxt", "a.csv", '# a,b,y\n1.5,2,0\n3,4,1\n',
     'b, y | 2 0 / 4 1 | 1.5 3.0', {'target': 'a'}),
    ("commentshead", "a.csv", '# one\n# two, three\n\na,b,y\n1,2,0\n',
     'a, b | 1 2 | 0 | names of columns are on line 4; the 3 lines before it are no part of the table'),
    ("titlecommas", "a.csv", 'Study, of mice\na;b;y\n1;2;0\n3;4;1\n',
     'a, b | 1 2 / 3 4 | 0 1 | names of columns are on line 2; the line before it is no part of the table'),
    ("titletext", "a.csv", 'Results\na,c,y\n1,u,0\n2,u,1\n',
     'a, c=u | 1 1 / 2 1 | 0 1 | names of columns are on line 2; the line before it is no part of the table'),
    ("titleragged", "a.csv", 'Results\na,b,y\n1,2,0\n1,2\n', "refused: no column 'y'"),
    ("longheader", "a.csv", 'a,b,c,d,y\n1,2,0\n3,4,1\n',
     'refused: line 2 has 3 fields; the lines before have 5.'),
    ("rtwo", "a.csv", 'a\nr1,1\nr2,2\n', 'a | 1 / 2 | no target | r1 r2', {'target': None}),
    ("xlacross", "a.xlsx", sheets([['a', 'b', 'y'], [1, 2, 0], [3, None, 1]], merged=['A3:B3']),
     'refused: the cells A3:B3 are merged, and have one value for several columns'),
    ("xlheadmerged", "a.xlsx", sheets([['Study 5', None, None], ['a', 'b', 'y'], [1, 2, 0], [3, 4, 1]], merged=['A1:C1']),
     'a, b | 1 2 / 3 4 | 0 1 | names of columns are in row 2; what is above is no part of the table'),
    ("xlmodel", "a.xlsx", sheets([['a', 'y'], [datetime.time(5, 30), 0], [datetime.time(6, 0), 1]]),
     "refused: column 'a', row 2: '05:30:00' is text"),
    ("jlnull", "a.jsonl", '{"a":null,"y":0}\n{"a":null,"y":1}\n',
     "refused: column 'a', line 1: all values are missing"),
    ("jltext", "a.jsonl", '{"a":"NA","b":1,"y":0}\n{"a":"u","b":2,"y":1}\n{"a":"u","b":2,"y":1}\n',
     'a=u, a is missing, b | 0 1 1 / 1 0 2 / 1 0 2 | 0 1 1', {'missing': 'indicator'}),
    ("jlmissany", "a.jsonl", '{"a":"NA","y":0}\n{"a":2,"y":1}\n',
     'a | 2 / 2 | 0 1', {'missing': 'mean'}),
    ("pqcat", "a.parquet", parquet(a=pl.Series(['u', 'nan', 'v', 'v', 'u'], dtype=pl.Categorical), b=[1, 2, 3, 4, 5], y=[0, 1, 0, 1, 0]),
     'a=u, a=v, a is missing, b | 1 0 0 1 / 0 0 1 2 / 0 1 0 3 / 0 1 0 4 / 1 0 0 5 | 0 1 0 1 0', {'missing': 'indicator'}),
    ("pqdec", "a.parquet", parquet(a=pl.Series(['1.5', '2.5']).cast(pl.Decimal(10, 2)), y=[0, 1]),
     'a | 1.5 / 2.5 | 0 1'),
    ("pqnulls", "a.parquet", parquet(a=pl.Series([None, None], dtype=pl.Null), b=[1, 2], y=[0, 1]),
     'a, b | 0 1 / 0 2 | 0 1', {'missing': 'mean'}),
    ("pqtime", "a.parquet", parquet(a=[datetime.time(1), datetime.time(2)], y=[0, 1]),
     "refused: column 'a': is of the type Time; features are numbers, text or dat"),
    ("pqsmall", "a.parquet", parquet(a=pl.Series([1, 2], dtype=pl.Int8), y=[0, 1]),
     'a | 1 / 2 | 0 1'),
    ("pqtwo", "a.parquet", parquet(a=pl.Series([1.5, 2], dtype=pl.Float32), b=[1, 2], y=[0, 1]),
     'a, b | 1.5 1 / 2 2 | 0 1'),
    ("pqnanfill", "a.parquet", parquet(a=[1.0, float('nan')], y=[0, 1]),
     'a | 1 / 1 | 0 1', {'missing': 'mean'}),
    ("targettypo", "a.csv", 'a,b,label\n1,2,3\n',
     "refused: no column 'lable'. Did you mean 'label'?", {'target': 'lable'}),
    ("targetbeyond", "a.csv", 'a,b\n1,2\n',
     'refused: the target column must be between -2 and 1; got 2.', {'target': '2'}),
    ("targetunnamed", "a.csv", '1,2\n3,4\n',
     'refused: no header line, so the target column must be between 0 and 1 (-1 i'),
    ("targetzero", "a.csv", '1,2,0\n3,4,1\n',
     'column 1, column 2 | 2 0 / 4 1 | 1 3', {'target': '0'}),
    ("notarget", "a.csv", '1,2,0\n3,4,1\n',
     'column 0, column 1, column 2 | 1 2 0 / 3 4 1 | no target', {'target': None}),
    ("allmissing", "a.csv", 'y,b\n1,NA\n', "refused: column 'b', line 2: all values are missing"),
    ("minusinf", "a.csv", 'a,y\n1,0\n-1e999,1\n',
     "refused: column 'a', line 3: a value is not finite (-inf)"),
    ("targetgap", "a.csv", 'a,y\n1,0\n2,\n',
     "refused: line 3, column 'y': the target is missing ('')"),
    ("twotexts", "a.csv", 'a,b,y\nx,y,1\n',
     "refused: 2 columns cannot be features: column 'a', line 2: 'x' is text"),
    ("tsvtext", "a.tsv", 'a\ty\n1\t 2 \n3\t4\n', 'a | 1 / 3 | 2 4'),
    ("rquoted", "r.txt", '"g1" "g2" "y"\n"s1" 1 2 0\n"s2" 3 4 1\n',
     'g1, g2 | 1 2 / 3 4 | 0 1 | s1 s2'),
    ("unnamedfile", "a", 'a,y,b\n1,x,2\n3,y,-4.5\n', 'a, b | 1 2 / 3 -4.5 | x y'),
    ("targetsneg", "a.csv", 'a,y\n1,1.0\n2,-1\n', 'a | 1 / 2 | 1 -1'),
    ("targetunder", "a.csv", 'a,y\n1,1_0\n2,2\n', 'a | 1 / 2 | 1_0 2'),
    ("blanktrail", "a.txt", 'a b y \n1 2 0 \n3 4\t1\n', 'a, b | 1 2 / 3 4 | 0 1'),
    ("blanknul", "a.txt", 'a b y\n1 2 \x00\n',
     'refused: binary data of an unknown kind; expected svmlight, CSV, npz, npy o'),
    ("jlnullgap", "a.jsonl", '{"a":1,"y":1}\n\n{"a":null,"y":0}\n',
     "refused: column 'a', line 3: a value is missing (1 of 2). A key that a line"),
    ("jlempty", "a.jsonl", '{"a":1,"y":1}\n{"a":"","y":0}\n',
     "refused: column 'a', line 2: a value is missing (1 of 2). A key that a line"),
    ("jlinf", "a.jsonl", '{"a":1,"y":1}\n{"a":1e999,"y":0}\n',
     "refused: column 'a', line 2: a value is not finite (inf)"),
    ("jlhuge", "a.jsonl", '{"a":1,"y":1}\n{"a":1' + '0' * 400 + ',"y":0}\n',
     "refused: column 'a', line 2: features are numbers or text; got '10000000000"),
    ("jltextnum", "a.jsonl", '{"a":"1","y":1}\n{"a":"7","y":0}\n',
     "refused: column 'a', line 1: '1' is a number that is written as text"),
    ("jltargetnull", "a.jsonl", '{"a":1,"y":1}\n{"a":1,"y":null}\n',
     "refused: line 2, column 'y': the target is missing"),
    ("jlcut", "a.jsonl", '{"a":1,"y":1}\n{"a":1,\n', 'refused: line 2: not JSON'),
    ("jlarray", "a.jsonl", '{"a":1,"y":1}\n[1, 2]\n',
     'refused: line 2: must be an object, as {"age": 61}; got \'[1, 2]\''),
    ("jldeep", "a.jsonl", '{"a":1,"y":1}\n' + '[' * 100000, 'refused: line 2: not JSON'),
    ("jlnokeys", "a.jsonl", '{}\n', 'refused: line 1: the object has no keys, which name columns.'),
    ("jsonlist", "a.json", '[\n{"a": 1}\n]\n',
     'refused: JSON must be lines with an object each, without brackets or commas'),
    ("xlna", "a.xlsx", sheets([['a', 'y'], [1, 0], ['#N/A', 1]]),
     "refused: column 'a', row 3: a value is missing (1 of 2)"),
    ("xldiv", "a.xlsx", sheets([['a', 'y'], [1, 0], ['#DIV/0!', 1]]),
     "refused: column 'a', row 3: is the text '#DIV/0!' where other rows have num"),
    ("xlheadonly", "a.xlsx", sheets([['a', 'y']]),
     'refused: a row of names and no samples under it; write a row for each.'),
    ("titlewords", "a.csv", 'Results\n\nid,c,y\ns1,u,v\ns2,u,w\ns3,u,w\n',
     'c=u | 1 / 1 / 1 | v w w | s1 s2 s3 | names of columns are on line 3; the 2 lines before it are no part of the table', {'id': 'id'}),
    ("rwords", "a.csv", 'a\nr1,u\nr2,v\n',
     "refused: column 'a', line 2: 'u' is text", {'target': None}),
    ("xlwords", "a.xlsx", sheets([['Table 1'], ['id', 'y', 'c'], ['s1', 'u', 'p'], ['s2', 'v', 'p']]),
     'c=p | 1 / 1 | u v | s1 s2 | names of columns are in row 2; what is above is no part of the table', {'id': 'id'}),
    ("pqgaptarget", "a.parquet", parquet(a=[1, 2], y=[0, None]),
     "refused: row 2, column 'y': the target is missing"),
    ("pqnotarget", "a.parquet", parquet(a=[1, 2], b=[0, 1]), "refused: no column 'y'"),
    ("pqtext", "a.parquet", parquet(a=['p', 'q'], y=[0, 1]),
     "refused: column 'a', row 1: 'p' is text"),
    ("pqgz", "a.parquet.gz", lambda: gzip.compress(parquet(a=[1.5, 2.5], y=["u", "v"], b=[1, -2], c=[True, False])()),
     'a, b, c | 1.5 1 1 / 2.5 -2 0 | u v'),
    ("pqbare", "a", parquet(a=[1.5, 2.5], y=['u', 'v']), 'a | 1.5 / 2.5 | u v'),
    ("pqcut", "a.parquet", lambda: parquet(a=[1.0, 2.0], y=[0, 1])()[:-20],
     'refused: not a readable Parquet file'),
]
# fmt: on


def said(table):
    """Return a table in words: features, rows, the target, names of samples, notes of reading."""
    X = table.X if isinstance(table.X, np.ndarray) else table.X.gather(slice(None))
    rows = [" ".join(f"{value:.12g}" for value in row) for row in X.tolist()]
    y = "no target" if table.y is None else " ".join(map(str, table.y.tolist()))
    samples = [" ".join(table.sample_names)] if table.sample_names else []
    notes = [note for note in table.notes if note.startswith(SAID)]
    return " | ".join([", ".join(table.feature_names), " / ".join(rows), y, *samples, *notes])


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_each_content_is_one_table_or_refused(tmp_path, case):
    """A file would be read as another table, in silence, or be refused without its place."""
    _, name, content, expected, *options = case
    path = tmp_path / name
    content = content() if callable(content) else content
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    given = {"target": "y", **(options[0] if options else {})}
    if expected.startswith("refused: "):
        with pytest.raises(FileError) as failed:
            read_table(path, **given)
        assert expected.removeprefix("refused: ") in str(failed.value)
    else:
        assert said(read_table(path, **given)) == expected
