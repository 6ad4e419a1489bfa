"""General words and the special ones they cover: who is an actress is a performer and a person. A claim may use the general word where its
source uses a special one, but not the other way round.
"""

from __future__ import annotations

from functools import lru_cache

from stepwell.research.audit.facts.words.roots import root

_COVERED = (
    "person individual human people someone: man woman boy girl child he she born actor singer writer author player artist musician "
    "politician president king queen minister scientist engineer teacher lawyer doctor nurse soldier citizen resident patient adult|"
    "entertainer performer: actor comedian singer rapper dancer musician magician host presenter band|"
    "artist: painter sculptor singer rapper musician photographer band composer songwriter|"
    "musician: singer rapper guitarist drummer bassist pianist violinist cellist composer songwriter dj band|"
    "writer author: novelist poet playwright journalist essayist screenwriter columnist|"
    "politician: senator governor president minister mayor congressman congresswoman chancellor deputy democrat republican|"
    "athlete sportsman sportswoman player: footballer swimmer boxer runner golfer cyclist striker midfielder goalkeeper sprinter|"
    "scientist researcher scholar: physicist chemist biologist astronomer geologist botanist zoologist mathematician historian|"
    "official: minister governor mayor secretary commissioner officer|"
    "leader: president king queen chairman head chief captain director|"
    "ruler monarch: king queen emperor empress sultan tsar prince|soldier: general colonel captain private sergeant officer|"
    "worker employee: nurse engineer driver miner clerk|"
    "relative family: father mother brother sister son daughter cousin uncle aunt wife husband|"
    "parent: father mother|child offspring: son daughter|sibling: brother sister|spouse partner: husband wife|"
    "animal creature: dog cat bird fish horse cow mammal insect reptile|plant: tree flower shrub herb moss grass|"
    "place location site: city town village country island river lake mountain valley region province district street building|"
    "city settlement municipality: town capital village|country state nation: kingdom republic|"
    "building structure: church house tower castle bridge temple cathedral hall palace hospital school station stadium|"
    "film movie picture: comedy drama thriller western documentary horror|"
    "show programme program series: sitcom drama comedy documentary|"
    "book work publication: novel memoir biography anthology textbook|work: novel film painting song album opera symphony play poem|"
    "song: single track ballad|album record release: lp ep soundtrack compilation|music: rock pop jazz hip-hop soul rap blues opera|"
    "organisation organization body institution: company club party association agency university charity union church society council|"
    "company firm business: bank airline manufacturer retailer publisher|vehicle: car truck bus lorry van train tram|"
    "aircraft: plane jet helicopter airliner|ship vessel: ferry boat yacht cruiser frigate|"
    "award honour: prize medal oscar grammy emmy|crime offence: murder theft robbery fraud assault arson|"
    "disease illness condition: cancer diabetes malaria asthma tuberculosis influenza measles stroke|"
    "treatment therapy: surgery chemotherapy medication vaccine|medicine drug: antibiotic vaccine painkiller statin|"
    "food: bread rice meat fish cheese fruit vegetable|drink: beer wine water tea coffee|metal: iron copper gold silver tin lead zinc|"
    "sport: football tennis cricket basketball baseball hockey rugby golf swimming boxing|conflict: war battle|"
    "weapon: gun sword bomb missile rifle|document text: letter treaty charter contract report|money sum: dollars pounds euros|"
    "relationship: marriage friendship|event: concert festival race ceremony match election|degree: bachelor master doctorate phd"
)
_SPECIAL: dict[str, frozenset[str]] = {}
for _line in _COVERED.split("|"):
    _general, _, _special = _line.partition(":")
    for _word in _general.split():
        _SPECIAL[root(_word)] = _SPECIAL.get(root(_word), frozenset()) | {root(each) for each in _special.split()}


@lru_cache(maxsize=20_000)
def special_words(word: str) -> frozenset[str]:
    """The roots of the special words that a general word covers; empty for any other word."""
    return _SPECIAL.get(root(word), frozenset())
