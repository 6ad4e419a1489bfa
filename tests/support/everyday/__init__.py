"""One everyday job, the same through the page, the command line and the SDK: an analyst has twelve mixed files and a screenshot, asks,
edits the plan, goes on after the server was killed, asks a follow-up, and gives the report to somebody who checks it elsewhere.

```
case        the fictional case: files, questions, what a right answer says
model       the model, a server on loopback that speaks OpenAI's protocol; it gets one figure wrong
elsewhere   another machine, which has the bundle and the author's public key and nothing else
limits      how much the job may ask of a person and of a model
```
"""
