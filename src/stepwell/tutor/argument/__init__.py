"""The argument and the method: pure values and functions, without a model, a graph or a disk.

```
document   what an argument is: nodes, links, versions of the thesis, moves; and how a change of it is stored
naming     what users call clauses and phases: "your claim", "reason 2"
words      what a text contains: own words, new evidence, redefinitions, questions, the request to be told
moves      what can be done to an argument; checks every rule of a move
method     the nine phases and what is missing to leave each
lint       what a careful reader would mark
questions  the next question without a model, and what an answer to it does
telling    hints, and the words for users who ask to be told
files      argument.json and log.md; seminar reads and writes seminar.md; project decides which of them a user has edited
validity   whether a user's edit is a valid argument; reports line and reason
prose      an argument as sentences
progress   how far an argument is, as data for a client to show
exports    prose as Markdown, JSON, Argdown, Mermaid
```
"""
