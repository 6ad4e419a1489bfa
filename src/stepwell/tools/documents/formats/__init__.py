"""One module for each kind of document. All of them run only in the reader process (`reader_child`).

```
word       DOCX
slides     PPTX
sheets     XLSX, with `numbers` for what a cell shows
charts     the data of a chart in DOCX and PPTX
delimited  CSV and TSV
records    JSON and JSON lines: messages and records
mail       one message or a mailbox
epub       chapters
markdown   headings and tables of Markdown
markup     headings and tables of HTML
pdf        PDF, with `pdf_layout` for headings and tables by their place on the page
tables     rows of cells -> `Header: value; Header: value`
```
"""
